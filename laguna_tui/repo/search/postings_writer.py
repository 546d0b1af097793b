"""Adding units to the postings and removing them; `postings` reads them."""

import sqlite3
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from laguna_tui.repo.search import postings
from laguna_tui.repo.search.file_parsing import FileWords

# In the order of bytes of the machine that made the index.
_PLACE = np.dtype(np.uint16)
_LENGTH = np.dtype(np.uint16)


class PostingsWriter:
    """Adds and removes units. `flush` writes what it holds; the caller commits."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection
        self._lengths: dict[int, NDArray[np.uint16]] = {}
        self._added: list[tuple[int, FileWords]] = []
        row = connection.execute("select id, lengths from blocks order by id desc limit 1").fetchone()
        self._next = 0 if row is None else row[0] * postings.BLOCK_UNITS + len(row[1]) // _LENGTH.itemsize

    def add(self, words: FileWords) -> int:
        """Add the units of a file; returns the number of the first one, which the others follow."""
        first = self._next
        lengths = np.frombuffer(words.lengths, np.uint32)
        self._next += len(lengths)
        at = 0
        while at < len(lengths):
            block, place = divmod(first + at, postings.BLOCK_UNITS)
            count = min(len(lengths) - at, postings.BLOCK_UNITS - place)
            held = self._block(block)
            added = lengths[at : at + count].clip(1, postings.MAX_LENGTH).astype(_LENGTH)
            self._lengths[block] = np.concatenate([held, added])
            at += count
        self._added.append((first, words))
        return first

    def remove(self, units: Sequence[int]) -> None:
        """Remove units; their postings stay for now."""
        for unit in units:
            block, place = divmod(unit, postings.BLOCK_UNITS)
            self._block(block)[place] = 0

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
        renumbered = np.full(postings.BLOCK_UNITS, -1, np.int64)
        renumbered[alive] = np.arange(len(alive))
        rows = self._sql.execute("select word, places, weights from postings where block = ?", (block,)).fetchall()
        if len(alive):
            first = self.add(_moved(rows, renumbered, lengths[alive].astype(np.uint32)))
            moved = [(first + new, block * postings.BLOCK_UNITS + int(old)) for new, old in enumerate(alive)]
            self._sql.executemany("update units set id = ? where id = ?", moved)
        self._delete(block)
        self.flush()

    def _delete(self, block: int) -> None:
        self._sql.execute("delete from postings where block = ?", (block,))
        self._sql.execute("delete from blocks where id = ?", (block,))

    def _block(self, block: int) -> NDArray[np.uint16]:
        """Return the lengths of a block's units, held until they are written."""
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
        block, place = np.divmod(unit, postings.BLOCK_UNITS)
        rows = block * len(known) + word
        order = np.argsort(rows, kind="stable")
        places = place[order].astype(_PLACE).tobytes()
        weights = weight.clip(1, postings.MAX_WEIGHT)[order].astype(np.uint8).tobytes()
        rows = rows[order]
        begins = np.flatnonzero(np.diff(rows, prepend=-1))
        ends, size = [*begins[1:].tolist(), len(rows)], _PLACE.itemsize
        self._sql.executemany(
            "insert into postings (block, word, places, weights) values (?, ?, ?, ?)"
            " on conflict (block, word) do update set places = cast(places || excluded.places as blob),"
            " weights = cast(weights || excluded.weights as blob)",
            (
                (
                    row // len(known),
                    known[row % len(known)],
                    places[begin * size : end * size],
                    weights[begin:end],
                )
                for row, begin, end in zip(rows[begins].tolist(), begins.tolist(), ends, strict=True)
            ),
        )


def _moved(
    rows: Sequence[tuple[str, bytes, bytes]], renumbered: NDArray[np.int64], lengths: NDArray[np.uint32]
) -> FileWords:
    """Return a block's postings without those of removed units, as the words of one file."""
    word = np.repeat(np.arange(len(rows), dtype=np.uint32), [len(weights) for _, _, weights in rows])
    unit = renumbered[np.frombuffer(b"".join(places for _, places, _ in rows), _PLACE)]
    weight = np.frombuffer(b"".join(weights for _, _, weights in rows), np.uint8)
    kept = unit >= 0
    return FileWords(
        tuple(word for word, _, _ in rows),
        word[kept].tobytes(),
        unit[kept].astype(np.uint32).tobytes(),
        weight[kept].astype(np.uint32).tobytes(),
        lengths.tobytes(),
    )
