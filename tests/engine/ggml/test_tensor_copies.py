"""Ports: fast copies between an array and a tensor, checked when created."""

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from laguna_engine.errors import GraphError
from laguna_engine.ggml.device import ComputeBackend
from laguna_engine.ggml.graph import Graph
from laguna_engine.ggml.tensor import Type


@pytest.fixture
def doubled() -> Iterator[Graph]:
    """A graph that doubles its eight inputs."""
    backend = ComputeBackend.cpu(1)
    graph = Graph(backend, 8)
    graph.output("y", graph.scale(graph.input("x", Type.F32, 4, 2), 2.0))
    yield graph.finish()
    graph.close()
    backend.close()


def test_what_is_pushed_is_computed_with_and_what_is_pulled_is_the_result(doubled: Graph) -> None:
    into, out = doubled.port("x", np.zeros(8, np.float32)), doubled.port("y", np.zeros((2, 4), np.float32))
    for start in (1, 5):
        into.values[:] = np.arange(start, start + 8)
        into.push()
        doubled.compute()
        out.pull()
        assert out.values.ravel().tolist() == [2.0 * value for value in range(start, start + 8)]


def test_a_shorter_array_moves_the_beginning(doubled: Graph) -> None:
    doubled.write("x", np.ones(8, np.float32))
    first = doubled.port("x", np.full(3, 7, np.float32))
    first.push()
    doubled.compute()
    assert doubled.read("y").ravel().tolist() == [14.0] * 3 + [2.0] * 5


@pytest.mark.parametrize(
    "values",
    [np.zeros(8, np.float16), np.zeros(9, np.float32), np.zeros((2, 8), np.float32)[:, :4]],
    ids=["another format", "too long", "with gaps"],
)
def test_an_array_that_does_not_fit_is_refused_at_once(values: NDArray[np.float32], doubled: Graph) -> None:
    with pytest.raises(GraphError):
        doubled.port("x", values)


def test_a_port_of_a_closed_graph_refuses(doubled: Graph) -> None:
    into, out = doubled.port("x", np.zeros(8, np.float32)), doubled.port("y", np.zeros(8, np.float32))
    doubled.close()
    for move in (into.push, out.pull):
        with pytest.raises(GraphError):
            move()
