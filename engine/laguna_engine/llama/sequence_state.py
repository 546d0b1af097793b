"""Parses llama.cpp's sequence states into rows, one per position, and builds states from rows. No native code.

The layout is that of `llama_kv_cache::state_write` (`src/llama-kv-cache.cpp`) of the pinned build: a magic number and a
sequence; then for each cache (with sliding-window layers there are two, the full one first) the number of streams and
of cells, each cell's position, and layer by layer the keys of all cells, then their values. Without flash attention
values are stored transposed. Models whose positions have more than one dimension write more per cell and are refused.

The sliding window alone is the "partial" state of a sequence: the cells that the newest token sees and one more, so a
state of `length` positions also serves `length - 1`. llama-server's context checkpoints consist of the same state.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laguna_engine.errors import ContextError

Bytes = NDArray[np.uint8]

_MAGIC = 0xAF143CD8
"""`io_magic` in `src/llama-context.cpp`."""

_LENT_CELL = np.dtype([("position", "<i4"), ("sequences", "<u4")])
"""A cell as it is written for a sequence beyond `n_seq_max`, whose number is left out."""

_CELL = np.dtype([*_LENT_CELL.descr, ("sequence", "<i4")])
_TENSOR = np.dtype([("kind", "<i4"), ("width", "<u8")])


@dataclass(frozen=True, slots=True)
class RowLayout:
    """What one position takes in one of llama.cpp's caches.

    Attributes:
        keys: of each layer, the `ggml_type` and the bytes of a row.
        values: likewise.
        transposed: bytes of one number where values are stored transposed, else 0.
    """

    keys: tuple[tuple[int, int], ...]
    values: tuple[tuple[int, int], ...]
    transposed: int = 0

    @property
    def widths(self) -> tuple[int, ...]:
        """Bytes of the row in each tensor: the keys of all layers, then the values."""
        return tuple(size for _, size in (*self.keys, *self.values))

    @property
    def nbytes(self) -> int:
        """Bytes of one position."""
        return sum(self.widths)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Keys and values of consecutive positions.

    Attributes:
        start: the first position.
        layout: of each row.
        tensors: uint8 [positions, width] for each of `layout.widths`.
    """

    start: int
    layout: RowLayout
    tensors: tuple[Bytes, ...]

    @property
    def count(self) -> int:
        """Number of positions."""
        return len(self.tensors[0]) if self.tensors else 0

    @property
    def stop(self) -> int:
        """One more than the last position."""
        return self.start + self.count

    @property
    def nbytes(self) -> int:
        """Bytes of all rows."""
        return self.count * self.layout.nbytes

    def part(self, start: int, stop: int) -> "Rows":
        """Return the rows of positions `start` to `stop`, which must lie within."""
        cut = slice(start - self.start, stop - self.start)
        return Rows(start, self.layout, tuple(tensor[cut] for tensor in self.tensors))


@dataclass(frozen=True, slots=True, eq=False)
class WindowState:
    """A saved state in host memory.

    Attributes:
        words: the bytes written by llama.cpp, padded with zeros to words of 8 bytes.
        nbytes: number of bytes written.
        total: checksum, the sum of the words: llama.cpp does not validate the state it reads.
    """

    words: NDArray[np.uint64]
    nbytes: int
    total: int

    @classmethod
    def of(cls, words: NDArray[np.uint64], nbytes: int) -> "WindowState":
        """Return the state of `nbytes` in `words`, which are padded with zeros."""
        return cls(words, nbytes, int(words.sum(dtype=np.uint64)))

    @property
    def data(self) -> NDArray[np.uint8]:
        """The bytes of the state, uint8 [nbytes]."""
        return self.words.view(np.uint8)[: self.nbytes]

    @property
    def intact(self) -> bool:
        """Whether the checksum matches."""
        return self.words.nbytes >= self.nbytes and int(self.words.sum(dtype=np.uint64)) == self.total


class UnknownState(ContextError):
    """A state is not laid out as this module knows it; the model's cache cannot be saved."""


