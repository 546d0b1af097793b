"""Read-only connections to an index for any number of threads, each connection used by one thread at a time.

SQLite's write-ahead log lets them read while one process writes; they see the last commit. An index that was deleted
and built again is recognised by its file's identity.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from laguna_tui.repo.search import index_database
from laguna_tui.repo.search.stored_graph import StoredGraph

if TYPE_CHECKING:
    from laguna_tui.repo.search.reference_graph import ReferenceGraph

# Enough for a conversation, a completion and an inspector at once; more are opened when needed, and closed after.
_KEPT = 3


class IndexReader:
    """One connection; a `ranking.Source`."""

    def __init__(self, connection: sqlite3.Connection, identity: tuple[int, int], stored: StoredGraph) -> None:
        self.connection = connection
        self.identity = identity
        self._stored = stored

    def graph(self) -> "ReferenceGraph":
        """Return the reference graph that was stored last."""
        return self._stored.of(self.connection)


class IndexReaders:
    """The readers of one index file. None of them ever creates or changes it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._free: list[IndexReader] = []
        self._lock = Lock()
        self._closed = False
        # All of them share one copy of the graph.
        self._stored = StoredGraph()

    @contextmanager
    def reader(self) -> Iterator[IndexReader]:
        """A reader for exclusive use.

        Raises:
            OSError, sqlite3.Error, index_database.IndexFault: There is no index yet, or it cannot be read. The
                connection that raised is closed.
        """
        reader = self._acquire()
        try:
            yield reader
        except BaseException:
            reader.connection.close()
            raise
        self._release(reader)

    def close(self) -> None:
        """Close the free connections; the others are closed when they are returned."""
        with self._lock:
            self._closed = True
            free, self._free = self._free, []
        for reader in free:
            reader.connection.close()

    def _acquire(self) -> IndexReader:
        status = self._path.stat()
        identity = status.st_dev, status.st_ino
        with self._lock:
            if self._closed:
                raise sqlite3.ProgrammingError("the index is closed")
            reader = self._free.pop() if self._free else None
        if reader is not None:
            if reader.identity == identity:
                return reader
            reader.connection.close()
        return IndexReader(index_database.connect_reader(self._path), identity, self._stored)

    def _release(self, reader: IndexReader) -> None:
        with self._lock:
            if not self._closed and len(self._free) < _KEPT:
                self._free.append(reader)
                return
        reader.connection.close()
