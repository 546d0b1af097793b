"""The words of all units as postings lists, and BM25 over them.

Units are numbered in the order in which they were added, 2^14 of them to a block. A row of `postings` has the units of
one block that contain one word: 3 bytes for each, its place in the block and how often it has the word, weighted by
where. Units that are added later are appended to it. A row of `blocks` has the lengths of a block's units; a unit that
was removed has length 0, and its postings stay until most of its block is gone, when the rest moves to the last block.

Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with the inverse
document frequency that is never 0 (as in Lucene): a word in most units still separates them from the others.
"""

import math
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from laguna_tui.repo.unit_words import FileWords

_SHIFT = 14
BLOCK_UNITS = 1 << _SHIFT
_POSTING = np.dtype([("place", "<u2"), ("weight", "u1")])
_LENGTH = np.dtype("<u2")
_MAX_WEIGHT = 255
_MAX_LENGTH = 65_535
# Saturation of a repeated word, and how much a long unit is held back: little, because a long function that has the
# words is a better answer than a one-line function.
_K1 = 1.2
_B = 0.3
# Postings scored from the rarest word on; more would take longer than a person notices. Words beyond only add to the
# score of units that were found by rarer ones.
SCORED_POSTINGS = 100_000
# Postings read for those words.
COMMON_POSTINGS = 400_000

Scores = NDArray[np.float32]


