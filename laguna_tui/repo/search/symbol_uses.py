"""The uses of a name: every line that has it as code, with the definition around the line.

The index names the files that have the name's words; these are read as they are now, so that lines are right even where
the index is not. Comments, strings and text that is no code are no uses, nor is the line that defines the name.
"""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from laguna_tui.repo.files.relative_paths import is_secondary, is_test
from laguna_tui.repo.files.root_folder import RootFolder
from laguna_tui.repo.files.text_files import lines_below
from laguna_tui.repo.search.identifiers import stems
from laguna_tui.repo.search.postings import units_with
from laguna_tui.repo.syntax.analysis import file_outline, lines_with_name

# Seconds of the processor for the grammars. In the files after that, line patterns tell code from comments, and which
# definition is around a line: they take less time, and miss uses inside strings.
_PARSING_S = 0.1
# Every build of SQLite takes this many values in one query.
_UNITS_AT_ONCE = 500


class Use(NamedTuple):
    """One line that uses a name; `symbol` is the innermost definition around it, empty outside of all."""

    path: str
    line: int
    symbol: str
    code: str


def find_uses(
    connection: sqlite3.Connection,
    root: Path,
    wanted: str,
    limit: int = 20,
    should_stop: Callable[[], bool] = lambda: False,
) -> list[Use]:
    """Return the lines that use a name, by path and line: code first, then old and copied code, then tests.

    Args:
        connection: An index.
        root: Its folder.
        wanted: A name; of a dotted one the last part.
        limit: Most lines; no more files are read once there are as many.
        should_stop: Polled before each file; what was found so far is returned.
    """
    name = wanted.replace("::", ".").rpartition(".")[2].strip()
    found: list[Use] = []
    left = _PARSING_S
    with RootFolder(root) as tree:
        for path in sorted(files_with(connection, name) or (), key=code_first):
            if len(found) >= limit or should_stop():
                break
            lines, began = lines_below(tree, path), time.thread_time()
            uses = list(_uses_in(path, lines, name, left))
            took = time.thread_time() - began
            # A file that takes longer is not parsed to its end.
            found += uses if took < left or not left else _uses_in(path, lines, name, 0.0)
            left = max(left - took, 0.0)
    return found[:limit]


def code_first(path: str) -> tuple[bool, bool, str]:
    """Return the sort key of a path: code, then old and copied code and stubs, then tests."""
    return is_test(path), is_secondary(path), path


def files_with(connection: sqlite3.Connection, name: str) -> set[str] | None:
    """Return the files in which all words of a name stand together; None if the index has no word of it."""
    words = stems(name)
    if not words:
        return None
    found: set[str] = set()
    # The last one is the joined name.
    units = units_with(connection, words[-1])
    for at in range(0, len(units), _UNITS_AT_ONCE):
        chosen = ",".join(map(str, units[at : at + _UNITS_AT_ONCE]))
        rows = connection.execute(
            f"select distinct path from units join files on files.id = units.file where units.id in ({chosen})"
        )
        found.update(os.fsdecode(path) for (path,) in rows)
    return found


def _uses_in(path: str, lines: list[str], name: str, limit_s: float) -> Iterator[Use]:
    if not any(name in line for line in lines):
        return
    rows = sorted(lines_with_name(path, lines, name, limit_s))
    if not rows:
        return
    for line, around in zip(rows, file_outline(path, lines, limit_s).enclosing(rows), strict=True):
        if not any(each.line == line and each.name == name for each in around):
            yield Use(path, line, around[-1].name if around else "", lines[line - 1].strip())
