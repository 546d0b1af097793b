"""The words of all units as postings lists: which units have a word, and how often.

Units are numbered in the order in which they were added, `BLOCK_UNITS` of them to a block. A row of `postings` has the
units of one block that contain one word: their places in the block (2 bytes each, ascending) and as many weights (1
byte: how often the unit has the word, weighted by where). Units that are added later are appended to it. A row of
`blocks` has the lengths of a block's units in words; a unit that was removed has length 0, and its postings stay until
most of its block is gone, when the rest moves to the last block (`postings_writer`).
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import repeat
from typing import NamedTuple

BLOCK_UNITS = 1 << 14
MAX_WEIGHT, MAX_LENGTH = 255, 65_535


class Word(NamedTuple):
    """A word of a question: how many units have it, and the blocks that they are in, ascending."""

    units: int
    text: str
    blocks: tuple[int, ...]


class PostingsReader:
    """The postings as of one commit: to be used inside `snapshot`.

    Attributes:
        blocks: Numbers of all blocks, ascending.
        units: Number of units that are not removed, at least 1.
        average: Their mean length, at least 1.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection
        rows = connection.execute("select id, units, words from blocks order by id").fetchall()
        self.blocks: tuple[int, ...] = tuple(row[0] for row in rows)
        self.units = max(sum(row[1] for row in rows), 1)
        self.average = max(sum(row[2] for row in rows) / self.units, 1.0)

    def word(self, text: str) -> Word:
        """Return what is known of a word; of one that is in no unit, 0 units."""
        rows = self._sql.execute(
            "select blocks.id, length(postings.weights) from blocks cross join postings"
            " on postings.block = blocks.id and postings.word = ? order by blocks.id",
            (text,),
        ).fetchall()
        return Word(sum(units for _, units in rows), text, tuple(block for block, _ in rows))

    def row(self, word: Word, block: int) -> tuple[bytes, bytes]:
        """Return a word's postings in one of its blocks: places [n] uint16, weights [n] uint8."""
        places, weights = self._sql.execute(
            "select places, weights from postings where block = ? and word = ?", (block, word.text)
        ).fetchone()
        return places, weights

    def lengths(self, block: int) -> bytes:
        """Return the lengths of a block's units, [n] uint16."""
        found: bytes = self._sql.execute("select lengths from blocks where id = ?", (block,)).fetchone()[0]
        return found


@contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """Read everything inside from one commit."""
    if connection.in_transaction:
        yield
        return
    connection.execute("begin")
    try:
        yield
    finally:
        connection.execute("commit")


def numbers(packed: bytes) -> Sequence[int]:
    """Return packed places or lengths as numbers; nothing is copied, because often few are read.

    Raises:
        sqlite3.DatabaseError: They are damaged.
    """
    try:
        return memoryview(packed).cast("H")
    except TypeError as error:
        raise damaged(error) from error


def damaged(error: Exception) -> sqlite3.DatabaseError:
    """Return the error of an index whose postings do not fit together."""
    return sqlite3.DatabaseError(f"the words of the index are damaged ({error})")


def units_with(connection: sqlite3.Connection, word: str) -> list[int]:
    """Return the units that have a word (a stem), removed ones too."""
    rows = connection.execute(
        "select blocks.id, postings.places from blocks cross join postings"
        " on postings.block = blocks.id and postings.word = ? order by blocks.id",
        (word,),
    )
    return [
        first + place
        for block, places in rows
        for first, place in zip(repeat(block * BLOCK_UNITS), numbers(places), strict=False)
    ]
