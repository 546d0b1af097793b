"""The best known symbols of a folder: what a question about its code can be about without a doubt which is meant."""

import os
import sqlite3
from typing import NamedTuple

from laguna_tui.repo.files.relative_paths import is_prose, is_secondary, is_test
from laguna_tui.repo.search.identifiers import looks_like_code
from laguna_tui.repo.search.reference_graph import name_weight

# A longer name does not fit into one line of a narrow terminal with a question around it.
_LONGEST_NAME = 24
_ONCE = "(select name from symbols group by name having count(*) = 1)"
_DEFINED_ONCE = f"""
select names.name, kind, files.path from symbols
join names on names.id = symbols.name join files on files.id = symbols.file
where kind != 'variable' and length(names.name) <= ? and symbols.name in {_ONCE}
"""
_USERS = f"""
select names.name, files.path from refs join names on names.id = refs.name join files on files.id = refs.file
where refs.name in {_ONCE}
"""


class WellKnownSymbol(NamedTuple):
    """A symbol that is defined once, in code.

    Attributes:
        name: its name.
        is_type: whether it is a class or another type, not a function.
        path: the file that defines it.
        users: how many other files of code use it.
        tests: how many tests use it.
    """

    name: str
    is_type: bool
    path: str
    users: int
    tests: int


def well_known_symbols(connection: sqlite3.Connection, limit: int) -> list[WellKnownSymbol]:
    """Return the symbols that the most files use, at most one of each file, best first."""
    found = {
        name: (kind, path)
        for name, kind, path in _decoded(connection.execute(_DEFINED_ONCE, (_LONGEST_NAME,)))
        if looks_like_code(name) and not name.startswith("_") and _is_code(path)
    }
    users, tests = dict.fromkeys(found, 0), dict.fromkeys(found, 0)
    for name, path in _decoded(connection.execute(_USERS)):
        if name in found and path != found[name][1]:
            if is_test(path):
                tests[name] += 1
            elif _is_code(path):
                users[name] += 1
    best: dict[str, WellKnownSymbol] = {}
    for name in sorted(found, key=lambda name: (-(users[name] + tests[name]) * name_weight(name), name)):
        kind, path = found[name]
        best.setdefault(path, WellKnownSymbol(name, kind == "type", path, users[name], tests[name]))
    return list(best.values())[:limit]


def _decoded(rows: sqlite3.Cursor) -> "list[tuple[str, ...]]":
    """Return rows whose last value is a path."""
    return [(*row[:-1], os.fsdecode(row[-1])) for row in rows]


def _is_code(path: str) -> bool:
    return not (is_test(path) or is_secondary(path) or is_prose(path))
