"""Finding definitions by name: as it is written, then in any case, then by its beginning, then by its letters."""

import os
import sqlite3
from typing import NamedTuple

from laguna_tui.repo.paths import is_test

# So many names are compared letter by letter; more would take longer than a person waits between two keys.
_NAMES_COMPARED = 200_000
_EXACT, _SAME_LETTERS, _BEGINS, _CONTAINS, _SCATTERED = range(5)


class Definition(NamedTuple):
    """One definition: where it is, and how well its name fits (0 is best)."""

    name: str
    qualified: str
    kind: str
    path: str
    line: int
    end: int
    start: int
    stop: int
    signature: str
    distance: int


def find_symbols(connection: sqlite3.Connection, wanted: str, limit: int = 20) -> list[Definition]:
    """Definitions whose name fits, best first; of a dotted name, the last part counts and the others decide.

    Letters that stand in the name in this order fit too: `strpars` fits `StreamParser`.
    """
    scopes, _, last = wanted.replace("::", ".").rpartition(".")
    fitting = _fitting(connection, last)
    if not fitting:
        return []
    best = sorted(fitting, key=lambda name: (fitting[name], len(name), name))[: limit * 4]
    marks = ",".join("?" * len(best))
    rows = connection.execute(
        "select names.name, qualified, kind, path, line, end, start, stop, signature from names"
        " join symbols on symbols.name = names.id join files on files.id = symbols.file"
        f" where names.name in ({marks})",
        best,
    )
    found = [Definition._make((*row[:3], os.fsdecode(row[3]), *row[4:], fitting[row[0]])) for row in rows]
    suffix = f"{scopes}.{last}".lower() if scopes else ""
    found.sort(
        key=lambda d: (suffix not in d.qualified.lower(), d.distance, is_test(d.path), len(d.name), d.path, d.line)
    )
    return found[:limit]


def binary_paths(connection: sqlite3.Connection) -> frozenset[str]:
    """Files that were read and hold no text."""
    rows = connection.execute("select path from files where digest is not null and length(packed) = 0")
    return frozenset(os.fsdecode(path) for (path,) in rows)


def _fitting(connection: sqlite3.Connection, wanted: str) -> dict[str, int]:
    """Defined names that fit, with their distance."""
    lower = wanted.lower().replace("_", "")
    if not lower:
        return {}
    # The first letter rules most names out before they reach Python.
    rows = connection.execute(
        "select name from names where name like ? escape '!' and exists"
        " (select 1 from symbols where symbols.name = names.id) limit ?",
        ("%" + "%".join(f"!{letter}" if letter in "!%_" else letter for letter in lower[:32]) + "%", _NAMES_COMPARED),
    )
    return {name: _distance(name, wanted, lower) for (name,) in rows}


def _distance(name: str, wanted: str, lower: str) -> int:
    small = name.lower().replace("_", "")
    if name == wanted:
        return _EXACT
    if small == lower:
        return _SAME_LETTERS
    if small.startswith(lower):
        return _BEGINS
    return _CONTAINS if lower in small else _SCATTERED
