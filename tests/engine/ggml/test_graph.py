"""Graphs compute the same as numpy, and an invalid one raises an error instead of aborting."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from laguna_engine.errors import GraphError, GraphOutOfMemory
from laguna_engine.ggml.device import ComputeBackend
from laguna_engine.ggml.graph import Graph
from laguna_engine.ggml.tensor import DeviceTensors, Type

RANDOM = np.random.default_rng(5)


@pytest.fixture
def backend() -> Iterator[ComputeBackend]:
    backend = ComputeBackend.cpu()
    yield backend
    backend.close()


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def test_a_graph_is_built_once_and_run_with_many_inputs(backend: ComputeBackend) -> None:
    weights = normal(48, 64)
    store = DeviceTensors(backend, {"w": (Type.F32, (64, 48))})
    store["w"].write(weights)
    graph = Graph(backend, 8)
    x = graph.input("x", Type.F32, 64, 5)
    graph.output("y", graph.rms_norm(graph.mul_mat(store["w"], x), 1e-6))
    graph.finish()
    for values in (normal(5, 64), normal(5, 64)):
        graph.write("x", values)
        graph.compute()
        product = values @ weights.T
        expected = product / np.sqrt((product**2).mean(-1, keepdims=True) + 1e-6)
        np.testing.assert_allclose(graph.read("y"), expected, atol=1e-5)
    graph.close()
    store.close()


def test_inputs_survive_a_run(backend: ComputeBackend) -> None:
    graph = Graph(backend, 8)
    x = graph.input("x", Type.F32, 16, 2)
    graph.output("y", graph.scale(graph.scale(x, 2.0), 3.0))
    graph.finish()
    values = normal(2, 16)
    graph.write("x", values)
    for _ in range(3):
        graph.compute()
        np.testing.assert_allclose(graph.read("y"), values * 6, rtol=1e-6)
    graph.close()


def test_rows_are_written_and_read_by_number(backend: ComputeBackend) -> None:
    store = DeviceTensors(backend, {"ring": (Type.F32, (4, 6))})
    graph = Graph(backend, 8)
    rows, ids = graph.input("rows", Type.F32, 4, 2), graph.input("ids", Type.I64, 2)
    graph.keep(graph.set_rows(store["ring"], rows, ids))
    graph.finish()
    graph.write("rows", np.arange(8, dtype=np.float32).reshape(2, 4))
    graph.write("ids", np.array([5, 1], np.int64))
    graph.compute()
    ring = store["ring"].read()
    assert ring[5].tolist() == [0, 1, 2, 3]
    assert ring[1].tolist() == [4, 5, 6, 7]
    assert not ring[[0, 2, 3, 4]].any()


@pytest.mark.parametrize("method", ["attention", "attention_by_products"])
def test_attention_agrees_with_numpy(method: str, backend: ComputeBackend) -> None:
    head, tokens, keys, heads, kv_heads = 32, 3, 64, 4, 2
    q, k, v = normal(heads, tokens, head), normal(kv_heads, keys, head), normal(kv_heads, keys, head)
    mask = np.where(RANDOM.random((tokens, keys)) < 0.3, -np.inf, 0).astype(np.float16)
    graph = Graph(backend, 16)
    tensors = [
        graph.input("q", Type.F32, head, tokens, heads),
        graph.input("k", Type.F32, head, keys, kv_heads),
        graph.input("v", Type.F32, head, keys, kv_heads),
    ]
    hidden = graph.input("mask", Type.F16, keys, tokens)
    graph.output("out", getattr(graph, method)(*tensors, hidden, head**-0.5))
    graph.finish()
    for name, values in (("q", q), ("k", k), ("v", v), ("mask", mask)):
        graph.write(name, values)
    graph.compute()
    repeated = [np.repeat(part, heads // kv_heads, axis=0) for part in (k, v)]
    scores = np.einsum("htd,hkd->htk", q, repeated[0]) * head**-0.5 + mask.astype(np.float32)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    expected = np.einsum("htk,hkd->thd", weights, repeated[1])
    np.testing.assert_allclose(graph.read("out").reshape(tokens, heads, head), expected, atol=1e-4)


def test_the_most_likely_tokens_are_found_on_the_device(backend: ComputeBackend) -> None:
    graph = Graph(backend, 8)
    x = graph.input("x", Type.F32, 100, 3)
    graph.output("best", graph.argmax(x))
    graph.output("ids", graph.top_k(x, 5))
    graph.finish()
    values = normal(3, 100)
    graph.write("x", values)
    graph.compute()
    assert graph.read("best").ravel().tolist() == values.argmax(1).tolist()
    found = np.sort(graph.read("ids").reshape(3, 5), axis=1)
    assert found.tolist() == np.sort(np.argsort(values, axis=1)[:, -5:], axis=1).tolist()


def test_each_rows_largest_number_and_any_other_are_picked(backend: ComputeBackend) -> None:
    graph = Graph(backend, 16)
    x, columns = graph.input("x", Type.F32, 100, 3), graph.input("columns", Type.I32, 3)
    graph.output("largest", graph.largest(x))
    graph.output("picked", graph.pick(x, columns))
    graph.finish()
    values, wanted = normal(3, 100), np.array([99, 0, 42], np.int32)
    graph.write("x", values)
    graph.write("columns", wanted)
    graph.compute()
    assert graph.read("largest").tolist() == values.max(1).tolist()
    assert graph.read("picked").tolist() == values[range(3), wanted].tolist()


def test_logarithms_and_shares_agree_with_numpy(backend: ComputeBackend) -> None:
    graph = Graph(backend, 8)
    graph.output("y", graph.log(graph.soft_max(graph.input("x", Type.F32, 100, 3), None, 1.0)))
    graph.finish()
    values = normal(3, 100)
    graph.write("x", values)
    graph.compute()
    np.testing.assert_allclose(graph.read("y"), values - np.log(np.exp(values).sum(1, keepdims=True)), atol=1e-5)


def test_clamping_leaves_no_nan_and_its_argument_as_it_was(backend: ComputeBackend) -> None:
    graph = Graph(backend, 8)
    x = graph.input("x", Type.F32, 5)
    graph.output("bounded", graph.clamp(x, -2.0, 2.0))
    graph.output("same", graph.scale(x, 1.0))
    graph.finish()
    values = np.array([-9, -1, 0.5, 9, np.nan], np.float32)
    graph.write("x", values)
    graph.compute()
    bounded = graph.read("bounded")
    assert bounded[:4].tolist() == [-2, -1, 0.5, 2]
    assert abs(bounded[4]) == 2
    np.testing.assert_array_equal(graph.read("same"), values)


WRONG: dict[str, Callable[[Graph], object]] = {
    "a product of different lengths": lambda g: g.mul_mat(g.input("a", Type.F32, 8, 2), g.input("b", Type.F32, 9, 2)),
    "a transposed matrix": lambda g: g.mul_mat(g.transpose(g.input("a", Type.F32, 8, 4)), g.input("b", Type.F32, 4, 2)),
    "a sum of different shapes": lambda g: g.add(g.input("a", Type.F32, 8, 2), g.input("b", Type.F32, 8, 3)),
    "positions of the wrong format": lambda g: g.rope(
        g.input("a", Type.F32, 8, 2, 3), g.input("p", Type.F32, 3), 8, 1e4
    ),
    "too few positions": lambda g: g.rope(g.input("a", Type.F32, 8, 2, 3), g.input("p", Type.I32, 2), 8, 1e4),
    "row numbers that are floats": lambda g: g.get_rows(g.input("a", Type.F32, 8, 4), g.input("i", Type.F32, 2)),
    "rows of another width": lambda g: g.set_rows(
        g.input("a", Type.F32, 8, 4), g.input("b", Type.F32, 7, 1), g.input("i", Type.I64, 1)
    ),
    "a reshape to another size": lambda g: g.reshape(g.input("a", Type.F32, 8, 2), 5, 3),
    "a reshape of something permuted": lambda g: g.reshape(g.permute(g.input("a", Type.F32, 8, 2), 1, 0, 2, 3), 16),
    "a view beyond the end": lambda g: g.view(g.input("a", Type.F32, 8, 2), (8, 2), offset=4),
    "a mask in float32": lambda g: g.flash_attention(
        g.input("q", Type.F32, 32, 1, 2),
        g.input("k", Type.F32, 32, 64, 2),
        g.input("v", Type.F32, 32, 64, 2),
        g.input("m", Type.F32, 64, 1),
        1.0,
    ),
    "more of the best than there are": lambda g: g.top_k(g.input("a", Type.F32, 8, 2), 9),
    "a column for other rows": lambda g: g.pick(g.input("a", Type.F32, 8, 2), g.input("c", Type.I32, 3)),
    "a column that is a float": lambda g: g.pick(g.input("a", Type.F32, 8, 2), g.input("c", Type.F32, 2)),
    "bounds the wrong way round": lambda g: g.clamp(g.input("a", Type.F32, 8), 1.0, -1.0),
    "the argmax of half floats": lambda g: g.argmax(g.input("a", Type.F16, 8, 2)),
    "a quantized row of half a block": lambda g: g.input("a", Type.Q8_0, 48, 2),
    "too many nodes": lambda g: [g.scale(g.input(f"x{i}", Type.F32, 4), 1.0) for i in range(12)],
}


@pytest.mark.parametrize("mistake", WRONG.values(), ids=WRONG.keys())
def test_what_would_abort_is_an_error(backend: ComputeBackend, mistake: Callable[[Graph], object]) -> None:
    graph = Graph(backend, 8)
    with pytest.raises(GraphError):
        mistake(graph)
    graph.close()


def test_values_of_another_format_or_size_are_refused(backend: ComputeBackend) -> None:
    graph = Graph(backend, 4)
    graph.output("y", graph.scale(graph.input("x", Type.F32, 4), 1.0))
    graph.finish()
    for values in (np.zeros(4, np.float64), np.zeros(5, np.float32)):
        with pytest.raises(GraphError):
            graph.write("x", values)


def test_a_tensor_whose_memory_was_freed_is_refused(backend: ComputeBackend) -> None:
    store = DeviceTensors(backend, {"w": (Type.F32, (4, 4))})
    tensor = store["w"]
    store.close()
    graph = Graph(backend, 4)
    with pytest.raises(GraphError, match="freed"):
        graph.scale(tensor, 2.0)


def test_a_graph_must_be_finished_before_it_runs(backend: ComputeBackend) -> None:
    with pytest.raises(GraphError, match="finish"):
        Graph(backend, 4).compute()


def test_an_operation_the_device_cannot_run_is_named(backend: ComputeBackend) -> None:
    graph = Graph(backend, 8)
    product = graph.mul_mat(graph.input("w", Type.Q8_0, 32, 4), graph.input("x", Type.F16, 32, 2))
    graph.output("y", product)
    with pytest.raises(GraphError, match="cannot compute MUL_MAT"):
        graph.finish()


def test_a_tensor_that_finds_no_room_is_want_of_memory(backend: ComputeBackend) -> None:
    with pytest.raises(GraphOutOfMemory, match="not enough free memory"):
        DeviceTensors(backend, {"huge": (Type.F32, (1 << 30, 1 << 20))})
