"""What an index lacks: files that are new, changed or read differently by another grammar, and those that are gone.

Compares sizes and times of change; reads no file. Knows how far the index is from its size limit.
"""

import json
import os
import sqlite3
from collections.abc import Sequence

from laguna_tui.repo.files import Listing
from laguna_tui.repo.grammars import fingerprints, language_name
from laguna_tui.repo.languages import language_of
from laguna_tui.repo.parsing import Task
from laguna_tui.repo.paths import is_aside, is_test
from laguna_tui.repo.store import max_pages

# What is written at a stroke does not fit any more when so much of the room is used.
_FULL_SHARE = 0.95


def differences(connection: sqlite3.Connection, listing: Listing) -> tuple[list[Task], list[str]]:
    """Files to read, the likeliest to be asked for first, and paths that are gone.

    Folder and index are gone through side by side: neither has to fit into memory twice.
    """
    rows = connection.execute("select path, size, mtime_ns, digest from files order by path")
    anew = _languages_to_parse_anew(connection)
    tasks: list[Task] = []
    gone: list[bytes] = []
    row = next(rows, None)
    # The index compares bytes; names that are no UTF-8 stand elsewhere among characters.
    for key, entry in sorted(((os.fsencode(entry.path), entry) for entry in listing.entries), key=lambda pair: pair[0]):
        while row is not None and row[0] < key:
            gone.append(row[0])
            row = next(rows, None)
        known, row = (row, next(rows, None)) if row is not None and row[0] == key else (None, row)
        other = bool(anew) and language_name(entry.path) in anew
        if known is None or other or known[1:3] != (entry.size, entry.mtime_ns):
            digest = known[3] if known and not other else None
            tasks.append(Task(entry.path, digest, entry.size, entry.mtime_ns))
    gone += [path for path, *_ in ([row] if row else []) + rows.fetchall()]
    tasks.sort(key=lambda task: _unlikely(task.path))
    return tasks, [os.fsdecode(path) for path in gone]


def _unlikely(path: str) -> int:
    """How unlikely it is that somebody asks for a file, from 0: code comes before tests, and those before data."""
    return 2 * (language_of(path) is None) + (is_test(path) or is_aside(path))


def that_fit(connection: sqlite3.Connection, tasks: list[Task], gone: Sequence[str]) -> tuple[list[Task], int]:
    """The tasks without new files while the index is full and nothing leaves it, and how many those are."""
    if gone or not is_at_limit(connection):
        return tasks, 0
    kept = [task for task in tasks if _is_known(connection, task.path)]
    return kept, len(tasks) - len(kept)


def is_at_limit(connection: sqlite3.Connection) -> bool:
    """Whether the index has as good as all the pages that it may have."""
    used, free = (connection.execute(f"pragma {name}").fetchone()[0] for name in ("page_count", "freelist_count"))
    return bool(used - free >= max_pages() * _FULL_SHARE)


def _is_known(connection: sqlite3.Connection, path: str) -> bool:
    return connection.execute("select 1 from files where path = ?", (os.fsencode(path),)).fetchone() is not None


def _languages_to_parse_anew(connection: sqlite3.Connection) -> frozenset[str]:
    """Languages whose grammar or queries are others than those that the index was made with."""
    row = connection.execute("select value from meta where key = 'grammars'").fetchone()
    if row is None:
        note_grammars(connection)  # a new index: nothing in it is older
        return frozenset()
    before: dict[str, str] = json.loads(row[0])
    return frozenset(name for name, now in fingerprints().items() if before.get(name) != now)


def note_grammars(connection: sqlite3.Connection) -> None:
    """Say in the index that everything in it was parsed by the grammars that are installed now."""
    noted = json.dumps(dict(fingerprints()))
    connection.execute("insert or replace into meta (key, value) values ('grammars', ?)", (noted,))