class PostingsWriter:
    """Adds and removes units. `flush` writes what it holds; the caller commits."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection
        self._lengths: dict[int, NDArray[np.uint16]] = {}
        self._added: list[tuple[int, FileWords]] = []
        row = connection.execute("select id, lengths from blocks order by id desc limit 1").fetchone()
        self._next = 0 if row is None else (row[0] << _SHIFT) + len(row[1]) // _LENGTH.itemsize

    def add(self, words: FileWords) -> int:
        """Add the units of a file; returns the number of the first one, which the others follow."""
        first = self._next
        lengths = np.frombuffer(words.lengths, np.uint32)
        self._next += len(lengths)
        at = 0
        while at < len(lengths):
            block, place = divmod(first + at, BLOCK_UNITS)
            count = min(len(lengths) - at, BLOCK_UNITS - place)
            held = self._block(block)
            self._lengths[block] = np.concatenate([held, lengths[at : at + count].clip(1, _MAX_LENGTH).astype(_LENGTH)])
            at += count
        self._added.append((first, words))
        return first

    def remove(self, units: Sequence[int]) -> None:
        """Remove units; their postings stay for now."""
        for unit in units:
            self._block(unit >> _SHIFT)[unit & (BLOCK_UNITS - 1)] = 0

    def flush(self) -> None:
        """Write everything that was added and removed."""
        if self._added:
            self._append()
        self._sql.executemany(
            "insert or replace into blocks (id, units, words, lengths) values (?, ?, ?, ?)",
            [
                (block, int(np.count_nonzero(lengths)), int(lengths.sum(dtype=np.int64)), lengths.tobytes())
                for block, lengths in self._lengths.items()
            ],
        )
        self._lengths.clear()
        self._added.clear()

    def compact(self) -> None:
        """Remove the blocks of which all units are gone, and move those of one of which most are gone to the end."""
        self.flush()
        empty = self._sql.execute("select id from blocks where units = 0 and id < (select max(id) from blocks)")
        for (block,) in empty.fetchall():
            self._delete(block)
        row = self._sql.execute(
            "select id, lengths from blocks where id < (select max(id) from blocks)"
            " and units * 2 * ? < length(lengths) order by id limit 1",
            (_LENGTH.itemsize,),
        ).fetchone()
        if row is None:
            return
        block, lengths = row[0], np.frombuffer(row[1], _LENGTH)
        alive = np.flatnonzero(lengths)
        renumbered = np.full(BLOCK_UNITS, -1, np.int64)
        renumbered[alive] = np.arange(len(alive))
        rows = self._sql.execute("select word, data from postings where block = ?", (block,)).fetchall()
        if len(alive):
            first = self.add(_moved(rows, renumbered, lengths[alive].astype(np.uint32)))
            moved = [(first + new, (block << _SHIFT) + int(old)) for new, old in enumerate(alive)]
            self._sql.executemany("update units set id = ? where id = ?", moved)
        self._delete(block)
        self.flush()

    def _delete(self, block: int) -> None:
        self._sql.execute("delete from postings where block = ?", (block,))
        self._sql.execute("delete from blocks where id = ?", (block,))

    def _block(self, block: int) -> NDArray[np.uint16]:
        """The lengths of a block's units, held until they are written."""
        if block not in self._lengths:
            row = self._sql.execute("select lengths from blocks where id = ?", (block,)).fetchone()
            self._lengths[block] = np.frombuffer(row[0] if row else b"", _LENGTH).copy()
        return self._lengths[block]

    def _append(self) -> None:
        """Append the added units' postings to their rows, in the order of the table."""
        known = sorted({word for _, words in self._added for word in words.words})
        numbers = {word: number for number, word in enumerate(known)}
        parts = [
            (
                np.array([numbers[word] for word in words.words], np.int64)[np.frombuffer(words.word, np.uint32)],
                np.frombuffer(words.unit, np.uint32).astype(np.int64) + first,
                np.frombuffer(words.weight, np.uint32),
            )
            for first, words in self._added
            if words.words
        ]
        if not parts:
            return
        word, unit, weight = (np.concatenate(column) for column in zip(*parts, strict=True))
        rows = (unit >> _SHIFT) * len(known) + word
        order = np.argsort(rows, kind="stable")
        postings = np.empty(len(order), _POSTING)
        postings["place"] = (unit & (BLOCK_UNITS - 1))[order]
        postings["weight"] = weight.clip(1, _MAX_WEIGHT)[order]
        rows = rows[order]
        begins = np.flatnonzero(np.diff(rows, prepend=-1))
        packed, ends = postings.tobytes(), [*begins[1:].tolist(), len(rows)]
        self._sql.executemany(
            "insert into postings (block, word, data) values (?, ?, ?)"
            " on conflict (block, word) do update set data = cast(data || excluded.data as blob)",
            (
                (row // len(known), known[row % len(known)], packed[begin * 3 : end * 3])
                for row, begin, end in zip(rows[begins].tolist(), begins.tolist(), ends, strict=True)
            ),
        )


def _moved(rows: Sequence[tuple[str, bytes]], renumbered: NDArray[np.int64], lengths: NDArray[np.uint32]) -> FileWords:
    """A block's postings without those of removed units, as the words of one file."""
    decoded = [np.frombuffer(data, _POSTING) for _, data in rows]
    word = np.repeat(np.arange(len(rows), dtype=np.uint32), [len(postings) for postings in decoded])
    postings = np.concatenate([np.empty(0, _POSTING), *decoded])
    unit = renumbered[postings["place"]]
    kept = unit >= 0
    return FileWords(
        tuple(word for word, _ in rows),
        word[kept].tobytes(),
        unit[kept].astype(np.uint32).tobytes(),
        postings["weight"][kept].astype(np.uint32).tobytes(),
        lengths.tobytes(),
    )


class _Word(NamedTuple):
    """A word of a question: how many units have it, and the blocks that they are in, ascending."""

    units: int
    text: str
    blocks: tuple[int, ...]


def best_units(
    connection: sqlite3.Connection, words: Sequence[str], limit: int, also: Sequence[int] = ()
) -> dict[int, float]:
    """Return the units that have the words, by unit, with their BM25 scores, best first.

    Args:
        connection: An index.
        words: Stems, each once.
        limit: Most units.
        also: Units to score beside them; those without any of the words are left out.

    Raises:
        sqlite3.DatabaseError: The index is damaged.
    """
    with _snapshot(connection):
        known = sorted(found for word in words if (found := _word(connection, word)).units)
        if not known:
            return {}
        try:
            units, values = _scored(_Blocks(connection), known, limit, also)
        except (ValueError, IndexError) as error:
            raise sqlite3.DatabaseError(f"the words of the index are damaged ({error})") from error
    ranked = [(int(units[at]), float(values[at])) for at in np.argsort(-values, kind="stable") if values[at] > 0.0]
    wanted = set(also)
    return dict(pair for rank, pair in enumerate(ranked) if rank < limit or pair[0] in wanted)


def units_with(connection: sqlite3.Connection, word: str) -> list[int]:
    """Return the units that have a word (a stem), removed ones too."""
    rows = connection.execute(
        "select blocks.id, postings.data from blocks cross join postings"
        " on postings.block = blocks.id and postings.word = ? order by blocks.id",
        (word,),
    )
    return [
        (block << _SHIFT) + place
        for block, data in rows
        for place in np.frombuffer(data[: len(data) // 3 * 3], _POSTING)["place"].tolist()
    ]


def _word(connection: sqlite3.Connection, text: str) -> _Word:
    rows = connection.execute(
        "select blocks.id, length(postings.data) from blocks cross join postings"
        " on postings.block = blocks.id and postings.word = ? order by blocks.id",
        (text,),
    ).fetchall()
    total = sum(size for _, size in rows)
    if total % _POSTING.itemsize:
        raise sqlite3.DatabaseError("the words of the index are damaged")
    return _Word(total // _POSTING.itemsize, text, tuple(block for block, _ in rows))


def _scored(
    index: "_Blocks", known: Sequence[_Word], limit: int, also: Sequence[int]
) -> tuple[NDArray[np.int64], Scores]:
    """The best units and those that are asked for beside them, with their scores; the rarest words come first."""
    left = SCORED_POSTINGS
    scores = np.zeros(index.size, np.float32)
    common: list[_Word] = []
    for word in known:
        if word.units <= left:
            left -= word.units
            place, gain = index.gains(word, word.blocks)
            scores[place] += gain
        else:
            common.append(word)
    if len(common) == len(known):
        # Only words that are everywhere: the rarest of them, in the blocks that were written first (code comes before
        # tests and data there).
        share = max(1, len(common[0].blocks) * SCORED_POSTINGS // common[0].units)
        place, gain = index.gains(common[0], common[0].blocks[:share])
        scores[place] += gain
        del common[0]
    chosen = np.flatnonzero(scores > 0.0).astype(np.int64)
    if len(chosen) > limit:
        chosen = chosen[np.argpartition(-scores[chosen], limit)[:limit]]
    # Not np.unique: few places, and it imports masked arrays.
    chosen = np.array(sorted({*chosen.tolist(), *index.places(also).tolist()}), np.int64)
    values = scores[chosen]
    blocks = index.blocks_of(chosen)
    left = COMMON_POSTINGS
    for word in common:
        inside = sorted(blocks & set(word.blocks))
        left -= word.units * len(inside) // len(word.blocks)
        if left < 0 or not inside:
            break
        place, gain = index.gains(word, inside)
        at = np.minimum(np.searchsorted(place, chosen), len(place) - 1)
        values += np.where(place[at] == chosen, gain[at], np.float32(0.0))
    return index.units(chosen), values


class _Blocks:
    """The units of all blocks side by side; a unit's place is an index into them.

    Attributes:
        size: Number of places.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection
        rows = connection.execute("select id, units, words, lengths from blocks order by id").fetchall()
        self._ids = np.array([row[0] for row in rows], np.int64)
        self._begins = {block: at << _SHIFT for at, block in enumerate(self._ids.tolist())}
        self.size = len(rows) << _SHIFT
        self._lengths = np.zeros(self.size, np.float32)
        for at, row in enumerate(rows):
            lengths = np.frombuffer(row[3], _LENGTH)
            self._lengths[at << _SHIFT : (at << _SHIFT) + len(lengths)] = lengths
        self._units = max(sum(row[1] for row in rows), 1)
        self._average = max(sum(row[2] for row in rows) / self._units, 1.0)

    def gains(self, word: _Word, blocks: Sequence[int]) -> tuple[NDArray[np.int64], Scores]:
        """Places of a word's units in some blocks, ascending, and its part of their scores; 0 for removed units."""
        rows = [
            self._sql.execute("select data from postings where block = ? and word = ?", (block, word.text)).fetchone()[
                0
            ]
            for block in blocks
        ]
        postings = np.frombuffer(b"".join(rows), _POSTING)
        begins = np.array([self._begins[block] for block in blocks], np.int64)
        place = postings["place"] + np.repeat(begins, [len(data) // _POSTING.itemsize for data in rows])
        weight = postings["weight"].astype(np.float32)
        length = self._lengths[place]
        idf = math.log1p((max(self._units - word.units, 0) + 0.5) / (word.units + 0.5))
        norm = np.float32(_K1 * (1.0 - _B)) + np.float32(_K1 * _B / self._average) * length
        gain = weight / (weight + norm)
        gain *= np.float32(idf * (_K1 + 1.0))
        gain[length == 0.0] = 0.0
        return place, gain

    def places(self, units: Sequence[int]) -> NDArray[np.int64]:
        """The places of those units that are in a block."""
        known = (
            self._begins[unit >> _SHIFT] + (unit & (BLOCK_UNITS - 1))
            for unit in units
            if unit >> _SHIFT in self._begins
        )
        return np.fromiter(known, np.int64)

    def units(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The units at some places."""
        units: NDArray[np.int64] = (self._ids[places >> _SHIFT] << _SHIFT) + (places & (BLOCK_UNITS - 1))
        return units

    def blocks_of(self, places: NDArray[np.int64]) -> set[int]:
        """The blocks that some places are in."""
        return {int(self._ids[block]) for block in {*(places >> _SHIFT).tolist()}}


@contextmanager
def _snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """Everything that is read inside belongs to one commit."""
    if connection.in_transaction:
        yield
        return
    connection.execute("begin")
    try:
        yield
    finally:
        connection.execute("commit")
