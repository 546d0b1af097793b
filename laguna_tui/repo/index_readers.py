"""Connections that only read an index, for any number of threads: each is used by one thread at a time.

SQLite's write-ahead log lets them read while one process writes; they see what was committed last. An index that was
deleted and begun again is noticed by its file's identity.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from laguna_tui.repo import index_database
from laguna_tui.repo.reference_graph import ReferenceGraph, StoredGraph

# A conversation, a completion and an inspector at once; more connections are opened when needed, and closed after.
_KEPT = 3


class IndexReader:
    """One connection; what `rank.Source` asks for."""

    def __init__(self, connection: sqlite3.Connection, identity: tuple[int, int], stored: StoredGraph) -> None:
        self.connection = connection
        self.identity = identity
        self._stored = stored

    def graph(self) -> ReferenceGraph:
        """Who refers to whom, as it was stored last."""
        return self._stored.of(self.connection)


class IndexReaders:
    """The readers of one index file. None of them ever creates or changes it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._free: list[IndexReader] = []
        self._lock = Lock()
        self._closed = False
        # All of them read the same graph; one copy of it is enough.
        self._stored = StoredGraph()

    @contextmanager
    def reader(self) -> Iterator[IndexReader]:
        """A reader that nobody else uses meanwhile.

        Raises:
            OSError, sqlite3.Error, store.IndexFault: there is no index yet, or it cannot be read. The connection that
                met the error is not used again.
        """
        reader = self._taken()
        try:
            yield reader
        except BaseException:
            reader.connection.close()
            raise
        self._give_back(reader)

    def close(self) -> None:
        """Close what is not in use now; what is, is closed when it comes back."""
        with self._lock:
            self._closed = True
            free, self._free = self._free, []
        for reader in free:
            reader.connection.close()

    def _taken(self) -> IndexReader:
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

    def _give_back(self, reader: IndexReader) -> None:
        with self._lock:
            if not self._closed and len(self._free) < _KEPT:
                self._free.append(reader)
                return
        reader.connection.close()
