"""A question in plain words as a search query, and its candidate units: by words (BM25) and by defined names."""

import os
import re
import sqlite3
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from laguna_tui.repo.identifiers import STOP_WORDS, looks_like_code, parts, stem, words

# More words do not make a question clearer, and each costs time.
MAX_WORDS = 32
_NAME = re.compile(r"[^\W\d]\w*(?:(?:\.|::|->)\w+)*(?P<call>\(\))?")
_QUOTED = re.compile(r"[`'\"]([^`'\"\s]+)[`'\"]")
_TESTING = frozenset({"test", "spec", "fixtur", "mock"})


class SearchQuery(NamedTuple):
    """A parsed question.

    Attributes:
        words: Words to search for, in order, without stop words.
        stems: Stems of those words that are not joined names, for comparison with names.
        names: Last parts of code-like names, as written.
        wants_tests: Whether the question is about tests.
    """

    words: tuple[str, ...]
    stems: frozenset[str]
    names: tuple[str, ...]
    wants_tests: bool


def parse_query(text: str) -> SearchQuery:
    """Parse a question; stop words are kept when there are no other words."""
    found = list(dict.fromkeys(words(text)))
    telling = [word for word in found if word not in STOP_WORDS and len(word) > 1] or found
    kept = tuple(telling[:MAX_WORDS])
    single = set(parts(text)) - STOP_WORDS
    return SearchQuery(
        kept,
        frozenset(stem(word) for word in kept if word in single),
        _names(text),
        not _TESTING.isdisjoint(map(stem, kept)),
    )


@lru_cache(maxsize=50_000)
def name_stems(name: str) -> frozenset[str]:
    """Return the stems of a name's words."""
    return frozenset(stem(part) for part in parts(name))


def _names(text: str) -> tuple[str, ...]:
    """Code-like names: with capitals or underscores inside, quoted, called, dotted, or the only word."""
    quoted = set(_QUOTED.findall(text))
    found = list(_NAME.finditer(text))
    alone = len(text.split()) == 1
    names = []
    for match in found:
        token = match.group().removesuffix("()")
        last = re.split(r"\.|::|->", token)[-1]
        if alone or match["call"] or token in quoted or last != token or looks_like_code(token):
            names.append(last)
    return tuple(dict.fromkeys(names))


# Candidates taken by their words, and by their names.
BY_WORDS = 150
BY_NAME = 40
# A word in more units than this separates them too little for the time it takes to score them all.
COMMON_UNITS = 1_500
# Total units of the searched words; the rarest words come first.
SCORED_UNITS = 3_000
_COLUMN_WEIGHTS = (4.0, 2.0, 1.0)  # title, path, body
_ROW = """
    select units.id, files.id, files.path, units.title, units.line, units.end, units.spans,
        coalesce(names.name, ''), coalesce(symbols.kind, ''), coalesce(symbols.signature, ''),
        files.exact, coalesce(symbols.body >= symbols.stop and substr(symbols.signature, 1, 1) != '#', 0)
    from units join files on files.id = units.file
    left join symbols on symbols.id = units.symbol left join names on names.id = symbols.name
"""


class Candidate(NamedTuple):
    """A unit with its location.

    Attributes:
        exact: Whether a grammar parsed its file.
        bare: Whether its definition has no body.
        bm25: Higher for better matches, 0 when no word matched.
    """

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
    exact: bool
    bare: bool
    bm25: float = 0.0


def find_candidates(connection: sqlite3.Connection, question: SearchQuery) -> list[Candidate]:
    """Return units whose words match, best first, and those that define one of the question's names."""
    match = _match(connection, question.words)
    scores = dict(_by_words(connection, match)) if match else {}
    defining = [unit for unit in _by_name(connection, question.names) if unit not in scores]
    if match and defining:
        scores |= _by_words(connection, match, defining)
    rows = _rows(connection, [*scores, *(unit for unit in defining if unit not in scores)])
    return [candidate._replace(bm25=scores.get(candidate.unit, 0.0)) for candidate in rows]


def _match(connection: sqlite3.Connection, words: Sequence[str]) -> str:
    """The words worth scoring, as an FTS5 expression; empty when no unit has any of them."""
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
    # Only common words: units that have all of them.
    return " AND ".join(f'"{word}"' for _, word in counted)


def _units_with(connection: sqlite3.Connection, word: str) -> int:
    """Number of units with a word, counted up to `COMMON_UNITS`."""
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
    """Units that define one of the names, in any case."""
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
