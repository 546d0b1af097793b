"""The index of one folder: opened, brought up to date, asked. Several processes may use the same one.

One process writes at a time; the others answer from what was written last. Nothing here is worth keeping: a damaged
index is begun again, and where none can be written it lives in memory.
"""

import sqlite3
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from filelock import FileLock, Timeout

from laguna_tui.base.errors import UserError
from laguna_tui.repo import index_database
from laguna_tui.repo.index_update import IndexUpdate, Progress, update_index
from laguna_tui.repo.reference_graph import ReferenceGraph, StoredGraph, build_graph, store_graph
from laguna_tui.repo.walk import FileListing

# Sentences that the user sees.
IN_MEMORY = "the index is kept in memory only and made again each time, because {path} cannot be written: {reason}"
BEGUN_AGAIN = "the index was begun again: {reason}"
BUSY = "another laguna-tui is indexing this folder; the answer is from what it has until now"
# Making the graph reads all references. So long nobody waits for; where it takes longer, the graph of a folder changes
# little with a few of its files.
_GRAPH_AT_ONCE_S = 0.2
_GRAPH_SHARE = 0.01
# The user may press Ctrl-C meanwhile.
_LOCK_POLL_S = 0.1


class Index:
    """The index of one folder.

    Attributes:
        notes: what the user should know about it, as sentences.
        connection: for reading; whoever writes goes through `refresh`.
    """

    def __init__(self, root: Path, path: Path | None, connection: sqlite3.Connection, notes: list[str]) -> None:
        self.root = root
        self.path = path
        self.connection = connection
        self.notes = notes
        self._stored = StoredGraph()

    @classmethod
    def open(cls, root: Path, folder: Path | None = None) -> Self:
        """Open or begin the index of a folder; reads none of its files.

        Args:
            folder: where indexes are kept; None means the cache folder.
        """
        path = index_database.index_path(root, folder)
        try:
            return cls(root, path, index_database.connect(path), [])
        except index_database.IndexFault as fault:
            return cls._begun_again(root, path, str(fault))
        except (OSError, sqlite3.OperationalError) as error:
            return cls._in_memory(root, path, error)

    @classmethod
    def _begun_again(cls, root: Path, path: Path, reason: str) -> Self:
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
        """Bring the index up to date with the folder.

        Args:
            progress: called with files done and to do.
            should_stop: asked often; what was read until then is kept.
            wait: for another process that is doing the same; without, None is returned and a note is left.
            workers: processes to parse in; None chooses, 0 is this one.
            listing: the folder's files, where they are known; None walks it.
        """
        try:
            with _lock(self.path, should_stop, wait=wait):
                self.notes = [note for note in self.notes if note != BUSY]
                return self._mended(lambda: self._refreshed(progress, should_stop, workers, listing))
        except Timeout:
            self.notes.append(BUSY)
            return None

    def rebuild(self, should_stop: Callable[[], bool] = lambda: False) -> None:
        """Forget everything that is in the index.

        Raises:
            Timeout: another process writes it, and it is not to be waited for any longer.
        """
        with _lock(self.path, should_stop):
            self._begin_again()

    def graph(self) -> ReferenceGraph:
        """Who refers to whom, as of the last refresh that changed much."""
        return self._stored.of(self.connection)

    def close(self) -> None:
        """Close it; it can be opened again."""
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _refreshed(
        self, progress: Progress, should_stop: Callable[[], bool], workers: int | None, listing: FileListing | None
    ) -> IndexUpdate:
        done = update_index(self.connection, self.root, progress, should_stop, workers, listing)
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
        """Make the graph anew when that takes no time worth speaking of, or when enough has changed since it was made.

        The rule: with any change where making it took at most `_GRAPH_AT_ONCE_S` the last time; else when the changed
        files are more than `_GRAPH_SHARE` of all.
        """
        made = self._get("graph_seconds")
        files = self.connection.execute("select count(*) from files").fetchone()[0]
        total = changes + (self._get("changes") or 0)
        if made is None or (total and (made <= _GRAPH_AT_ONCE_S or total > files * _GRAPH_SHARE)):
            began = time.monotonic()
            store_graph(self.connection, build_graph(self.connection))
            self._set("graph_seconds", time.monotonic() - began)
            total = 0
        if changes or made is None:
            self._set("changes", total)

    def _get(self, key: str) -> float | None:
        row = self.connection.execute("select value from meta where key = ?", (key,)).fetchone()
        return row[0] if row else None

    def _set(self, key: str, value: object) -> None:
        self.connection.execute("insert or replace into meta (key, value) values (?, ?)", (key, value))

    def _mended(self, action: Callable[[], IndexUpdate]) -> IndexUpdate:
        """The action's result; with a new index when this one turns out to be damaged."""
        try:
            return action()
        except sqlite3.OperationalError as error:
            raise UserError(index_database.explained(error, self.path)) from error
        except (sqlite3.DatabaseError, ValueError, zlib.error) as error:
            # The tables may be whole and what lies in them not: packed words, packed graphs.
            self.notes.append(BEGUN_AGAIN.format(reason=str(error)))
            self._begin_again()
            return action()

    def _begin_again(self) -> None:
        self.connection.close()
        if self.path is not None:
            index_database.remove(self.path)
        self.connection = index_database.connect(self.path)


@contextmanager
def _lock(path: Path | None, should_stop: Callable[[], bool] = lambda: False, *, wait: bool = True) -> Iterator[None]:
    """Alone among the processes that write this index.

    Raises:
        Timeout: another one is writing, and it is not to be waited for any longer.
    """
    if path is None:
        yield
        return
    lock = FileLock(f"{path}.lock", thread_local=False)
    lock.acquire(timeout=-1 if wait else 0, poll_interval=_LOCK_POLL_S, cancel_check=should_stop)
    try:
        yield
    finally:
        lock.release()
