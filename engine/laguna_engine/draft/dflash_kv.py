"""A drafter's K/V memory: which committed positions it holds, and in which slots.

A layer's memory is a few slots for the block that is being drafted, then a ring: position p lies in slot `header + p %
capacity`. Drafting needs no rollback, because every draft overwrites the block's slots.
"""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from laguna_engine.checkpoints import DrafterSnapshot
from laguna_engine.ggml.device import ComputeBackend
from laguna_engine.ggml.tensor import DeviceTensors, Tensor, Type
from laguna_engine.gguf.drafter_header import DrafterHeader

GRAIN = 256
"""CUDA's attention kernels want whole steps of keys."""

_UNDO = 64
"""Positions a ring holds beyond those that matter: this many can be taken back before older features are needed."""

_HIDDEN = np.uint16(0xFC00)
"""Minus infinity in half precision: added to the score of what may not be seen."""

_NOTHING = -1


def header_slots(block: int) -> int:
    """Return the slots before the ring: one per block row and one for padding rows, in whole cache lines."""
    return -(-(block + 1) // 64) * 64


class Ring:
    """The memory of all layers that look equally far back.

    Attributes:
        reach: how many positions before the block matter.
        capacity: how many positions it holds.
        slots: its whole length.
    """

    def __init__(self, reach: int, header: int) -> None:
        self.reach = reach
        self.header = header
        self.slots = -(-(header + reach + _UNDO) // GRAIN) * GRAIN
        self.capacity = self.slots - header
        # Half the width of what numpy counts with: a mask is made of these before every draft.
        self._held = np.full(self.capacity, _NOTHING, np.int32)
        self._ages = np.empty(self.capacity, np.int32)

    def clear(self) -> None:
        """Forget everything."""
        self._held.fill(_NOTHING)

    def truncate(self, length: int) -> None:
        """Forget positions from `length` on; what they had overwritten does not come back."""
        self._held[self._held >= length] = _NOTHING

    def place(self, positions: NDArray[np.int32]) -> NDArray[np.int32]:
        """Mark `positions`, at most `capacity` in a row, as held from now on; return their slots."""
        places = positions % self.capacity
        self._held[places] = positions
        return places + self.header

    def covers(self, length: int) -> bool:
        """Return whether it holds everything that matters to a block at `length`."""
        start = max(0, length - self.reach)
        wanted = np.arange(start, length)
        first = start % self.capacity
        whole = self._held[first : first + len(wanted)]
        rest = self._held[: len(wanted) - len(whole)]
        return bool((whole == wanted[: len(whole)]).all() and (rest == wanted[len(whole) :]).all())

    def spans(self, start: int, stop: int) -> list[range]:
        """Return the slots of positions [start, stop), at most `capacity`, in their order: one run or two."""
        first, count = self.header + start % self.capacity, stop - start
        straight = min(count, self.slots - first)
        runs = (range(first, first + straight), range(self.header, self.header + count - straight))
        return [run for run in runs if run]

    def keys(self, length: int) -> int:
        """Return how many slots a block at `length` attends to: doubled step by step, so that few graphs are needed."""
        keys = GRAIN
        while keys < self.header + length and keys < self.slots:
            keys *= 2
        return min(keys, self.slots)

    def hide(self, length: int, into: NDArray[np.uint16]) -> None:
        """Write 0 for each of the first ring slots that a block at `length` may attend to, else minus infinity."""
        count = len(into)
        start = max(0, length - self.reach)
        # One comparison instead of two: what lies before `start` becomes a large unsigned number.
        ages = np.subtract(self._held[:count], np.int32(start), out=self._ages[:count])
        unseen = ages.view(np.uint32) >= np.uint32(length - start)
        np.multiply(unseen, _HIDDEN, out=into)


class Mask:
    """What each row of a block may attend to, for layers of one kind.

    Attributes:
        values: to add to scores, F16 [rows, keys].
    """

    def __init__(self, ring: Ring, rows: int, keys: int, *, window: int, causal: bool) -> None:
        """Set up the part inside the block.

        Args:
            ring: the layers' memory.
            rows: rows of the block.
            keys: slots of the memory that are attended to.
            window: positions a row attends to, itself included, 0 for all.
            causal: rows attend to no later rows of the block.
        """
        self._ring, self._rows, self._window = ring, rows, window
        self._bits = np.full((rows, keys), _HIDDEN, np.uint16)
        self._row = np.empty(keys - ring.header, np.uint16)
        self._positions = self._bits[:, ring.header :]
        self.values: NDArray[np.float16] = self._bits.view(np.float16)
        ahead = np.arange(rows)[None, :] - np.arange(rows)[:, None]
        hidden = (ahead > 0) & causal | (-ahead >= window) & (window > 0)
        self._bits[:, :rows] = np.where(hidden, _HIDDEN, 0)

    def look(self, length: int) -> None:
        """Make `values` those of a block that begins at position `length`."""
        self._ring.hide(length, self._row)
        self._positions[:] = self._row
        if self._window:
            # Each later row loses one more of the oldest positions.
            for row in range(1, min(self._rows, self._window)):
                lost = length - self._window + row
                if lost >= 0:
                    self._positions[row:, lost % self._ring.capacity] = _HIDDEN


class KvMemory:
    """Keys and values of every layer.

    Attributes:
        rings: by whether the layers have sliding-window attention.
    """

    def __init__(self, drafter: DrafterHeader, rings: Mapping[bool, Ring], backend: ComputeBackend, kind: Type) -> None:
        shapes: dict[str, tuple[Type, tuple[int, ...]]] = {}
        for layer, kv_heads in enumerate(drafter.kv_heads):
            shape = (kv_heads * drafter.head_size, rings[drafter.sliding[layer]].slots)
            shapes |= {f"k{layer}": (kind, shape), f"v{layer}": (kind, shape)}
        self.rings = rings
        self._sliding = drafter.sliding
        self._store = DeviceTensors(backend, shapes)

    def keys(self, layer: int) -> Tensor:
        """Return a layer's keys, or values, [kv heads * head, slots]."""
        return self._store[f"k{layer}"]

    def values(self, layer: int) -> Tensor:
        return self._store[f"v{layer}"]

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return self._store.nbytes

    def clear(self) -> None:
        """Forget every position, and zero its memory: what is not a number would show through any mask."""
        for ring in self.rings.values():
            ring.clear()
        self._store.clear()

    def snapshot(self, length: int, adapter: str | None) -> DrafterSnapshot | None:
        """Copy the keys and values that matter after `length` positions; None unless all are held.

        Waits for the device.

        Args:
            length: committed positions.
            adapter: the adapter they were computed with, where that makes a difference.
        """
        if not all(ring.covers(length) for ring in self.rings.values()):
            return None
        pieces = []
        for ring, tensor in self._tensors():
            # A checkpoint also serves one position less, so one more if there is one.
            start = max(0, length - ring.reach - ring.covers(length - 1))
            piece = np.empty((length - start, tensor.shape[0]), tensor.type.numpy)
            for span, rows in _runs(ring, start, length):
                tensor.read_rows(span.start, piece[rows])
            pieces.append(piece)
        return DrafterSnapshot(length, adapter, tuple(pieces))

    def restore(self, state: DrafterSnapshot) -> bool:
        """Hold what is in `state` and nothing else.

        Returns False, and changes nothing, if `state`, which may come from a file, is not a snapshot of such a memory.
        """
        tensors = list(self._tensors())
        fits = len(tensors) == len(state.pieces) and all(
            piece.dtype == tensor.type.numpy
            and piece.shape[1:] == (tensor.shape[0],)
            and len(piece) <= min(state.length, ring.capacity)
            for (ring, tensor), piece in zip(tensors, state.pieces, strict=True)
        )
        if not fits:
            return False
        for ring in self.rings.values():
            ring.clear()
        for (ring, tensor), piece in zip(tensors, state.pieces, strict=True):
            start = state.length - len(piece)
            for span, rows in _runs(ring, start, state.length):
                tensor.write(piece[rows], offset=span.start * tensor.type.row_bytes(tensor.shape[0]))
            ring.place(np.arange(start, state.length, dtype=np.int32))
        return True

    def close(self) -> None:
        """Free the memory. Idempotent."""
        self._store.close()

    def _tensors(self) -> Iterator[tuple[Ring, Tensor]]:
        """Yield all keys and values, with the ring they belong to."""
        for layer, sliding in enumerate(self._sliding):
            yield self.rings[sliding], self.keys(layer)
            yield self.rings[sliding], self.values(layer)


def _runs(ring: Ring, start: int, stop: int) -> Iterator[tuple[range, slice]]:
    """Yield the slots of positions [start, stop) in runs, each with the rows of a piece that belong there."""
    row = 0
    for span in ring.spans(start, stop):
        yield span, slice(row, row + len(span))
        row += len(span)
