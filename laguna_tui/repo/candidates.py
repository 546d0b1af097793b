"""The units that a question could mean, from the index: by words (BM25) and by defined names.

Source of BM25: Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009), as SQLite's FTS5 computes it,
with a weight for each column.
"""

import os
import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from laguna_tui.repo.question import Question

# Of the units with the best words, so many are looked at closely.
BY_WORDS = 150
BY_NAME = 40
# A word in more units than this tells them apart too little for the time it takes to score them all.
COMMON_UNITS = 1_500
# Together, the words that are looked for may be in so many units; the rarest words come first.
SCORED_UNITS = 3_000
_COLUMN_WEIGHTS = (4.0, 2.0, 1.0)  # title, path, body
_ROW = """
    select units.id, files.id, files.path, units.title, units.line, units.end, units.spans,
        coalesce(names.name, ''), coalesce(symbols.kind, ''), coalesce(symbols.signature, '')
    from units join files on files.id = units.file
    left join symbols on symbols.id = units.symbol left join names on names.id = symbols.name
"""


class Candidate(NamedTuple):
    """A unit with what its place says; `bm25` is higher for better matches, 0 when no word was found."""

    unit: int
    file: int
    path: str
    title: str
    line: int
    end: int
    spans: str
    name: str
    kind: str
    signature: str
    bm25: float = 0.0


def candidates(connection: sqlite3.Connection, question: Question) -> list[Candidate]:
    """Units whose words match, best first, and those that define one of the question's names."""
    match = _match(connection, question.words)
    scores = dict(_by_words(connection, match)) if match else {}
    defining = [unit for unit in _by_name(connection, question.names) if unit not in scores]
    if match and defining:
        scores |= _by_words(connection, match, defining)
    rows = _rows(connection, [*scores, *(unit for unit in defining if unit not in scores)])
    return [candidate._replace(bm25=scores.get(candidate.unit, 0.0)) for candidate in rows]


def _match(connection: sqlite3.Connection, words: Sequence[str]) -> str:
    """The words worth scoring, as an FTS5 expression; nothing when no unit has any of them."""
    counted = sorted((count, word) for word in words if (count := _units_with(connection, word)))
    if not counted:
        return ""
    chosen, total = [], 0
    for count, word in counted:
        total += count
        if count < COMMON_UNITS and total <= SCORED_UNITS:
            chosen.append(word)
    if chosen:
        return " OR ".join(f'"{word}"' for word in chosen)
    # Only words that are everywhere: units that have all of them.
    return " AND ".join(f'"{word}"' for _, word in counted)


def _units_with(connection: sqlite3.Connection, word: str) -> int:
    """How many units have a word, counted up to where it is common."""
    counted = "select count(*) from (select rowid from search where search match ? limit ?)"
    return int(connection.execute(counted, (f'"{word}"', COMMON_UNITS)).fetchone()[0])


def _by_words(connection: sqlite3.Connection, match: str, only: Sequence[int] | None = None) -> list[tuple[int, float]]:
    """Unit and score of the best matches, or of the given units alone."""
    among = "" if only is None else f" and rowid in ({','.join(map(str, only))})"
    weights = ", ".join(map(str, _COLUMN_WEIGHTS))
    found = connection.execute(
        f"select rowid, bm25(search, {weights}) as score from search where search match ?{among}"
        " order by score limit ?",
        (match, BY_WORDS),
    )
    return [(unit, -score) for unit, score in found]


def _by_name(connection: sqlite3.Connection, names: Sequence[str]) -> list[int]:
    """Units that are the definition of one of the names, whatever its case."""
    found: dict[int, None] = {}
    for name in names:
        rows = connection.execute(
            "select units.id from names join symbols on symbols.name = names.id join units on units.symbol = symbols.id"
            " where names.name in (?, ?, ?) limit ?",
            (name, name.lower(), name[:1].upper() + name[1:], BY_NAME),
        )
        found |= dict.fromkeys(unit for (unit,) in rows)
    return list(found)[:BY_NAME]


def _rows(connection: sqlite3.Connection, units: Sequence[int]) -> list[Candidate]:
    chosen = ",".join(map(str, units))
    by_unit = {
        row[0]: Candidate(row[0], row[1], os.fsdecode(row[2]), *row[3:])
        for row in connection.execute(f"{_ROW} where units.id in ({chosen})")
    }
    return [by_unit[unit] for unit in units if unit in by_unit]
