"""A question in plain words as a search query, and its candidate units: by words (BM25) and by defined names."""

import os
import re
import sqlite3
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from laguna_tui.repo.best_units import best_units
from laguna_tui.repo.identifiers import STOP_WORDS, looks_like_code, parts, stem, words

# More words do not make a question clearer, and each costs time.
MAX_WORDS = 32
_NAME = re.compile(r"[^\W\d]\w*(?:(?:\.|::|->)\w+)*(?P<call>\(\))?")
_SEPARATOR = re.compile(r"\.|::|->")
_QUOTED = re.compile(r"[`'\"]([^`'\"\s]+)[`'\"]")
_LIKE = re.compile("[!%_]")
_TESTING = frozenset(map(stem, ("test", "spec", "fixture", "mock")))


class SearchQuery(NamedTuple):
    """A parsed question.

    Attributes:
        words: Words to search for, in order, without stop words.
        stems: Stems of those words that are not joined names, for comparison with names.
        names: Last parts of code-like names, as written.
        qualified: Whole names of several parts, joined by "." in lower case.
        wants_tests: Whether the question is about tests.
    """

    words: tuple[str, ...]
    stems: frozenset[str]
    names: tuple[str, ...]
    qualified: tuple[str, ...]
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
        _qualified(text),
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
        last = _SEPARATOR.split(token)[-1]
        if alone or match["call"] or token in quoted or last != token or looks_like_code(token):
            names.append(last)
    return tuple(dict.fromkeys(names))


def _qualified(text: str) -> tuple[str, ...]:
    parted = (_SEPARATOR.split(match.group().removesuffix("()")) for match in _NAME.finditer(text))
    return tuple(dict.fromkeys(".".join(pieces).lower() for pieces in parted if len(pieces) > 1))


# Candidates taken by their words, and by their names.
BY_WORDS = 300
BY_NAME = 40
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
    defining = _by_name(connection, question)
    terms = list(dict.fromkeys(map(stem, question.words)))
    scores = best_units(connection, terms, BY_WORDS, defining)
    rows = _rows(connection, [*scores, *(unit for unit in defining if unit not in scores)])
    return [candidate._replace(bm25=scores.get(candidate.unit, 0.0)) for candidate in rows]


def known_paths(connection: sqlite3.Connection) -> dict[str, int]:
    """Return every file's id by its path."""
    return {os.fsdecode(path): file for path, file in connection.execute("select path, id from files")}


def candidates_at(connection: sqlite3.Connection, file: int, line: int) -> list[Candidate]:
    """Return the innermost unit at a line of a file, or the one after it; empty for a file without text."""
    row = connection.execute(
        "select id from units where file = ? order by (line <= ? and end >= ?) desc, abs(line - ?) limit 1",
        (file, line, line, line),
    ).fetchone()
    return _rows(connection, [row[0]]) if row else []


def _by_name(connection: sqlite3.Connection, question: SearchQuery) -> list[int]:
    """Units that define one of the names, in any case; those of a whole qualified name before its namesakes."""
    found: dict[int, None] = {}
    for name in question.names:
        endings = [f".{whole}" for whole in question.qualified if whole.rpartition(".")[2] == name.lower()]
        for ending in [*endings, ""]:
            rows = connection.execute(
                "select units.id from names join symbols on symbols.name = names.id"
                " join units on units.symbol = symbols.id"
                " where names.name in (?, ?, ?) and lower('.' || symbols.qualified) like ? escape '!' limit ?",
                (name, name.lower(), name[:1].upper() + name[1:], "%" + _LIKE.sub(r"!\g<0>", ending), BY_NAME),
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
