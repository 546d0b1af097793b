"""What the model makes of each query token: log-probabilities, reduced on the device to one number a token."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from laguna_engine.errors import ModelFileError
from laguna_engine.ggml.device import Backend
from laguna_engine.ggml.graph import Graph
from laguna_engine.ggml.tensor import Tensor
from laguna_engine.ggml.types import Type

_NODES = 32

ROWS = 64
"""Rows at once: their logits over 152,000 tokens take 39 MB."""

_BOUND = np.float32(1e30)
"""No logit is as large. NaN becomes this, because a device may find no largest number among NaNs."""


class Head:
    """The graph from hidden states to log-probabilities, `ROWS` rows at a time."""

    def __init__(self, matrix: Tensor, hidden: Tensor, backend: Backend, path: Path) -> None:
        """matrix: [n_embd, tokens]. hidden: F32 [n_embd, rows], normed. path: of the model, for messages."""
        self._path = path
        self._graph = Graph(backend, _NODES)
        try:
            self._build(matrix, hidden)
            self._graph.finish()
        except BaseException:
            self.close()
            raise
        self._rows, self._targets = (self._graph.port(name, np.zeros(ROWS, np.int32)) for name in ("rows", "targets"))
        self._largest, self._found = (
            self._graph.port(name, np.zeros(ROWS, np.float32)) for name in ("largest", "found")
        )

    def run(self, targets: NDArray[np.int32]) -> NDArray[np.float32]:
        """log p of the targets, of any shape: the first hidden row gives the first one's, and so on."""
        found = np.empty(targets.size, np.float32)
        for start in range(0, targets.size, ROWS):
            found[start : start + ROWS] = self._run(start, targets.ravel()[start : start + ROWS])
        return found.reshape(targets.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of inputs and intermediate results."""
        return self._graph.nbytes

    def close(self) -> None:
        """Free the graph; harmless when repeated."""
        self._graph.close()

    def _run(self, start: int, targets: NDArray[np.int32]) -> NDArray[np.float32]:
        count = len(targets)
        self._rows.values[:count], self._targets.values[:count] = np.arange(start, start + count), targets
        self._rows.push()
        self._targets.push()
        self._graph.compute()
        self._largest.pull()
        self._found.pull()
        if not (abs(self._largest.values[:count]) < _BOUND).all():
            raise ModelFileError(f"{self._path}: its weights give no numbers; download it again")
        return self._found.values[:count]

    def _build(self, matrix: Tensor, hidden: Tensor) -> None:
        """log softmax(logits) at the targets: behind the largest logit, whose own share never becomes 0."""
        graph = self._graph
        rows, targets = graph.input("rows", Type.I32, ROWS), graph.input("targets", Type.I32, ROWS)
        logits = graph.mul_mat(matrix, graph.get_rows(hidden, rows))
        logits = graph.clamp(logits, -float(_BOUND), float(_BOUND))
        best = graph.argmax(logits)
        largest = graph.output("largest", graph.pick(logits, best))
        share = graph.log(graph.pick(graph.soft_max(logits, None, 1.0), best))
        graph.output("found", graph.add(graph.sub(graph.pick(logits, targets), largest), share))
