"""Where the target's hidden states are kept for the drafter: a ring of rows on the device, one row a position."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from laguna_engine.ggml.device import Backend
from laguna_engine.ggml.store import Store
from laguna_engine.ggml.tensor import Tensor
from laguna_engine.ggml.types import Type


@dataclass(frozen=True, slots=True)
class TargetShape:
    """Of the target: n_embd, the width of its hidden states, and n_layer, its layers."""

    n_embd: int
    n_layer: int


class Features:
    """F32 [n_embd * taps, rows]: position p lies in row p % rows, its taps one after the other."""

    def __init__(self, backend: Backend, taps: int, n_embd: int, rows: int) -> None:
        """GraphError when memory is short."""
        self.backend = backend
        self.rows = rows
        self._store = Store(backend, {"features": (Type.F32, (n_embd * taps, rows))})
        self._row_bytes = 4 * n_embd * taps

    @property
    def tensor(self) -> Tensor:
        """For a drafter's graphs."""
        return self._store["features"]

    def rows_of(self, start: int, count: int) -> NDArray[np.int64]:
        """The rows of the positions from `start` on."""
        return np.arange(start, start + count, dtype=np.int64) % self.rows

    def upload(self, start: int, values: NDArray[np.float32]) -> None:
        """Write values [positions, n_embd * taps] of the positions from `start` on, from the host."""
        first = start % self.rows
        split = min(len(values), self.rows - first)
        self._store.write("features", values[:split], first * self._row_bytes)
        if split < len(values):
            self._store.write("features", values[split:])

    def read(self) -> NDArray[np.float32]:
        """A copy of everything, [rows, n_embd * taps]: for checks."""
        values: NDArray[np.float32] = self._store.read("features").reshape(self.rows, -1)
        return values

    def close(self) -> None:
        """Free the memory; harmless when repeated."""
        self._store.close()
