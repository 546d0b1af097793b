"""Bringing an index up to date with its folder: only what changed is read, in batches that can be stopped between.

A file counts as unchanged when size and time of change are what they were; one that was changed moments before it was
read is looked at again, because a second change within the clock's tick would leave no trace.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from laguna_tui.repo.differences import differences, is_at_limit, note_grammars, that_fit
from laguna_tui.repo.files import Listing, walk
from laguna_tui.repo.parsing import Parsed
from laguna_tui.repo.pool import Outcome, parse_all
from laguna_tui.repo.store import is_full, path_of
from laguna_tui.repo.writer import Writer

Progress = Callable[[int, int], None]
"""Called with files done and files to do."""
# What is written at a stroke: others can read in between, and a stop loses no more than this.
_COMMIT_S = 0.5
_TICK_NS = 2_000_000_000
# Deleting rows leaves room that new ones fill; only a file that is mostly room is worth writing anew.
_VACUUM_SHARE = 0.5
_VACUUM_PAGES = 2_000


@dataclass(frozen=True, slots=True)
class Update:
    """What an update did.

    Attributes:
        files: in the folder; read: parsed anew; dropped: gone from the folder; refused: that ended their parser.
        complete: False when the user stopped it, or there were more files than are looked at.
        left_out: files that are not in the index because it reached its size limit, or the disk is full.
        disk_full: the folder on a disk that was full, empty if none was; with room there, the next update goes on.
    """

    files: int
    read: int
    dropped: int
    refused: int
    seconds: float
    complete: bool = True
    left_out: int = 0
    disk_full: str = ""

    @property
    def full(self) -> bool:
        """Whether the index reached its size limit."""
        return self.left_out > 0 and not self.disk_full

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about it, as sentences."""
        notes = []
        if self.disk_full:
            what = f"{self.left_out:,} of {self.files:,} files are not in the index yet"
            what = what if self.left_out else "the index is not ranked anew"
            notes.append(
                f"the disk is full: {what}; free some space for {self.disk_full}, and it is completed with the next"
                " look at the folder"
            )
        if self.full:
            notes.append(
                f"the index is full: {self.left_out:,} of {self.files:,} files are not in it; index a smaller folder"
            )
        if not self.complete:
            notes.append(f"only the first {self.files:,} files were looked at; start in a smaller folder")
        if self.refused:
            notes.append(f"{self.refused} files could not be parsed and are known by name only")
        return tuple(notes)


def update(
    connection: sqlite3.Connection,
    root: Path,
    progress: Progress,
    should_stop: Callable[[], bool],
    workers: int | None = None,
    listing: Listing | None = None,
) -> Update:
    """Make the index say what the folder says. The caller holds the write lock."""
    began = time.monotonic()
    listing = listing or walk(root, should_stop)
    tasks, gone = differences(connection, listing)
    tasks, left_out = that_fit(connection, tasks, gone)
    done = read = refused = 0
    disk_full = ""
    writer = Writer(connection)
    try:
        if not should_stop():
            _drop(connection, writer, gone if listing.complete else [])
        for done_now, outcomes in _gathered(parse_all(root, tasks, should_stop, workers)):
            refused += sum(outcome.refused for outcome in outcomes)
            read += _store(connection, writer, outcomes)
            done = done_now
            progress(min(done, len(tasks)), len(tasks))
        if listing.complete and not should_stop() and not left_out:
            note_grammars(connection)
        _tidy(connection, read + len(gone))
    except sqlite3.OperationalError as error:
        path = path_of(connection)
        if not is_full(error, path):
            raise
        left_out += len(tasks) - done
        if path is not None and not is_at_limit(connection):
            disk_full = str(path.parent)
    complete = listing.complete and not should_stop()
    seconds = time.monotonic() - began
    return Update(len(listing.entries), read, len(gone), refused, seconds, complete, left_out, disk_full)


def _gathered(outcomes: Iterator[Outcome]) -> Iterator[tuple[int, list[Outcome]]]:
    """Outcomes in groups to be written together, with how many came so far."""
    held: list[Outcome] = []
    done, due = 0, time.monotonic() + _COMMIT_S
    for outcome in outcomes:
        held.append(outcome)
        done += 1
        if time.monotonic() >= due:
            yield done, held
            held, due = [], time.monotonic() + _COMMIT_S
    if held:
        yield done, held


def _drop(connection: sqlite3.Connection, writer: Writer, gone: Sequence[str]) -> None:
    if gone:
        with _Transaction(connection):
            for path in gone:
                writer.drop(path)


def _store(connection: sqlite3.Connection, writer: Writer, outcomes: Sequence[Outcome]) -> int:
    """Write what was parsed; how many files were really new."""
    read = 0
    with _Transaction(connection):
        for task, parsed, refused in outcomes:
            if refused:
                writer.put(Parsed(task.path, task.size, task.mtime_ns, None), task.mtime_ns)
            elif parsed is None:
                writer.drop(task.path)
            elif parsed.unchanged:
                writer.touch(parsed.path, parsed.size, _settled(parsed.mtime_ns))
            else:
                writer.put(parsed, _settled(parsed.mtime_ns))
                read += 1
    return read


def _settled(mtime_ns: int) -> int:
    """The time of change, or 0 when it is so recent that another change could look the same."""
    return 0 if time.time_ns() - mtime_ns < _TICK_NS else mtime_ns


def _tidy(connection: sqlite3.Connection, changes: int) -> None:
    if not changes:
        return
    pages, free = (connection.execute(f"pragma {name}").fetchone()[0] for name in ("page_count", "freelist_count"))
    if pages > _VACUUM_PAGES and free > pages * _VACUUM_SHARE:
        connection.execute("vacuum")
    connection.execute("pragma wal_checkpoint(passive)")


class _Transaction:
    """All or nothing."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def __enter__(self) -> None:
        self._sql.execute("begin immediate")

    def __exit__(self, kind: object, error: object, _: object) -> None:
        # When the file is full, SQLite has rolled back already.
        if self._sql.in_transaction:
            self._sql.execute("commit" if error is None else "rollback")
