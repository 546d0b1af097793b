"""What the model makes of each query token: log-probabilities, reduced on the device to one number a token."""

import numpy as np
from numpy.typing import NDArray

from laguna_engine.compress.scorer_windows import NOT_ITS_OWN
from laguna_engine.errors import ModelFileError
from laguna_engine.ggml.device import Backend
from laguna_engine.ggml.graph import Graph
from laguna_engine.ggml.tensor import Tensor
from laguna_engine.ggml.types import Type

_NODES = 32

ROWS = 64
"""Rows at once: their logits over 152,000 tokens take 39 MB."""


class Head:
    """The graph from hidden states to log-probabilities, `ROWS` rows at a time."""

    def __init__(self, matrix: Tensor, hidden: Tensor, backend: Backend, path: object) -> None:
        """matrix: [n_embd, tokens]. hidden: F32 [n_embd, rows], normed. path: of the model, for messages."""
        self._path = path
        self._graph = graph = Graph(backend, _NODES)
        rows = graph.input("rows", Type.I32, ROWS)
        targets = graph.input("targets", Type.I32, ROWS)
        try:
            graph.output(
                "found", _log_probabilities(graph, graph.mul_mat(matrix, graph.get_rows(hidden, rows)), targets)
            )
            graph.finish()
        except BaseException:
            self.close()
            raise
        self._rows = graph.port("rows", np.zeros(ROWS, np.int32))
        self._targets = graph.port("targets", np.zeros(ROWS, np.int32))
        self._found = graph.port("found", np.zeros(ROWS, np.float32))

    def run(self, rows: NDArray[np.int32], targets: NDArray[np.int32]) -> NDArray[np.float32]:
        """log p(target) after each of the hidden `rows`; both of one shape, which the result has too."""
        found = np.empty(rows.size, np.float32)
        for start in range(0, rows.size, ROWS):
            count = min(ROWS, rows.size - start)
            self._rows.values[:count] = rows.flat[start : start + count]
            self._targets.values[:count] = targets.flat[start : start + count]
            self._rows.push()
            self._targets.push()
            self._graph.compute()
            self._found.pull()
            found[start : start + count] = self._found.values[:count]
        if not (found > NOT_ITS_OWN / 2).all():
            raise ModelFileError(f"{self._path}: its weights give no numbers; download it again")
        return found.reshape(rows.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of inputs and intermediate results."""
        return self._graph.nbytes

    def close(self) -> None:
        """Free the graph; harmless when repeated."""
        self._graph.close()


def _log_probabilities(graph: Graph, logits: Tensor, targets: Tensor) -> Tensor:
    """log softmax(logits) at `targets`: their distance to the largest logit, whose own share never underflows."""
    logits = graph.clamp(logits, float(NOT_ITS_OWN), -float(NOT_ITS_OWN))
    best = graph.argmax(logits)
    behind = graph.sub(graph.pick(logits, targets), graph.pick(logits, best))
    return graph.add(behind, graph.log(graph.pick(graph.soft_max(logits, None, 1.0), best)))