class _Cursor:
    """Reads numbers and arrays from a state one after another; UnknownState beyond its end."""

    def __init__(self, data: Bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def take(self, count: int) -> Bytes:
        if not 0 <= count <= self.left:
            raise UnknownState("llama.cpp's state ends too early; this model's cache cannot be saved")
        self._at += count
        return self._data[self._at - count : self._at]

    def peek(self, kind: np.dtype[np.void]) -> np.void:
        found = self.take(kind.itemsize).view(kind)[0]
        self._at -= kind.itemsize
        return found  # type: ignore[no-any-return]

    def number(self, kind: str = "<u4") -> int:
        return int(self.take(np.dtype(kind).itemsize).view(kind)[0])


def parse(data: Bytes, *, sort: bool = False) -> list[Rows]:
    """Return the rows of each cache in a state: one cache, or the full one and that of the sliding window.

    A cache without cells gives no rows and an empty layout. Rows come in the order of their positions, and lie in
    `data` where the cells were in that order.

    Args:
        data: the state.
        sort: put the cells in `data` into that order too.

    Raises:
        UnknownState: it is laid out in another way, or positions are missing.
    """
    cursor = _Cursor(data)
    if cursor.number() != _MAGIC:
        raise UnknownState("llama.cpp's state begins with another number; this model's cache cannot be saved")
    cursor.number("<i4")
    caches = [_parse_cache(cursor, sort=sort)]
    while cursor.left:
        caches.append(_parse_cache(cursor, sort=sort))
    return caches


def _parse_cache(cursor: _Cursor, *, sort: bool) -> Rows:
    if cursor.number() != 1:
        raise UnknownState("llama.cpp's state has several streams; this model's cache cannot be saved")
    count = cursor.number()
    if not count:
        return Rows(0, RowLayout((), ()), ())
    cells = _parse_cells(cursor, count)
    transposed, layers = cursor.number(), cursor.number()
    keys = [_parse_tensor(cursor, count) for _ in range(layers)]
    parse_values = _parse_transposed if transposed else _parse_tensor
    values = [parse_values(cursor, count) for _ in range(layers)]
    element = values[0][2] if transposed and values else 0
    layout = RowLayout(
        tuple((kind, rows.shape[1]) for kind, rows, _ in keys),
        tuple((kind, rows.shape[1]) for kind, rows, _ in values),
        element,
    )
    return _ordered(cells, layout, tuple(rows for _, rows, _ in (*keys, *values)), sort=sort and not transposed)


def _parse_cells(cursor: _Cursor, count: int) -> NDArray[np.void]:
    lent = cursor.peek(_LENT_CELL)["sequences"] == 0
    cells = cursor.take(count * (_LENT_CELL if lent else _CELL).itemsize).view(_LENT_CELL if lent else _CELL)
    if (cells["sequences"] != (0 if lent else 1)).any():
        raise UnknownState("llama.cpp's cells have more than a position; this model's cache cannot be saved")
    return cells


def _parse_tensor(cursor: _Cursor, count: int) -> tuple[int, Bytes, int]:
    kind, width = cursor.number("<i4"), cursor.number("<u8")
    return kind, cursor.take(count * width).reshape(count, width), 0


def _parse_transposed(cursor: _Cursor, count: int) -> tuple[int, Bytes, int]:
    kind, element, width = cursor.number("<i4"), cursor.number(), cursor.number()
    found = cursor.take(width * count * element).reshape(width, count, element)
    return kind, np.ascontiguousarray(found.transpose(1, 0, 2)).reshape(count, width * element), element


def _ordered(cells: NDArray[np.void], layout: RowLayout, tensors: tuple[Bytes, ...], *, sort: bool) -> Rows:
    """Return the rows by position; UnknownState unless the positions are consecutive."""
    positions = cells["position"]
    start, count = int(positions.min()), len(positions)
    expected = np.arange(start, start + count, dtype=np.int32)
    if not np.array_equal(positions, expected):
        order = np.argsort(positions, kind="stable")
        if not np.array_equal(positions[order], expected):
            raise UnknownState("llama.cpp's state has gaps; this cache cannot be saved now")
        if sort:
            # In place, because memory that was never touched is several times as slow to write to.
            cells["position"] = expected
            for tensor in tensors:
                tensor[:] = tensor[order]
        else:
            tensors = tuple(tensor[order] for tensor in tensors)
    return Rows(start, layout, tensors)


class _Builder:
    """Writes pieces of a state one after another."""

    def __init__(self, nbytes: int) -> None:
        self.words = np.empty(-(-nbytes // 8), np.uint64)
        self.words[-1] = 0
        self.data: Bytes = self.words.view(np.uint8)[:nbytes]
        self._at = 0

    def put(self, values: NDArray[Any]) -> None:
        part = values.view(np.uint8).reshape(-1)
        self.room(len(part))[:] = part

    def numbers(self, *values: int) -> None:
        self.put(np.array(values, "<u4"))

    def room(self, count: int) -> Bytes:
        """Return the next `count` bytes, to be filled."""
        self._at += count
        return self.data[self._at - count : self._at]


def build(pieces: Sequence[Rows], *, empty_caches: int = 0) -> WindowState:
    """Return a state that llama.cpp can read, its cells in the order of the positions.

    Args:
        pieces: rows that follow one another; at least one.
        empty_caches: caches without cells that follow.
    """
    layout, start, stop = pieces[0].layout, pieces[0].start, pieces[-1].stop
    count = stop - start
    tensors = len(layout.keys) + len(layout.values)
    builder = _Builder(24 + count * (_CELL.itemsize + layout.nbytes) + 12 * tensors + 8 * empty_caches)
    builder.numbers(_MAGIC, 0, 1, count)
    cells = np.empty(count, _CELL)
    cells["position"] = np.arange(start, stop)
    cells["sequences"], cells["sequence"] = 1, 0
    builder.put(cells)
    builder.numbers(bool(layout.transposed), len(layout.keys))
    for index, (kind, width) in enumerate((*layout.keys, *layout.values)):
        if index >= len(layout.keys) and layout.transposed:
            _put_transposed(builder, kind, [piece.tensors[index] for piece in pieces], layout.transposed)
            continue
        builder.put(np.array([(kind, width)], _TENSOR))
        for piece in pieces:
            builder.room(piece.count * width).reshape(piece.count, width)[:] = piece.tensors[index]
    for _ in range(empty_caches):
        builder.numbers(1, 0)
    return WindowState.of(builder.words, len(builder.data))


def _put_transposed(builder: _Builder, kind: int, parts: Sequence[Bytes], element: int) -> None:
    rows = np.concatenate(parts)
    split = rows.reshape(len(rows), -1, element)
    builder.numbers(kind, element, split.shape[1])
    builder.put(np.ascontiguousarray(split.transpose(1, 0, 2)))


def in_order(saved: WindowState) -> tuple[WindowState, Rows]:
    """Return the same sliding window with its cells in the order of positions, and its rows; `saved` is used up."""
    rows = parse(saved.data, sort=True)[0]
    return (build([rows]) if rows.layout.transposed else WindowState.of(saved.words, saved.nbytes)), rows
