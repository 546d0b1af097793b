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

_SIZES = (64, 16)
"""Rows at once, most first: the logits of 64 over 152,000 tokens take 39 MB."""

_BOUND = np.float32(1e30)
"""No logit is as large. NaN becomes this, because a device may find no largest number among NaNs."""


class Head:
    """From hidden states to log-probabilities."""

    def __init__(self, matrix: Tensor, hidden: Tensor, backend: Backend, path: Path) -> None:
        """matrix: [n_embd, tokens]. hidden: F32 [n_embd, rows], normed. path: of the model, for messages."""
        self._path = path
        self._parts: list[_Part] = []
        try:
            for rows in _SIZES:
                self._parts.append(_Part(rows, matrix, hidden, backend))
        except BaseException:
            self.close()
            raise

    def run(self, targets: NDArray[np.int32]) -> NDArray[np.float32]:
        """log p of the targets, of any shape: the first hidden row gives the first one's, and so on."""
        found, start = np.empty(targets.size, np.float32), 0
        large, small = self._parts
        while start < targets.size:
            part = large if targets.size - start > large.rows // 2 else small
            stop = min(start + part.rows, targets.size)
            found[start:stop] = part.run(start, targets.ravel()[start:stop])
            start = stop
        if not np.isfinite(found).all():
            raise ModelFileError(f"{self._path}: its weights give no numbers; download it again")
        return found.reshape(targets.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of inputs and intermediate results."""
        return sum(part.nbytes for part in self._parts)

    def close(self) -> None:
        """Free the graphs; harmless when repeated."""
        for part in self._parts:
            part.close()


class _Part:
    """The graph for `rows` hidden rows in a row."""

    def __init__(self, rows: int, matrix: Tensor, hidden: Tensor, backend: Backend) -> None:
        self.rows = rows
        self._graph = graph = Graph(backend, _NODES)
        try:
            self._build(matrix, hidden)
            graph.finish()
        except BaseException:
            self.close()
            raise
        self._wanted = graph.port("wanted", np.zeros(rows, np.int32))
        self._targets = graph.port("targets", np.zeros(rows, np.int32))
        self._largest = graph.port("largest", np.zeros(rows, np.float32))
        self._found = graph.port("found", np.zeros(rows, np.float32))

    @property
    def nbytes(self) -> int:
        return self._graph.nbytes

    def run(self, start: int, targets: NDArray[np.int32]) -> NDArray[np.float32]:
        """log p of at most `rows` targets, from hidden row `start` on; NaN where there is none."""
        count = len(targets)
        self._wanted.values[:count], self._targets.values[:count] = np.arange(start, start + count), targets
        self._wanted.push()
        self._targets.push()
        self._graph.compute()
        self._largest.pull()
        self._found.pull()
        sound = abs(self._largest.values[:count]) < _BOUND
        return np.where(sound, self._found.values[:count], np.float32(np.nan))

    def close(self) -> None:
        """Free the graph; harmless when repeated."""
        self._graph.close()

    def _build(self, matrix: Tensor, hidden: Tensor) -> None:
        """log softmax(logits) at the targets: behind the largest logit, whose own share never becomes 0."""
        graph, rows = self._graph, self.rows
        wanted, targets = graph.input("wanted", Type.I32, rows), graph.input("targets", Type.I32, rows)
        logits = graph.mul_mat(matrix, graph.get_rows(hidden, wanted))
        logits = graph.clamp(logits, -float(_BOUND), float(_BOUND))
        best = graph.argmax(logits)
        largest = graph.output("largest", graph.pick(logits, best))
        share = graph.log(graph.pick(graph.soft_max(logits, None, 1.0), best))
        graph.output("found", graph.add(graph.sub(graph.pick(logits, targets), largest), share))
