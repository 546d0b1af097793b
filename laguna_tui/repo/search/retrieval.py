"""A question in plain words as a search query, and its candidate units: by words (BM25) and by defined names."""

import os
import re
import sqlite3
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from laguna_tui.repo.search.best_units import best_units
from laguna_tui.repo.search.identifiers import STOP_WORDS, looks_like_code, parts, question_words, stem
from laguna_tui.repo.search.short_forms import in_full, other_forms

# More words do not make a question clearer, and each costs time.
MAX_WORDS = 32
# Words of a question in which names that are spelled out are looked for, and the most words of one.
_SPELLED_IN, _SPELLED_WORDS = 64, 8
_NAME = re.compile(r"[^\W\d]\w*(?:(?:\.|::|->)\w+)*(?P<call>\(\))?")
_SEPARATOR = re.compile(r"\.|::|->")
_QUOTED = re.compile(r"[`'\"]([^`'\"\s]+)[`'\"]")
_LIKE = re.compile("[!%_]")
_TESTING = frozenset(map(stem, ("test", "spec", "fixture", "mock")))


class SearchQuery(NamedTuple):
    """A parsed question.

    Attributes:
        words: Words to search for, in order, without stop words.
        stems: Stems of those words that are not joined names, short forms in full, as `name_stems` has them.
        names: Last parts of code-like names, as written.
        qualified: Whole names of several parts, joined by "." in lower case.
        spelled: Stems of every few words that stand side by side, joined by a blank: names spelled out in words.
        wants_tests: Whether the question is about tests.
    """

    words: tuple[str, ...]
    stems: frozenset[str]
    names: tuple[str, ...]
    qualified: tuple[str, ...]
    spelled: frozenset[str]
    wants_tests: bool


def parse_query(text: str) -> SearchQuery:
    """Parse a question; stop words are kept when there are no other words."""
    kept = tuple(dict.fromkeys(question_words(text)))[:MAX_WORDS]
    single = set(parts(text)) - STOP_WORDS
    return SearchQuery(
        kept,
        frozenset(in_full(stem(word)) for word in kept if word in single),
        _names(text),
        _qualified(text),
        _spelled(text),
        not _TESTING.isdisjoint(map(stem, kept)),
    )


@lru_cache(maxsize=50_000)
def name_stems(name: str) -> frozenset[str]:
    """Return the stems of a name's words, short forms in full."""
    return frozenset(in_full(stem(part)) for part in parts(name))


@lru_cache(maxsize=50_000)
def spelled_out(name: str) -> str:
    """Return a name as `SearchQuery.spelled` has it."""
    return " ".join(map(stem, parts(name)))


def _names(text: str) -> tuple[str, ...]:
    """Return code-like names: with capitals or underscores inside, quoted, called, dotted, or the only word."""
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


def _spelled(text: str) -> frozenset[str]:
    found = list(map(stem, parts(text)[:_SPELLED_IN]))
    return frozenset(
        " ".join(found[at : at + length])
        for length in range(2, _SPELLED_WORDS + 1)
        for at in range(len(found) - length + 1)
    )


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
_NAMED = """ names.name in (?, ?, ?) and lower('.' || symbols.qualified) like ? escape '!' limit ?"""
_DEFINING = f"""
    select units.id, '' from names join symbols on symbols.name = names.id join units on units.symbol = symbols.id
    where {_NAMED}
"""
# Constants, fields and functions in functions are not units; the innermost unit around one holds it.
_HOLDING = f"""
    select units.id, names.name from names join symbols on symbols.name = names.id join units on units.id = (
        select around.id from units around
        where around.file = symbols.file and around.line <= symbols.line and around.end >= symbols.line
        order by around.end - around.line limit 1)
    where not exists (select 1 from units where units.symbol = symbols.id) and {_NAMED}
"""


class UnitCandidate(NamedTuple):
    """A unit with its location.

    Attributes:
        exact: Whether a grammar parsed its file.
        bare: Whether its definition has no body.
        bm25: Higher for better matches, 0 when no word matched.
        inner: A name of the question that is defined inside of it, in no unit of its own.
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
    inner: str = ""


def find_candidates(connection: sqlite3.Connection, question: SearchQuery) -> list[UnitCandidate]:
    """Return units whose words match, best first, and those that define one of the question's names."""
    defining = _by_name(connection, question)
    terms = dict.fromkeys(map(stem, question.words))
    others = {form: term for term in terms for form in other_forms(term) if form not in terms}
    scores = best_units(connection, [*terms, *others], BY_WORDS, list(defining), others)
    rows = _rows(connection, [*scores, *(unit for unit in defining if unit not in scores)])
    return [
        candidate._replace(bm25=scores.get(candidate.unit, 0.0), inner=defining.get(candidate.unit, ""))
        for candidate in rows
    ]


def known_paths(connection: sqlite3.Connection) -> dict[str, int]:
    return {os.fsdecode(path): file for path, file in connection.execute("select path, id from files")}


def candidates_at(connection: sqlite3.Connection, file: int, line: int) -> list[UnitCandidate]:
    """Return the innermost unit at a line of a file, or the one after it; empty for a file without text."""
    row = connection.execute(
        "select id from units where file = ? order by (line <= ? and end >= ?) desc, abs(line - ?) limit 1",
        (file, line, line, line),
    ).fetchone()
    return _rows(connection, [row[0]]) if row else []


def _by_name(connection: sqlite3.Connection, question: SearchQuery) -> dict[int, str]:
    """Return the units that define one of the names, in any case, and the name where it is defined inside of the unit.

    Those of a whole qualified name come before its namesakes, and units of a name's own before those that hold it.
    """
    found: dict[int, str] = {}
    for name in question.names:
        endings = [f".{whole}" for whole in question.qualified if whole.rpartition(".")[2] == name.lower()]
        for ending in [*endings, ""]:
            wanted = (name, name.lower(), name[:1].upper() + name[1:], "%" + _LIKE.sub(r"!\g<0>", ending), BY_NAME)
            rows = connection.execute(_DEFINING, wanted).fetchall()
            if len(rows) < BY_NAME:
                rows += connection.execute(_HOLDING, wanted)
            for unit, inner in rows:
                found.setdefault(unit, inner)
    return dict(islice(found.items(), BY_NAME))


def _rows(connection: sqlite3.Connection, units: Sequence[int]) -> list[UnitCandidate]:
    chosen = ",".join(map(str, units))
    by_unit = {
        row[0]: UnitCandidate(row[0], row[1], os.fsdecode(row[2]), *row[3:])
        for row in connection.execute(f"{_ROW} where units.id in ({chosen})")
    }
    return [by_unit[unit] for unit in units if unit in by_unit]
