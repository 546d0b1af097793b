"""Weights reach a device as they are in the file, and embedding rows are looked up on the host."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tiny

from laguna_engine.errors import ModelFileError
from laguna_engine.ggml.device import Backend
from laguna_engine.ggml.graph import Graph
from laguna_engine.ggml.rows import HostRows
from laguna_engine.ggml.types import Type
from laguna_engine.ggml.weights import Weights
from laguna_engine.gguf import header

MATRIX = "blk.0.attn_q.weight"


@pytest.fixture
def backend() -> Iterator[Backend]:
    backend = Backend.cpu()
    yield backend
    backend.close()


def product(weights: Weights, x: np.ndarray, backend: Backend) -> np.ndarray:
    graph = Graph(backend, 4)
    graph.output("y", graph.mul_mat(weights[MATRIX], graph.input("x", Type.F32, x.shape[1], x.shape[0])))
    graph.finish()
    graph.write("x", x)
    graph.compute()
    result = graph.read("y")
    graph.close()
    return result


def test_a_matrix_is_multiplied_as_it_stands_in_the_file(tiny_model_path: Path, backend: Backend) -> None:
    matrix = tiny.laguna().tensors[MATRIX].astype(np.float32)
    weights = Weights(header.check(tiny_model_path), [MATRIX], backend)
    x = np.random.default_rng(1).standard_normal((5, matrix.shape[1])).astype(np.float32)
    np.testing.assert_allclose(product(weights, x, backend), x @ matrix.T, atol=2e-2)
    weights.close()


def test_a_tensor_that_is_not_there_is_named(tiny_model_path: Path, backend: Backend) -> None:
    with pytest.raises(ModelFileError, match=r"no tensor fc\.weight"):
        Weights(header.check(tiny_model_path), [MATRIX, "fc.weight"], backend)


def test_embedding_rows_are_those_of_the_file(tiny_model_path: Path) -> None:
    table = tiny.laguna().tensors["token_embd.weight"].astype(np.float32)
    rows = HostRows(header.check(tiny_model_path), "token_embd.weight")
    ids = [3, 511, 3, 0]
    for _ in range(2):
        np.testing.assert_array_equal(rows.rows(ids), table[ids])


def test_a_row_outside_the_table_is_an_error(tiny_model_path: Path) -> None:
    rows = HostRows(header.check(tiny_model_path), "token_embd.weight")
    with pytest.raises(IndexError):
        rows.rows([512])


def test_every_type_has_its_number() -> None:
    assert Type.from_name("q4_K") is Type.Q4_K
    assert Type.Q8_0.row_bytes(64) == 68
