"""Parses llama.cpp's sequence states into rows, one per position, and builds states from rows. No native code.

The layout is that of `llama_kv_cache::state_write` (`src/llama-kv-cache.cpp`) of the pinned build: a magic number and a
sequence; then for each cache (with sliding-window layers there are two, the full one first) the number of streams and
of cells, each cell's position, and layer by layer the keys of all cells, then their values. Without flash attention
values are stored transposed. Models whose positions have several dimensions (M-RoPE) write three more numbers per cell.

A hybrid model's state continues with that of its recurrent layers (`llama_memory_recurrent::state_write`): no cell or
one, its position, then a row of two tensors per recurrent layer. It is held as rows of one position, the newest.

The sliding window alone is the "partial" state of a sequence: the cells that the newest token sees and one more, so a
state of `length` positions also serves `length - 1`. That of a hybrid model is the recurrent layers' state, which
serves `length` alone. llama-server's context checkpoints consist of the same state.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laguna_engine.errors import ContextError

Bytes = NDArray[np.uint8]

_F32 = 0
"""`GGML_TYPE_F32`, which all recurrent states have."""

_MAGIC = 0xAF143CD8
"""`io_magic` in `src/llama-context.cpp`."""

ONE_CACHE, SLIDING, RECURRENT = 1, 2, 3
"""The kinds of memory whose states are known: one cache; another of a sliding window; a recurrent state beside it."""

_START = [("position", "<i4"), ("sequences", "<u4")]
_GRID = [("x", "<i4"), ("y", "<i4"), ("token", "<i4")]
"""The other dimensions of a position, which are equal to the first in text, and a token (`llama_kv_cell_ext`)."""

_NO_TOKEN = -1
"""`LLAMA_TOKEN_NULL`: only models that hash n-grams read the token, which have other memory beside."""

_TENSOR = np.dtype([("kind", "<i4"), ("width", "<u8")])


def _cell(*, grid: bool, lent: bool = False) -> np.dtype[np.void]:
    """Return the layout of a cell; the number of a sequence beyond `n_seq_max` (`lent`) is left out."""
    return np.dtype([*_START, *(_GRID if grid else []), *([] if lent else [("sequence", "<i4")])])


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


def parse(data: Bytes, *, sort: bool = False, grid: bool = False) -> list[Rows]:
    """Return the rows of each cache in a state: one cache, or the full one and that of the sliding window.

    A cache without cells gives no rows and an empty layout. Rows come in the order of their positions, and lie in
    `data` where the cells were in that order. A recurrent state without a cell is skipped.

    Args:
        data: the state.
        sort: put the cells in `data` into that order too.
        grid: whether positions have several dimensions.

    Raises:
        UnknownState: it is laid out in another way, or positions are missing.
    """
    cursor = _Cursor(data)
    if cursor.number() != _MAGIC:
        raise UnknownState("llama.cpp's state begins with another number; this model's cache cannot be saved")
    cursor.number("<i4")
    caches = []
    # The number of streams; a recurrent state begins with its cells.
    while cursor.left and (streams := cursor.number()):
        if streams != 1:
            raise UnknownState("llama.cpp's state has several streams; this model's cache cannot be saved")
        caches.append(_parse_cache(cursor, sort=sort, grid=grid))
    if not caches:
        raise UnknownState("this model has no cache of keys and values; what it has in memory cannot be saved")
    return caches


def _parse_cache(cursor: _Cursor, *, sort: bool, grid: bool) -> Rows:
    count = cursor.number()
    if not count:
        return Rows(0, RowLayout((), ()), ())
    cells = _parse_cells(cursor, count, grid=grid)
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


def _parse_cells(cursor: _Cursor, count: int, *, grid: bool) -> NDArray[np.void]:
    lent = bool(cursor.peek(np.dtype(_START))["sequences"] == 0)
    kind = _cell(grid=grid, lent=lent)
    cells = cursor.take(count * kind.itemsize).view(kind)
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
            for name in set(cells.dtype.names or ()) & {"position", "x", "y"}:
                cells[name] = expected
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


def build(
    pieces: Sequence[Rows], *, empty_caches: int = 0, grid: bool = False, rest: Bytes | None = None
) -> WindowState:
    """Return a state that llama.cpp can read, its cells in the order of the positions.

    Args:
        pieces: rows that follow one another; at least one.
        empty_caches: caches without cells that follow.
        grid: whether positions have several dimensions.
        rest: what follows the caches.
    """
    layout, start, stop = pieces[0].layout, pieces[0].start, pieces[-1].stop
    count, cell = stop - start, _cell(grid=grid)
    tensors = len(layout.keys) + len(layout.values)
    following = 8 * empty_caches + (0 if rest is None else len(rest))
    builder = _Builder(24 + count * (cell.itemsize + layout.nbytes) + 12 * tensors + following)
    builder.numbers(_MAGIC, 0, 1, count)
    cells = np.empty(count, cell)
    cells["sequences"], cells["sequence"] = 1, 0
    for name in set(cell.names or ()) & {"position", "x", "y"}:
        cells[name] = np.arange(start, stop)
    if grid:
        cells["token"] = _NO_TOKEN
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
    if rest is not None:
        builder.put(rest)
    return WindowState.of(builder.words, len(builder.data))


def _put_transposed(builder: _Builder, kind: int, parts: Sequence[Bytes], element: int) -> None:
    rows = np.concatenate(parts)
    split = rows.reshape(len(rows), -1, element)
    builder.numbers(kind, element, split.shape[1])
    builder.put(np.ascontiguousarray(split.transpose(1, 0, 2)))


def in_order(saved: WindowState, *, grid: bool = False) -> tuple[WindowState, Rows]:
    """Return the same sliding window with its cells in the order of positions, and its rows; `saved` is used up."""
    rows = parse(saved.data, sort=True, grid=grid)[0]
    return (build([rows], grid=grid) if rows.layout.transposed else WindowState.of(saved.words, saved.nbytes)), rows


def parse_recurrent(data: Bytes) -> Rows:
    """Return the recurrent layers' part of a state, which is of one position: two tensors of each layer.

    Raises:
        UnknownState: it is laid out in another way.
    """
    cursor = _Cursor(data)
    start = [cursor.number("<i4") for _ in range(7)]
    # Magic and sequence; cells; their position and sequences; not transposed; layers.
    if start[0] & 0xFFFF_FFFF != _MAGIC or (start[2], start[4], start[5]) != (1, 0, 0):
        raise UnknownState("llama.cpp's recurrent state is laid out in another way; this model's cache cannot be saved")
    found: list[tuple[int, Bytes, int]] = []
    while cursor.left:
        found.append(_parse_tensor(cursor, 1))
    half, odd = divmod(len(found), 2)
    if odd or not half or any(kind != _F32 for kind, _, _ in found):
        raise UnknownState("llama.cpp's recurrent state has other tensors; this model's cache cannot be saved")
    sizes = tuple((kind, rows.shape[1]) for kind, rows, _ in found)
    return Rows(start[3], RowLayout(sizes[:half], sizes[half:]), tuple(rows for _, rows, _ in found))


def build_recurrent(rows: Rows, layers: int) -> WindowState:
    """Return a recurrent state that llama.cpp can read; `layers` of the whole model."""
    builder = _Builder(28 + 12 * len(rows.tensors) + rows.layout.nbytes)
    builder.numbers(_MAGIC, 0, 1, rows.start, 0, 0, layers)
    for (kind, width), tensor in zip((*rows.layout.keys, *rows.layout.values), rows.tensors, strict=True):
        builder.put(np.array([(kind, width)], _TENSOR))
        builder.put(tensor)
    return WindowState.of(builder.words, len(builder.data))
