"""The index of one folder for one thread that writes and others that read, whether it is a file or is kept in memory.

A file is read through connections of its own, each used by one thread at a time, while it is being written: SQLite's
write-ahead log shows them the last commit. An index in memory has a single connection, used by one thread at a time.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

from laguna_tui.repo.search.index import Index
from laguna_tui.repo.search.index_database import connect_reader, index_path

# A change in memory is written in less than this; the first indexing of a folder takes longer, and is not waited for.
_MEMORY_WAIT_S = 0.5
# Enough for a conversation, a completion and an inspector at once; more are opened when needed, and closed after.
_KEPT_READERS = 3


class IndexAccess:
    """Opens the index when it is needed.

    Attributes:
        path: the index's file.
    """

    def __init__(self, root: Path, folder: Path | None) -> None:
        self._root = root
        self._folder = folder
        self.path = index_path(root, folder)
        # Free connections, each with the identity of its file: a deleted and rebuilt index is another file.
        self._free: list[tuple[sqlite3.Connection, tuple[int, int]]] = []
        self._lock = Lock()
        self._writing: Index | None = None
        self._memory: Index | None = None
        self._memory_lock = Lock()
        self._closed = False

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection for a query; no index is created or changed.

        Raises:
            OSError, sqlite3.Error, IndexFault: There is no index yet, or it cannot be read now. A connection that
                raised is closed.
        """
        if self._closed:
            raise sqlite3.ProgrammingError("the index is closed")
        if self._memory is not None:
            if not self._memory_lock.acquire(timeout=_MEMORY_WAIT_S):
                raise FileNotFoundError("the index is being made in memory")
            try:
                yield self._memory.connection
            finally:
                self._memory_lock.release()
            return
        connection, identity = self._acquired()
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        with self._lock:
            if not self._closed and len(self._free) < _KEPT_READERS:
                self._free.append((connection, identity))
                return
        connection.close()

    @contextmanager
    def writing(self) -> Iterator[Index]:
        """Lend the index to the one thread that writes. A file is opened again: another process may have deleted it."""
        if self._memory is None:
            opened = Index.open(self._root, self._folder)
            if opened.path is None:
                self._memory = opened
            else:
                with opened, self._interruptible(opened):
                    yield opened
                return
        with self._memory_lock, self._interruptible(self._memory):
            yield self._memory

    def interrupt(self) -> None:
        """End a write in progress with an error in its thread. Callable from any thread."""
        index = self._writing
        if index is not None:
            with suppress(sqlite3.Error):
                index.connection.interrupt()

    def close(self) -> None:
        """Refuse further queries. An index in memory is closed by `forget`, when its writer is done."""
        with self._lock:
            self._closed = True
            free, self._free = self._free, []
        for connection, _ in free:
            connection.close()

    def forget(self) -> None:
        """Close an index in memory; its contents are lost."""
        if self._memory is not None:
            with self._memory_lock:
                self._memory.close()

    def _acquired(self) -> tuple[sqlite3.Connection, tuple[int, int]]:
        status = self.path.stat()
        identity = status.st_dev, status.st_ino
        with self._lock:
            free = self._free.pop() if self._free else None
        if free is not None:
            if free[1] == identity:
                return free
            free[0].close()
        return connect_reader(self.path), identity

    @contextmanager
    def _interruptible(self, index: Index) -> Iterator[None]:
        self._writing = index
        try:
            yield
        finally:
            self._writing = None
