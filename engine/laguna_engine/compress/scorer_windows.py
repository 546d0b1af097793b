"""How pieces of text are laid out in windows: the rows that one run of the scorer's graph computes.

A window holds blocks; a block is a newline, a piece of text, a newline and a copy of the query. Its rows see earlier
rows of the same block and nothing else, so a piece's scores depend on the piece and the query alone, whatever lies
beside it, and all work grows with the number of tokens. Deals in token ids and row numbers, never in text or devices.
"""

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

TAIL = 8
"""Of the query's tokens so many, the last ones, say where they look; PFlash's number too."""

BASE = 512
"""Rows of an ordinary window: enough for matrix products at full speed, few enough that masks cost little."""

_SMALLEST = 256
"""The smallest window that is worth a graph of its own; CUDA's attention wants whole steps of 256 keys."""

_ROWS_A_SLOT, _MAX_SLOTS = 64, 16

_HIDDEN = np.uint16(0xFC00)
"""Minus infinity in half precision."""

NOT_ITS_OWN = np.float32(-1e30)
"""Added to the score of keys outside a block's text: finite, because a row of infinities has no largest number."""


def sizes(window: int) -> list[int]:
    """The rows that windows come in, smallest first: powers of two, and at most `window`."""
    found = []
    size = _SMALLEST
    while size < window:
        found.append(size)
        size *= 2
    return [*found, window]


def slots(rows: int) -> int:
    """The most blocks that a window of so many rows holds."""
    return max(1, min(rows // _ROWS_A_SLOT, _MAX_SLOTS))


def capacity(rows: int, asked: int) -> int:
    """For how many rows asked for a graph is built that serves so many: a quarter, half or all of the window."""
    return next(size for size in (rows // 4, rows // 2, rows) if size >= asked)


def pack(lengths: Sequence[int], window: int) -> list[tuple[int, list[int]]]:
    """Blocks of these lengths, none above `window`, into as few rows as first comes: (rows, blocks) of each window.

    Long blocks open windows, shorter ones go where they fill most.
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
    """The fewest rows that hold these blocks."""
    rows = sum(lengths[block] for block in blocks)
    return next(size for size in known if size >= rows and slots(size) >= len(blocks))


@dataclass(frozen=True, slots=True)
class Query:
    """The query's tokens, and the newline that goes before and behind every piece."""

    tokens: tuple[int, ...]
    newline: int

    def block(self, piece: Sequence[int]) -> list[int]:
        """All tokens of a piece's block; without a piece the newline stands once."""
        return [self.newline, *piece, *([self.newline] if piece else []), *self.tokens]

    def length(self, piece: Sequence[int]) -> int:
        """How many tokens the block has."""
        return len(self.tokens) + 1 + (len(piece) + 1 if piece else 0)


class Window:
    """The rows of one run.

    tokens, positions: [rows]. mask: [rows, rows], what each row sees. tails: [slots * TAIL], rows whose queries look
    for the text. own: [slots * TAIL, rows], 0 where a key belongs to the text of the slot and `NOT_ITS_OWN` elsewhere.
    asked, targets: [blocks, query], rows before each query token, and the tokens themselves.
    """

    def __init__(self, rows: int, query: Query, pieces: Sequence[Sequence[int]]) -> None:
        count = slots(rows)
        self.rows, self.blocks = rows, len(pieces)
        self.tokens = np.full(rows, query.newline, np.int32)
        self.positions = np.zeros(rows, np.int32)
        self._bits = np.full((rows, rows), _HIDDEN, np.uint16)
        self.tails = np.zeros(count * TAIL, np.int32)
        self.own = np.full((count * TAIL, rows), NOT_ITS_OWN, np.float32)
        self.asked = np.zeros((len(pieces), len(query.tokens)), np.int32)
        self.targets = np.tile(np.array(query.tokens, np.int32), (len(pieces), 1))
        start = 0
        for slot, piece in enumerate(pieces):
            start = self._place(slot, start, query, piece)
        # What fills the window up has to see something, or its attention divides by nothing.
        np.fill_diagonal(self._bits[start:, start:], 0)

    @property
    def mask(self) -> NDArray[np.float16]:
        """In half precision, to be added to attention scores."""
        return self._bits.view(np.float16)

    def _place(self, slot: int, start: int, query: Query, piece: Sequence[int]) -> int:
        block = query.block(piece)
        stop = start + len(block)
        self.tokens[start:stop] = block
        self.positions[start:stop] = np.arange(len(block))
        self._bits[start:stop, start:stop] = np.triu(np.full((len(block), len(block)), _HIDDEN), 1)
        self.asked[slot] = np.arange(stop - len(query.tokens) - 1, stop - 1)
        last = np.arange(stop - TAIL, stop)
        tail = slice(slot * TAIL, (slot + 1) * TAIL)
        self.tails[tail] = np.maximum(last, stop - len(query.tokens))
        self.own[tail, start + 1 : start + 1 + len(piece)] = 0
        return stop
