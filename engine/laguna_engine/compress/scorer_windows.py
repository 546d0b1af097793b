"""Packs pieces of text into windows: the rows of one run of the scorer's graph.

A window holds blocks; a block is a newline, a piece of text, a newline and a copy of the query. Its rows attend to
earlier rows of the same block only, so a piece's scores depend on the piece and the query alone, and the work is linear
in the number of tokens. Works on token ids and row numbers, not on text or devices.
"""

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

TAIL = 8
"""The last tokens of the query, whose attention is measured; the same number as PFlash."""

BASE = 512
"""Rows of a typical window: enough for matrix products at full speed, few enough that masks cost little."""

_SMALLEST = 256
"""Rows of the smallest window with a graph of its own; CUDA's attention needs multiples of 256 keys."""

_ROWS_A_SLOT, _MAX_SLOTS = 64, 16

_HIDDEN = np.uint16(0xFC00)
"""Minus infinity in half precision."""

OUTSIDE_TEXT = np.float32(-1e30)
"""Added to the score of keys outside a block's text: finite, because a row of -inf has no argmax."""


def sizes(window: int) -> list[int]:
    """Return the possible numbers of rows of a window, smallest first: powers of two, then `window` itself."""
    found = []
    size = _SMALLEST
    while size < window:
        found.append(size)
        size *= 2
    return [*found, window]


def slots(rows: int) -> int:
    """Return the maximum number of blocks of a window of `rows` rows."""
    return max(1, min(rows // _ROWS_A_SLOT, _MAX_SLOTS))


def capacity(rows: int, query_rows: int) -> int:
    """Return the query rows of the graph that serves `query_rows` of them: a quarter, half or all of the window."""
    return next(size for size in (rows // 4, rows // 2, rows) if size >= query_rows)


def pack(lengths: Sequence[int], window: int) -> list[tuple[int, list[int]]]:
    """Pack blocks of these lengths, none above `window`, best fit decreasing: (rows, blocks) of each window.

    Long blocks open windows; shorter ones go into the fullest window that has room.
    """
    known = sizes(window)
    opened: list[tuple[int, list[int]]] = []
    free: list[tuple[int, int]] = []
    for block in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        at = bisect_left(free, (lengths[block], 0))
        if at == len(free):
            size = known[bisect_left(known, max(lengths[block], min(BASE, window)))]
            room, index = size, len(opened)
            opened.append((size, []))
        else:
            room, index = free.pop(at)
        opened[index][1].append(block)
        if len(opened[index][1]) < slots(opened[index][0]):
            insort(free, (room - lengths[block], index))
    return [(_shrunk(known, blocks, lengths), blocks) for _, blocks in opened]


def _shrunk(known: list[int], blocks: list[int], lengths: Sequence[int]) -> int:
    rows = sum(lengths[block] for block in blocks)
    return next(size for size in known if size >= rows and slots(size) >= len(blocks))


@dataclass(frozen=True, slots=True)
class Query:
    """A query.

    Attributes:
        tokens: its tokens.
        newline: the newline token before and after every piece.
    """

    tokens: tuple[int, ...]
    newline: int

    def block(self, piece: Sequence[int]) -> list[int]:
        """Return all tokens of a piece's block; for an empty piece there is only one newline."""
        return [self.newline, *piece, *([self.newline] if piece else []), *self.tokens]

    def length(self, piece: Sequence[int]) -> int:
        return len(self.tokens) + 1 + (len(piece) + 1 if piece else 0)


class Window:
    """The inputs of one run.

    Attributes:
        rows: rows of the window.
        blocks: blocks in it.
        tokens: [rows].
        positions: [rows], from 0 in each block.
        mask: [rows, rows], F16 attention mask.
        tail_rows: [slots * TAIL], the rows of the query's tail in each block.
        text_mask: [slots * TAIL, rows], 0 where a key belongs to the text of the slot, `OUTSIDE_TEXT` elsewhere.
        query_rows: [blocks, query], the row before each query token.
        targets: [blocks, query], the query's tokens.
    """

    def __init__(self, rows: int, query: Query, pieces: Sequence[Sequence[int]]) -> None:
        count = slots(rows)
        self.rows, self.blocks = rows, len(pieces)
        self.tokens = np.full(rows, query.newline, np.int32)
        self.positions = np.zeros(rows, np.int32)
        self._bits = np.full((rows, rows), _HIDDEN, np.uint16)
        self.tail_rows = np.zeros(count * TAIL, np.int32)
        self.text_mask = np.full((count * TAIL, rows), OUTSIDE_TEXT, np.float32)
        self.query_rows = np.zeros((len(pieces), len(query.tokens)), np.int32)
        self.targets = np.tile(np.array(query.tokens, np.int32), (len(pieces), 1))
        start = 0
        for slot, piece in enumerate(pieces):
            start = self._place(slot, start, query, piece)
        # Padding rows attend to themselves, or their softmax would divide by zero.
        np.fill_diagonal(self._bits[start:, start:], 0)

    @property
    def mask(self) -> NDArray[np.float16]:
        """Return the F16 mask that is added to attention scores."""
        return self._bits.view(np.float16)

    def _place(self, slot: int, start: int, query: Query, piece: Sequence[int]) -> int:
        block = query.block(piece)
        stop = start + len(block)
        self.tokens[start:stop] = block
        self.positions[start:stop] = np.arange(len(block))
        self._bits[start:stop, start:stop] = np.triu(np.full((len(block), len(block)), _HIDDEN), 1)
        self.query_rows[slot] = np.arange(stop - len(query.tokens) - 1, stop - 1)
        last = np.arange(stop - TAIL, stop)
        tail = slice(slot * TAIL, (slot + 1) * TAIL)
        self.tail_rows[tail] = np.maximum(last, stop - len(query.tokens))
        self.text_mask[tail, start + 1 : start + 1 + len(piece)] = 0
        return stop
