"""Weights are loaded to a device unchanged, and embedding rows are looked up on the host."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from laguna_engine.errors import ModelFileError
from laguna_engine.ggml.device import ComputeBackend
from laguna_engine.ggml.gguf_writer import quantized
from laguna_engine.ggml.graph import Graph
from laguna_engine.ggml.tensor import Type
from laguna_engine.ggml.weights import HostEmbedding, Weights
from laguna_engine.gguf import header
from tests.app.sandbox.guarded import run_guarded
from tests.engine import tiny

MATRIX = "blk.0.attn_q.weight"


@pytest.fixture
def backend() -> Iterator[ComputeBackend]:
    backend = ComputeBackend.cpu()
    yield backend
    backend.close()


def product(weights: Weights, x: np.ndarray, backend: ComputeBackend) -> np.ndarray:
    graph = Graph(backend, 4)
    graph.output("y", graph.mul_mat(weights[MATRIX], graph.input("x", Type.F32, x.shape[1], x.shape[0])))
    graph.finish()
    graph.write("x", x)
    graph.compute()
    result = graph.read("y")
    graph.close()
    return result


def test_a_matrix_is_multiplied_as_it_stands_in_the_file(tiny_model_path: Path, backend: ComputeBackend) -> None:
    matrix = tiny.laguna().tensors[MATRIX].astype(np.float32)
    weights = Weights(header.check(tiny_model_path), [MATRIX], backend)
    x = np.random.default_rng(1).standard_normal((5, matrix.shape[1])).astype(np.float32)
    np.testing.assert_allclose(product(weights, x, backend), x @ matrix.T, atol=2e-2)
    weights.close()


def test_a_large_matrix_in_blocks_is_multiplied_as_it_stands_in_the_file(
    tmp_path: Path, backend: ComputeBackend
) -> None:
    """Weights are copied in pieces of 4 MiB, but ggml aborts unless an extra buffer type gets a matrix at once."""
    width, rows = 4096, 2048
    numbers = np.random.default_rng(0).standard_normal((rows, width), np.float32)
    data = quantized(numbers.ravel(), width, Type.Q4_0)
    assert len(data) > 4 << 20
    file = tiny.GgufFile().set("general.architecture", "anything")
    file.tensors[MATRIX] = tiny.Quantized(Type.Q4_0, numbers.shape, data)
    found = header.read_unchecked(file.write(tmp_path / "large.gguf"))
    weights = run_guarded(lambda: Weights(found, [MATRIX], backend))
    x = np.random.default_rng(1).standard_normal((3, width)).astype(np.float32)
    y = product(weights, x, backend)
    assert ((y - x @ numbers.T) ** 2).mean() < 0.02 * (y**2).mean()
    weights.close()


def test_a_tensor_that_is_not_there_is_named(tiny_model_path: Path, backend: ComputeBackend) -> None:
    with pytest.raises(ModelFileError) as error:
        Weights(header.check(tiny_model_path), [MATRIX, "fc.weight"], backend)
    assert str(error.value) == f"{tiny_model_path}: it has no tensor fc.weight; download it again"


def test_embedding_rows_are_those_of_the_file(tiny_model_path: Path) -> None:
    table = tiny.laguna().tensors["token_embd.weight"].astype(np.float32)
    rows = HostEmbedding(header.check(tiny_model_path), "token_embd.weight")
    ids = [3, 511, 3, 0]
    for _ in range(2):
        np.testing.assert_array_equal(rows.rows(ids), table[ids])


def test_a_row_outside_the_table_is_an_error(tiny_model_path: Path) -> None:
    rows = HostEmbedding(header.check(tiny_model_path), "token_embd.weight")
    with pytest.raises(IndexError):
        rows.rows([512])


def test_every_type_has_its_number() -> None:
    assert Type.from_name("q4_K") is Type.Q4_K
    assert Type.Q8_0.row_bytes(64) == 68
