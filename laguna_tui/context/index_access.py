"""The index of one folder for one thread that writes and others that read, whether it is a file or lives in memory.

A file is read through connections of its own, while it is written too. An index in memory has a single connection,
which one thread uses at a time.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

from laguna_tui.repo.search.index import Index
from laguna_tui.repo.search.index_database import index_path
from laguna_tui.repo.search.index_readers import IndexReaders
from laguna_tui.repo.search.ranking import Source

# A change in memory is written in less than this; the first reading of a folder takes longer, and is not waited for.
_MEMORY_WAIT_S = 0.5


class IndexAccess:
    """Opens the index when it is needed; nothing is opened before.

    Attributes:
        path: the index's file.
    """

    def __init__(self, root: Path, folder: Path | None) -> None:
        self._root = root
        self._folder = folder
        self.path = index_path(root, folder)
        self._readers = IndexReaders(self.path)
        self._writing: Index | None = None
        self._memory: Index | None = None
        self._alone = Lock()
        self._closed = False

    @contextmanager
    def reading(self) -> Iterator[Source]:
        """The index, for a question.

        Raises:
            OSError, sqlite3.Error, store.IndexFault: there is none yet, or it cannot be read now.
        """
        memory = self._memory
        if memory is None:
            with self._readers.reader() as reader:
                yield reader
            return
        if self._closed or not self._alone.acquire(timeout=_MEMORY_WAIT_S):
            raise FileNotFoundError("the index is being made in memory")
        try:
            yield memory
        finally:
            self._alone.release()

    @contextmanager
    def writing(self) -> Iterator[Index]:
        """The index, for the one thread that writes. A file is opened anew: another process may have deleted it."""
        if self._memory is None:
            opened = Index.open(self._root, self._folder)
            if opened.path is None:
                self._memory = opened
            else:
                with opened, self._interruptible(opened):
                    yield opened
                return
        with self._alone, self._interruptible(self._memory):
            yield self._memory

    def interrupt(self) -> None:
        """End what is being written at the moment with an error there; any thread."""
        index = self._writing
        if index is not None:
            with suppress(sqlite3.Error):
                index.connection.interrupt()

    def close(self) -> None:
        """Let nobody read any more. An index in memory is closed by `forget`, when its writer is done."""
        self._closed = True
        self._readers.close()

    def forget(self) -> None:
        """Close an index in memory; what is in it is gone."""
        if self._memory is not None:
            with self._alone:
                self._memory.close()

    @contextmanager
    def _interruptible(self, index: Index) -> Iterator[None]:
        self._writing = index
        try:
            yield
        finally:
            self._writing = None
