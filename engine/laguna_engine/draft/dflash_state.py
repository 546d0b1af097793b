"""What a drafter remembers, taken out of its rings and put back: keys and values of the positions that matter."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laguna_engine.cache.checkpoints import DrafterState
from laguna_engine.draft.dflash_graph import Memory
from laguna_engine.draft.dflash_ring import Ring
from laguna_engine.ggml import transfer
from laguna_engine.ggml.tensor import Tensor


def remember(memory: Memory, sliding: Sequence[bool], length: int, adapter: str | None) -> DrafterState | None:
    """Keys and values of what matters behind `length` positions; None unless all of it is held. Waits for the device.

    sliding: of each layer, whether it is. adapter: what they were made with, where that makes a difference.
    """
    if not all(ring.covers(length) for ring in memory.rings.values()):
        return None
    counts = {kind: length - _first(ring, length) for kind, ring in memory.rings.items()}
    pieces = tuple(
        _read(tensor, memory.rings[kind], length - counts[kind], length) for kind, tensor in _tensors(memory, sliding)
    )
    return DrafterState(length, adapter, pieces)


def recall(memory: Memory, sliding: Sequence[bool], state: DrafterState) -> None:
    """Hold what is in `state`, which the same drafter gave out, and nothing else."""
    for ring in memory.rings.values():
        ring.clear()
    for (kind, tensor), piece in zip(_tensors(memory, sliding), state.pieces, strict=True):
        ring, start = memory.rings[kind], state.length - len(piece)
        for span, rows in _runs(ring, start, state.length):
            transfer.write(tensor, piece[rows], offset=span.start * tensor.type.row_bytes(tensor.shape[0]))
        ring.place(np.arange(start, state.length, dtype=np.int32))


def _first(ring: Ring, length: int) -> int:
    """From where on to remember: a checkpoint also serves one position less, so one more if there is one."""
    return max(0, length - ring.reach - ring.covers(length - 1))


def _tensors(memory: Memory, sliding: Sequence[bool]) -> Iterator[tuple[bool, Tensor]]:
    """All keys and values, with the kind of ring they belong to."""
    for layer, kind in enumerate(sliding):
        yield kind, memory.keys(layer)
        yield kind, memory.values(layer)


def _read(tensor: Tensor, ring: Ring, start: int, stop: int) -> NDArray[Any]:
    piece = np.empty((stop - start, tensor.shape[0]), tensor.type.numpy)
    for span, rows in _runs(ring, start, stop):
        transfer.read_rows(tensor, span.start, piece[rows])
    return piece


def _runs(ring: Ring, start: int, stop: int) -> Iterator[tuple[range, slice]]:
    """The slots of positions [start, stop) in runs, each with the rows of a piece that lie there."""
    row = 0
    for span in ring.spans(start, stop):
        yield span, slice(row, row + len(span))
        row += len(span)
