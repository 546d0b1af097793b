"""Updating an index: only changed files are read, in batches, between which it can be stopped.

A file is parsed again when it is new, its size or time changed, or its grammar changed.
"""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from laguna_tui.repo.files.relative_paths import is_secondary, is_test
from laguna_tui.repo.files.sensitive_paths import sensitive_reason
from laguna_tui.repo.files.walk import FileListing, walk
from laguna_tui.repo.search.file_parsing import ParsedFile, ParseTask
from laguna_tui.repo.search.index_database import is_full, max_pages, path_of
from laguna_tui.repo.search.index_state import IndexUpdate, Progress, changed_languages, note_grammars
from laguna_tui.repo.search.index_writer import IndexWriter
from laguna_tui.repo.search.parse_pool import ParseOutcome, parse_all
from laguna_tui.repo.syntax.languages import is_code
from laguna_tui.repo.syntax.tag_queries import language_name

# Length of a batch: others can read between batches, and a stop loses no more than one.
_COMMIT_S = 0.5
_TICK_NS = 2_000_000_000
# Deleted rows leave free pages that new rows fill; only a file of mostly free pages is worth a vacuum.
_VACUUM_SHARE = 0.5
_VACUUM_PAGES = 2_000


def update_index(
    connection: sqlite3.Connection,
    root: Path,
    progress: Progress,
    should_stop: Callable[[], bool],
    workers: int | None = None,
    listing: FileListing | None = None,
) -> IndexUpdate:
    """Bring the index up to date with the folder. The caller holds the write lock."""
    began = time.monotonic()
    listing = listing or walk(root, should_stop)
    tasks, gone = find_changed_files(connection, listing)
    tasks, left_out = drop_if_full(connection, tasks, gone)
    done = read = refused = 0
    disk_full = ""
    writer = IndexWriter(connection)
    try:
        if not should_stop():
            _drop(connection, writer, gone if listing.complete else [])
        for done_now, outcomes in _batched(parse_all(root, tasks, should_stop, workers)):
            refused += sum(outcome.refused for outcome in outcomes)
            read += _store(connection, writer, outcomes)
            done = done_now
            progress(min(done, len(tasks)), len(tasks))
        if listing.complete and not should_stop() and not left_out:
            note_grammars(connection)
        _tidy(connection, writer, read + len(gone))
    except sqlite3.OperationalError as error:
        path = path_of(connection)
        if not is_full(error, path):
            raise
        left_out += len(tasks) - done
        if path is not None and not is_at_limit(connection):
            disk_full = str(path.parent)
    complete = listing.complete and not should_stop()
    seconds = time.monotonic() - began
    counts = (len(listing.entries), read, len(gone), refused)
    return IndexUpdate(*counts, seconds, complete, left_out, disk_full, listing.unsearched)


def _batched(outcomes: Iterator[ParseOutcome]) -> Iterator[tuple[int, list[ParseOutcome]]]:
    held: list[ParseOutcome] = []
    done, due = 0, time.monotonic() + _COMMIT_S
    for outcome in outcomes:
        held.append(outcome)
        done += 1
        if time.monotonic() >= due:
            yield done, held
            held, due = [], time.monotonic() + _COMMIT_S
    if held:
        yield done, held


def _drop(connection: sqlite3.Connection, writer: IndexWriter, gone: Sequence[str]) -> None:
    if gone:
        with _transaction(connection):
            for path in gone:
                writer.drop(path)
            writer.flush()


def _store(connection: sqlite3.Connection, writer: IndexWriter, outcomes: Sequence[ParseOutcome]) -> int:
    """Write parsed files; returns how many were really new."""
    read = 0
    with _transaction(connection):
        for task, parsed, refused in outcomes:
            if refused:
                writer.put(task.path, ParsedFile(task.size, task.mtime_ns, None), task.mtime_ns)
            elif parsed is None:
                writer.drop(task.path)
            elif parsed.unchanged:
                writer.touch(task.path, parsed.size, _settled(parsed.mtime_ns))
            else:
                writer.put(task.path, parsed, _settled(parsed.mtime_ns))
                read += 1
        writer.flush()
    return read


def _settled(mtime_ns: int) -> int:
    """Return the time of change, or 0 if it is so recent that another change could have the same time."""
    return 0 if time.time_ns() - mtime_ns < _TICK_NS else mtime_ns


def _tidy(connection: sqlite3.Connection, writer: IndexWriter, changes: int) -> None:
    if not changes:
        return
    with _transaction(connection):
        writer.compact()
    pages, free = (connection.execute(f"pragma {name}").fetchone()[0] for name in ("page_count", "freelist_count"))
    if pages > _VACUUM_PAGES and free > pages * _VACUUM_SHARE:
        connection.execute("vacuum")
    connection.execute("pragma wal_checkpoint(passive)")


def _transaction(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Begin a transaction; as a context manager the connection commits it, or rolls it back on an exception."""
    connection.execute("begin immediate")
    return connection


# At this share of its pages the index is treated as full: a batch no longer fits.
_FULL_SHARE = 0.95


def find_changed_files(connection: sqlite3.Connection, listing: FileListing) -> tuple[list[ParseTask], list[str]]:
    """Return the files to parse, the most likely needed first, and the paths that are gone.

    Folder and index are merged in order, so that neither has to fit into memory twice.
    """
    rows = connection.execute("select path, size, mtime_ns, digest from files order by path")
    changed = changed_languages(connection)
    tasks: list[ParseTask] = []
    gone: list[bytes] = []
    row = next(rows, None)
    # The index compares bytes; names that are not UTF-8 sort elsewhere among characters.
    for key, entry in sorted(((os.fsencode(entry.path), entry) for entry in listing.entries), key=lambda pair: pair[0]):
        while row is not None and row[0] < key:
            gone.append(row[0])
            row = next(rows, None)
        known, row = (row, next(rows, None)) if row is not None and row[0] == key else (None, row)
        other = bool(changed) and language_name(entry.path) in changed
        if known is None or other or known[1:3] != (entry.size, entry.mtime_ns):
            if sensitive_reason(entry.path):
                continue  # no search may show its contents
            digest = known[3] if known and not other else None
            tasks.append(ParseTask(entry.path, digest, entry.size, entry.mtime_ns))
    gone += [path for path, *_ in ([row] if row else []) + rows.fetchall()]
    tasks.sort(key=lambda task: _unlikely(task.path))
    return tasks, [os.fsdecode(path) for path in gone]


def _unlikely(path: str) -> int:
    """Return the rank of a file in the order of indexing: code before tests, and those before data."""
    return 2 * (not is_code(path)) + (is_test(path) or is_secondary(path))


def drop_if_full(
    connection: sqlite3.Connection, tasks: list[ParseTask], gone: Sequence[str]
) -> tuple[list[ParseTask], int]:
    """Drop new files from the tasks while the index is full; returns the tasks and the number dropped."""
    if gone or not is_at_limit(connection):
        return tasks, 0
    known = {path for (path,) in connection.execute("select path from files")}
    kept = [task for task in tasks if os.fsencode(task.path) in known]
    return kept, len(tasks) - len(kept)


def is_at_limit(connection: sqlite3.Connection) -> bool:
    """Return whether the index uses nearly all the pages it may have."""
    used, free = (connection.execute(f"pragma {name}").fetchone()[0] for name in ("page_count", "freelist_count"))
    return bool(used - free >= max_pages() * _FULL_SHARE)
