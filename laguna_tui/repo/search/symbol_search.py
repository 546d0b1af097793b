"""Finding definitions by name: exactly, then by fuzzy matching (`fuzzy.FuzzyMatch`)."""

import os
import sqlite3
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from laguna_tui.repo.files.relative_paths import is_test
from laguna_tui.repo.search.fuzzy import folded, fuzzy_match
from laguna_tui.repo.syntax.languages import DefinitionKind

if TYPE_CHECKING:
    from laguna_tui.repo.syntax.outline import Outline

# Names compared letter by letter; more would take longer than the time between two keystrokes.
_NAMES_COMPARED = 20_000
_LETTERS_COMPARED = 32
_EXACT = 0
# Longer than any scope; SQLite refuses much longer patterns.
_SCOPE_CHARS = 2_000
# C and C++ declare a function in one place and define it in another.
_PROTOTYPE = "kind = 'function' and body = stop and language in ('c', 'cpp')"
_COLUMNS = f"names.name, qualified, kind, path, line, end, start, stop, signature, {_PROTOTYPE}"
_JOINED = "names join symbols on symbols.name = names.id join files on files.id = symbols.file"


class SymbolMatch(NamedTuple):
    """One definition: where it is, and how well its name matches (0 is best).

    `line` is that of the name; `start` and `stop` are characters of the decoded text, with leading comments. Of a
    `prototype` only the head is here, as in C's headers.
    """

    name: str
    qualified: str
    kind: str
    path: str
    line: int
    end: int
    start: int
    stop: int
    signature: str
    prototype: bool
    distance: int


def find_symbols(connection: sqlite3.Connection, wanted: str, limit: int = 20) -> list[SymbolMatch]:
    """Return definitions with a matching name, best first; of a dotted name the last part is matched.

    Letters in the name's order match too: `strpars` matches `StreamParser`.
    """
    scopes, last = _parted(wanted)
    fitting = _fitting(connection, last, limit * 4)
    if not fitting:
        return []
    best = sorted(fitting, key=lambda name: (fitting[name], len(name), name))[: limit * 4]
    found = _defining(connection, best, fitting)
    suffix = f"{scopes}.{last}".lower() if scopes else ""
    found.sort(
        key=lambda d: (suffix not in d.qualified.lower(), d.distance, is_test(d.path), len(d.name), d.path, d.line)
    )
    return found[:limit]


def definitions_of(connection: sqlite3.Connection, wanted: str) -> list[SymbolMatch]:
    """Return every definition of exactly this name, by path and line; outer scopes of a dotted name may be left out."""
    scopes, last = _parted(wanted)
    whole = f".{scopes}.{last}" if scopes else f".{last}"
    found = [d for d in _defining(connection, [last], {}) if f".{d.qualified}".endswith(whole)]
    return sorted(found, key=lambda d: (d.path, d.line))


def named(connection: sqlite3.Connection, names: Sequence[str]) -> list[SymbolMatch]:
    """Return every definition of these names, by path and line."""
    return sorted(_defining(connection, list(map(_storable, names)), {}), key=lambda d: (d.path, d.line))


def members_of(connection: sqlite3.Connection, scope: str, limit: int = 20) -> list[SymbolMatch]:
    """Return the definitions directly inside a scope of this name, by path and line."""
    plain = _storable(scope).replace("::", ".")
    if len(plain) > _SCOPE_CHARS:
        return []
    inside = "".join(f"[{letter}]" if letter in "*?[" else letter for letter in plain)
    rows = connection.execute(
        f"select {_COLUMNS} from symbols join names on names.id = symbols.name join files on files.id = symbols.file"
        " where qualified glob ? or qualified glob ? order by path, line limit ?",
        (f"{inside}.*", f"*.{inside}.*", limit),
    )
    return [_made(row, _EXACT) for row in rows]


def with_signature(connection: sqlite3.Connection, kind: DefinitionKind, containing: str = "") -> list[SymbolMatch]:
    """Return every definition of a kind whose signature contains a text, by path and line."""
    rows = connection.execute(
        f"select {_COLUMNS} from symbols join names on names.id = symbols.name join files on files.id = symbols.file"
        " where kind = ? and instr(signature, ?) order by path, line",
        (kind.value, _storable(containing)),
    )
    return [_made(row, _EXACT) for row in rows]


def outline_of(connection: sqlite3.Connection, path: str) -> "Outline":
    """Return the definitions of a file as of its last scan."""
    # Imported late: it loads the grammars' tables, which a search does not need.
    from laguna_tui.repo.syntax.outline import Definition, Outline

    rows = connection.execute(
        f"select names.name, kind, line, end, {_PROTOTYPE} from symbols join names on names.id = symbols.name"
        " join files on files.id = symbols.file where path = ? order by line",
        (os.fsencode(path),),
    )
    return Outline(
        tuple(Definition(name, DefinitionKind(kind), line, end, bool(bare)) for name, kind, line, end, bare in rows)
    )


def binary_paths(connection: sqlite3.Connection) -> frozenset[str]:
    """Return the files that were read and contain no text."""
    rows = connection.execute("select path from files where digest is not null and not text")
    return frozenset(os.fsdecode(path) for (path,) in rows)


def _storable(wanted: str) -> str:
    """Return a name as SQLite takes it: a program's arguments may have bytes that are not text."""
    return wanted.encode("utf-8", errors="replace").decode("utf-8")


def _parted(wanted: str) -> tuple[str, str]:
    """Return the scopes and the last part of a name, dotted or with "::"."""
    scopes, _, last = _storable(wanted).replace("::", ".").rpartition(".")
    return scopes, last


def _defining(connection: sqlite3.Connection, names: Sequence[str], distances: Mapping[str, int]) -> list[SymbolMatch]:
    marks = ",".join("?" * len(names))
    rows = connection.execute(f"select {_COLUMNS} from {_JOINED} where names.name in ({marks})", names)
    return [_made(row, distances.get(row[0], _EXACT)) for row in rows]


def _made(row: tuple[Any, ...], distance: int) -> SymbolMatch:
    return SymbolMatch._make((*row[:3], os.fsdecode(row[3]), *row[4:], distance))


def _fitting(connection: sqlite3.Connection, wanted: str, enough: int) -> dict[str, int]:
    """Return matching names with their distance; names that only contain the letters if too few begin with them."""
    letters = folded(wanted)
    if not letters:
        return {}
    liked = [f"!{letter}" if letter in "!%_" else letter for letter in letters[:_LETTERS_COMPARED]]
    beginning = "".join(liked) + "%"
    names = _names_like(connection, beginning) | _names_like(connection, "!_" + beginning)
    if len(names) < enough:
        # The query excludes most names before they reach Python.
        names |= _names_like(connection, "%" + "%".join(liked) + "%")
    fits = {name: fuzzy_match(name, letters) for name in names}
    return {name: _EXACT if name == wanted else 1 + found for name, found in fits.items() if found is not None}


def _names_like(connection: sqlite3.Connection, pattern: str) -> set[str]:
    rows = connection.execute(
        "select name from names where name like ? escape '!' and exists"
        " (select 1 from symbols where symbols.name = names.id) limit ?",
        (pattern, _NAMES_COMPARED),
    )
    return {name for (name,) in rows}
