"""A drafter's K/V memory: which committed positions it holds, in which slots, and which it still has to take in.

A layer's memory is a few slots for the block that is being drafted, then a ring: position p lies in slot `header + p %
capacity`. Drafting needs no rollback, because every draft overwrites the block's slots.

The target's graph leaves the hidden states of each position in a ring of rows; the drafter takes them in when it is
about to draft or when their rows would be overwritten, so that rounds without a draft cost it nothing. Only positions
that were committed are ever taken in.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from laguna_engine.checkpoints import DrafterSnapshot
from laguna_engine.ggml.device import ComputeBackend
from laguna_engine.ggml.tensor import DeviceTensors, Tensor, Type
from laguna_engine.gguf.drafter_header import DrafterHeader
from laguna_engine.sequence import TokenSequence

GRAIN = 256
"""CUDA's attention kernels want whole steps of keys."""

_UNDO = 64
"""Positions a ring holds beyond those that matter: so many can be taken back before older features are asked for."""

_HIDDEN = np.uint16(0xFC00)
"""Minus infinity in half precision: added to the score of what may not be seen."""

_NOTHING = -1


def header_slots(block: int) -> int:
    """Slots before the ring: one a block row and one for rows that only fill a graph up, in whole cache lines."""
    return -(-(block + 1) // 64) * 64


class Ring:
    """The memory of all layers that look equally far back.

    reach: how many positions before the block matter. capacity: how many it holds. slots: its whole length.
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
        """Note that `positions`, at most `capacity` in a row, are held from now on; returns their slots."""
        places = positions % self.capacity
        self._held[places] = positions
        return places + self.header

    def covers(self, length: int) -> bool:
        """Whether it holds everything that matters to a block at `length`."""
        start = max(0, length - self.reach)
        wanted = np.arange(start, length)
        first = start % self.capacity
        whole = self._held[first : first + len(wanted)]
        rest = self._held[: len(wanted) - len(whole)]
        return bool((whole == wanted[: len(whole)]).all() and (rest == wanted[len(whole) :]).all())

    def spans(self, start: int, stop: int) -> list[range]:
        """The slots of positions [start, stop), at most `capacity`, in their order: one run or two."""
        first, count = self.header + start % self.capacity, stop - start
        straight = min(count, self.slots - first)
        runs = (range(first, first + straight), range(self.header, self.header + count - straight))
        return [run for run in runs if run]

    def keys(self, length: int) -> int:
        """How many slots a block at `length` has to look at: doubled from step to step, so that few graphs do."""
        keys = GRAIN
        while keys < self.header + length and keys < self.slots:
            keys *= 2
        return min(keys, self.slots)

    def hide(self, length: int, into: NDArray[np.uint16]) -> None:
        """For each of the first ring slots: 0 if a block at `length` may see it, else minus infinity."""
        count = len(into)
        start = max(0, length - self.reach)
        # One comparison instead of two: what lies before `start` becomes a large unsigned number.
        ages = np.subtract(self._held[:count], np.int32(start), out=self._ages[:count])
        unseen = ages.view(np.uint32) >= np.uint32(length - start)
        np.multiply(unseen, _HIDDEN, out=into)


class Mask:
    """What each row of a block may see, for layers of one kind. values: to add to scores, [rows, keys]."""

    def __init__(self, ring: Ring, rows: int, keys: int, *, window: int, causal: bool) -> None:
        """window: positions a row sees, itself included, 0 for all. causal: rows see no later rows of the block."""
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
    """Keys and values of every layer. rings: by whether the layers slide."""

    def __init__(self, drafter: DrafterHeader, rings: Mapping[bool, Ring], backend: ComputeBackend, kind: Type) -> None:
        shapes: dict[str, tuple[Type, tuple[int, ...]]] = {}
        for layer, kv_heads in enumerate(drafter.kv_heads):
            shape = (kv_heads * drafter.head_size, rings[drafter.sliding[layer]].slots)
            shapes |= {f"k{layer}": (kind, shape), f"v{layer}": (kind, shape)}
        self.rings = rings
        self._store = DeviceTensors(backend, shapes)

    def keys(self, layer: int) -> Tensor:
        """[kv heads * head, slots]."""
        return self._store[f"k{layer}"]

    def values(self, layer: int) -> Tensor:
        """[kv heads * head, slots]."""
        return self._store[f"v{layer}"]

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return self._store.nbytes

    def clear(self) -> None:
        """Forget every position, and what lay there: what is not a number would show through any mask."""
        for ring in self.rings.values():
            ring.clear()
        self._store.clear()

    def close(self) -> None:
        """Free it; harmless when repeated."""
        self._store.close()


def take_snapshot(
    memory: KvMemory, sliding: Sequence[bool], length: int, adapter: str | None
) -> DrafterSnapshot | None:
    """Keys and values of what matters behind `length` positions; None unless all of it is held. Waits for the device.

    sliding: of each layer, whether it is. adapter: what they were made with, where that makes a difference.
    """
    if not all(ring.covers(length) for ring in memory.rings.values()):
        return None
    counts = {kind: length - _first(ring, length) for kind, ring in memory.rings.items()}
    pieces = tuple(
        _read(tensor, memory.rings[kind], length - counts[kind], length) for kind, tensor in _tensors(memory, sliding)
    )
    return DrafterSnapshot(length, adapter, pieces)


def restore_snapshot(memory: KvMemory, sliding: Sequence[bool], state: DrafterSnapshot) -> None:
    """Hold what is in `state`, which the same drafter gave out, and nothing else."""
    for ring in memory.rings.values():
        ring.clear()
    for (kind, tensor), piece in zip(_tensors(memory, sliding), state.pieces, strict=True):
        ring, start = memory.rings[kind], state.length - len(piece)
        for span, rows in _runs(ring, start, state.length):
            tensor.write(piece[rows], offset=span.start * tensor.type.row_bytes(tensor.shape[0]))
        ring.place(np.arange(start, state.length, dtype=np.int32))


def fits(memory: KvMemory, sliding: Sequence[bool], state: DrafterSnapshot) -> bool:
    """Whether `state`, which may come from a file, has the form of a snapshot of this memory."""
    tensors = list(_tensors(memory, sliding))
    return len(tensors) == len(state.pieces) and all(
        piece.dtype == tensor.type.numpy
        and piece.shape[1:] == (tensor.shape[0],)
        and len(piece) <= min(state.length, memory.rings[kind].capacity)
        for (kind, tensor), piece in zip(tensors, state.pieces, strict=True)
    )


def _first(ring: Ring, length: int) -> int:
    """From where on to remember: a checkpoint also serves one position less, so one more if there is one."""
    return max(0, length - ring.reach - ring.covers(length - 1))


def _tensors(memory: KvMemory, sliding: Sequence[bool]) -> Iterator[tuple[bool, Tensor]]:
    """All keys and values, with the kind of ring they belong to."""
    for layer, kind in enumerate(sliding):
        yield kind, memory.keys(layer)
        yield kind, memory.values(layer)


def _read(tensor: Tensor, ring: Ring, start: int, stop: int) -> NDArray[Any]:
    piece = np.empty((stop - start, tensor.shape[0]), tensor.type.numpy)
    for span, rows in _runs(ring, start, stop):
        tensor.read_rows(span.start, piece[rows])
    return piece


def _runs(ring: Ring, start: int, stop: int) -> Iterator[tuple[range, slice]]:
    """The slots of positions [start, stop) in runs, each with the rows of a piece that lie there."""
    row = 0
    for span in ring.spans(start, stop):
        yield span, slice(row, row + len(span))
        row += len(span)


class FeatureReader(Protocol):
    """The part of a drafter that lives on features; `DFlash` is one."""

    def inject(self, start: int, stop: int) -> None:
        """Take in the features of the positions from `start` to `stop`."""
        ...

    def truncate(self, length: int) -> None:
        """Forget the positions from `length` on."""
        ...

    def covered(self, length: int) -> bool:
        """Whether it holds all that matters for drafting behind `length` positions."""
        ...

    def wanted_from(self, length: int) -> int:
        """The first position that matters for drafting behind `length` positions."""
        ...

    def remember(self, length: int) -> DrafterSnapshot | None:
        """What matters for drafting behind `length` positions; None unless it holds all of that."""
        ...

    def recall(self, state: DrafterSnapshot) -> bool:
        """Hold what it remembered once; False, and nothing changes, if that is of no use to it now."""
        ...


class FeatureBuffer:
    """Keeps one reader up to date with a sequence, whose features lie in rows. Engine thread only.

    The features of the positions from `_rows_from` to the sequence's end are in their rows; the reader has taken in, or
    was spared, those before `_taken`.
    """

    def __init__(
        self, reader: FeatureReader, sequence: TokenSequence, rows: int, last_layer_outputs: int | None
    ) -> None:
        """rows: of the ring that the features lie in.

        last_layer_outputs: if the target's last layer is tapped, how many rows with outputs one decode may have:
        llama.cpp computes that layer for nothing else.
        """
        self._reader = reader
        self.sequence = sequence
        self._rows = rows
        self._outputs = last_layer_outputs
        self._paused = False
        self._taken = 0
        self._from = 0
        # Rows are overwritten by later positions, and what was cut off leaves others behind.
        self._rows_from = sequence.position

    def begin(self, length: int, remembered: DrafterSnapshot | None = None) -> int:
        """The sequence was rewound for a prompt of `length` tokens: how many of its positions should be kept.

        remembered: what the reader knew at the last checkpoint up to there. Less than all when features that matter are
        gone: those positions are to be computed once more.
        """
        self._paused = False
        keep, wanted = self.sequence.position, self._wanted_from(length)
        known = self._go_back(remembered)
        self._from = wanted
        return keep if known == keep else max(known, min(keep, wanted))

    def pause(self, remembered: DrafterSnapshot | None = None) -> None:
        """The sequence was rewound for a prompt behind which nobody drafts: what comes is not taken in."""
        self._go_back(remembered)
        self._paused = True

    def remember(self) -> DrafterSnapshot | None:
        """What matters for drafting behind the sequence, if the reader knows or can be given all of it."""
        if not self._paused:
            self._take_in()
        return self._reader.remember(self.sequence.position)

    def part(self, size: int) -> tuple[int, bool]:
        """Of a prompt, how many tokens to compute at once, at most `size`, and whether all of them need outputs."""
        if self._outputs is None:
            return size, False
        left = self._from - self.sequence.position
        return (min(size, left), False) if left > 0 else (min(size, self._outputs), True)

    def make_room(self, rows: int) -> None:
        """So many rows are written next: what they would overwrite is taken in first."""
        if not self._paused and self.sequence.position + rows - self._taken > self._rows:
            self.flush()

    def observe(self, start: int, count: int, rows: int) -> None:
        """The features of `count` positions from `start` on lie in their rows.

        rows: how many were written from there on; those beyond `count` hold nothing of use.
        """
        self._rows_from = max(self._rows_from, start + rows - self._rows)
        if self._paused and self._outputs is not None:
            # Without outputs the last layer was not computed.
            self._rows_from = start + count

    def truncate(self, length: int) -> None:
        """What was computed beyond `length` positions is of no use."""
        self._rows_from = min(self._rows_from, length)
        if self._taken > length:
            self._reader.truncate(length)
            self._taken = length

    def restored(self, length: int, remembered: DrafterSnapshot | None) -> None:
        """The sequence was given `length` positions of which no features lie in any rows."""
        self._rows_from = length
        self._taken = 0
        if remembered is not None and self._reader.recall(remembered):
            self._taken = remembered.length

    def flush(self) -> None:
        """Have the reader take in all there is."""
        position = self.sequence.position
        start = max(self._taken, self._from, self._rows_from)
        if start < position:
            self.sequence.context.synchronize()
            self._reader.inject(start, position)
        self._taken = position

    def _wanted_from(self, length: int) -> int:
        """The first position that matters behind `length` positions or one less: a prompt that comes again as it was is
        cut back by its last token."""
        return self._reader.wanted_from(max(0, length - 1))

    def _go_back(self, remembered: DrafterSnapshot | None) -> int:
        """Behind how many positions of the sequence the reader has all that matters, 0 if it has not."""
        keep = self.sequence.position
        if not self._paused:
            self._take_in()
        if self._reader.covered(keep):
            return keep
        if remembered is None or not self._reader.recall(remembered):
            return 0
        self._taken = remembered.length
        self.truncate(keep)
        return self._taken if self._reader.covered(self._taken) else 0

    def _take_in(self) -> None:
        """Have the reader take in all there is, and what its rows still hold of what it was spared so far: the end of
        the prompt that was read would not have looked back at it."""
        self.flush()
        position = self.sequence.position
        start = max(self._rows_from, self._wanted_from(position))
        if self._outputs is None and start < position and not self._reader.covered(position):
            self.sequence.context.synchronize()
            self._reader.inject(start, position)
