"""The index of one folder. Several processes may use the same one.

One process writes at a time; the others read the last committed state. Everything in it can be recomputed: a damaged
index is built again, and one that cannot be written is kept in memory.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from laguna_tui.base.errors import UserError
from laguna_tui.repo.files.walk import FileListing, walk
from laguna_tui.repo.search import index_database
from laguna_tui.repo.search.index_state import IndexUpdate, Progress, is_current

# Sentences for the user.
IN_MEMORY = "the index is in memory only and rebuilt each time, because {path} cannot be written: {reason}"
BEGUN_AGAIN = "the index was rebuilt: {reason}"
BUSY = "another laguna-tui is indexing this folder; the answer is from what is indexed so far"
# Building the graph reads all references. It is rebuilt after any change if that takes at most this long; where it
# takes longer, a few changed files change the graph of a folder little.
_GRAPH_AT_ONCE_S = 0.2
_GRAPH_SHARE = 0.01
# The user may press Ctrl-C while it waits.
_LOCK_POLL_S = 0.1


class Index:
    """The index of one folder.

    Attributes:
        root: The folder.
        path: The database; None for one in memory.
        connection: For reading; `refresh` is the only writer.
        notes: What the user should know about it, as sentences.
    """

    def __init__(self, root: Path, path: Path | None, connection: sqlite3.Connection, notes: list[str]) -> None:
        self.root = root
        self.path = path
        self.connection = connection
        self.notes = notes

    @classmethod
    def open(cls, root: Path, folder: Path | None = None) -> Self:
        """Open or create the index of a folder; reads none of its files.

        Args:
            root: The folder.
            folder: Folder of the indexes; None for the cache folder.
        """
        path = index_database.index_path(root, folder)
        try:
            return cls(root, path, index_database.connect(path), [])
        except index_database.IndexFault as fault:
            return cls._recreated(root, path, str(fault))
        except (OSError, sqlite3.OperationalError) as error:
            return cls._in_memory(root, path, error)

    @classmethod
    def _recreated(cls, root: Path, path: Path, reason: str) -> Self:
        try:
            with _lock(path):
                index_database.remove(path)
                return cls(root, path, index_database.connect(path), [BEGUN_AGAIN.format(reason=reason)])
        except (OSError, sqlite3.Error, index_database.IndexFault) as error:
            return cls._in_memory(root, path, error)

    @classmethod
    def _in_memory(cls, root: Path, path: Path, error: Exception) -> Self:
        reason = (isinstance(error, OSError) and error.strerror) or str(error)
        return cls(root, None, index_database.connect(None), [IN_MEMORY.format(path=path.parent, reason=reason)])

    def refresh(
        self,
        progress: Progress = lambda done, total: None,
        should_stop: Callable[[], bool] = lambda: False,
        *,
        wait: bool = True,
        workers: int | None = None,
        listing: FileListing | None = None,
    ) -> IndexUpdate | None:
        """Bring the index up to date with the folder. Where nothing has changed, nothing is locked or written.

        Args:
            progress: Called with files done and in total.
            should_stop: Polled; files read so far are kept.
            wait: Wait for another process that is writing; otherwise None is returned and a note is added.
            workers: Processes to parse in; None chooses, 0 is this one.
            listing: The folder's files, if known; None walks it.
        """
        began = time.monotonic()
        listing = listing or walk(self.root, should_stop)
        self.notes = [note for note in self.notes if note != BUSY]
        if self._is_current(listing):
            seconds = time.monotonic() - began
            return IndexUpdate(len(listing.entries), 0, 0, 0, seconds, unsearched=listing.unsearched)
        # Only now: both take longer to import than a question takes.
        from filelock import Timeout

        from laguna_tui.repo.search.index_update import update_index

        try:
            with _lock(self.path, should_stop, wait=wait) as waited:
                # What was listed before another process was done is old.
                listed = None if waited else listing
                return self._with_recovery(
                    lambda: self._counted(
                        update_index(self.connection, self.root, progress, should_stop, workers, listed)
                    )
                )
        except Timeout:
            self.notes.append(BUSY)
            return None

    def rebuild(self, should_stop: Callable[[], bool] = lambda: False) -> None:
        """Delete everything in the index.

        Raises:
            Timeout: Another process is writing it, and the wait was stopped.
        """
        with _lock(self.path, should_stop):
            self._recreate()

    def close(self) -> None:
        """Close it; it can be opened again."""
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _is_current(self, listing: FileListing) -> bool:
        try:
            return self._get("graph_seconds") is not None and is_current(self.connection, listing)
        except (sqlite3.Error, ValueError):
            return False  # the update says what is wrong with it

    def _counted(self, done: IndexUpdate) -> IndexUpdate:
        """Finish an update."""
        if not done.left_out:
            try:
                self._count_changes(done.read + done.dropped)
            except sqlite3.OperationalError as error:
                if self.path is None or not index_database.is_full(error, self.path):
                    raise
                done = replace(done, disk_full=str(self.path.parent))
        if self.path is not None:
            index_database.prune(self.path)
        return done

    def _count_changes(self, changes: int) -> None:
        """Rebuild the graph when that takes little time, or when enough has changed since it was built.

        The rule: after any change if the last build took at most `_GRAPH_AT_ONCE_S`; else when the changed files are
        more than `_GRAPH_SHARE` of all.
        """
        made = self._get("graph_seconds")
        files = self.connection.execute("select count(*) from files").fetchone()[0]
        total = changes + (self._get("changes") or 0)
        if made is None or (total and (made <= _GRAPH_AT_ONCE_S or total > files * _GRAPH_SHARE)):
            from laguna_tui.repo.search.reference_graph import build_graph, store_graph

            began = time.monotonic()
            graph = build_graph(self.connection)
            self.connection.execute("begin immediate")
            with self.connection:
                store_graph(self.connection, graph)
                self._set("graph_seconds", time.monotonic() - began)
            total = 0
        if changes or made is None:
            self._set("changes", total)

    def _get(self, key: str) -> float | None:
        row = self.connection.execute("select value from meta where key = ?", (key,)).fetchone()
        return row[0] if row else None

    def _set(self, key: str, value: object) -> None:
        self.connection.execute("insert or replace into meta (key, value) values (?, ?)", (key, value))

    def _with_recovery(self, action: Callable[[], IndexUpdate]) -> IndexUpdate:
        """Return the action's result; with a new index when this one is damaged."""
        try:
            return action()
        except sqlite3.OperationalError as error:
            raise UserError(index_database.explained(error, self.path)) from error
        except (sqlite3.DatabaseError, ValueError) as error:
            # The tables may be intact and the values in them not: packed words, packed edges.
            self.notes.append(BEGUN_AGAIN.format(reason=str(error)))
            self._recreate()
            return action()

    def _recreate(self) -> None:
        self.connection.close()
        if self.path is not None:
            index_database.remove(self.path)
        self.connection = index_database.connect(self.path)


@contextmanager
def _lock(path: Path | None, should_stop: Callable[[], bool] = lambda: False, *, wait: bool = True) -> Iterator[bool]:
    """Exclude other processes from writing this index; yields whether one was waited for.

    Raises:
        Timeout: Another process is writing it, and the wait was stopped.
    """
    if path is None:
        yield False
        return
    from filelock import FileLock, Timeout

    lock, waited = FileLock(f"{path}.lock", thread_local=False), False
    try:
        lock.acquire(timeout=0)
    except Timeout:
        if not wait:
            raise
        waited = True
        lock.acquire(timeout=-1, poll_interval=_LOCK_POLL_S, cancel_check=should_stop)
    try:
        yield waited
    finally:
        lock.release()
