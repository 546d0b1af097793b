"""The index of all sessions in SQLite: what the list shows of each, and its texts, by turns.

Everything in it comes from the journals, so an index that is missing, damaged or of another version is built again, and
if no file can be written it is in memory. A journal that grew is read on from where the index ends. Connections are
short-lived; several processes may use the index at once.
"""

import os
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import astuple, fields
from pathlib import Path
from typing import TypeVar

from laguna_tui.base.locked_file import open_private
from laguna_tui.store.events import Content
from laguna_tui.store.indexed_session import IndexedSession, JournalReader, delete_pieces
from laguna_tui.store.journal_lines import JOURNAL, BlobReader, read_journal
from laguna_tui.store.session_search import forget_removed, make_trigrams, search

INDEX = "index.db"
VERSION = 2
"""Of the tables and of their contents."""
_APPLICATION_ID = 0x4C61_6753
_BUSY_S = 5.0
_COMPANIONS = ("", "-wal", "-shm")
# A journal is indexed by pieces, so that another process waits only a moment.
_PIECE_BYTES = 4 * 1024 * 1024
_PLAIN_CODE = 0xFF
_UNUSABLE_CODES = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL)

_MARKS = ("application_id", "user_version")
_T = TypeVar("_T")

_SCHEMA = """
create table sessions (
    id text primary key, inode integer, size integer, mtime_ns integer, place integer, folder blob, title text,
    message text, model text, created real, updated real, position integer, current integer, closed text, problem text
) without rowid;
create table turns (session text, at integer, number integer, message text, primary key (session, at)) without rowid;
create index turn_numbers on turns (session, number);
create table pieces (id integer primary key, session text, number integer, body text);
create index piece_turns on pieces (session, number);
"""


_COLUMNS = ", ".join(field.name for field in fields(IndexedSession))
_PLACES = ", ".join("?" for _ in fields(IndexedSession))


class SessionIndex:
    """The index of the sessions in a folder. Any thread, any process."""

    def __init__(self, folder: Path) -> None:
        """Read nothing yet.

        Args:
            folder: That of the sessions; it need not be there.
        """
        self._folder = folder
        self._path: Path | None = folder / INDEX
        # Where no file can be written.
        self._memory: sqlite3.Connection | None = None
        self._lock = threading.RLock()

    def sessions(self) -> list[IndexedSession]:
        """Return all sessions, newest first."""

        def read(connection: sqlite3.Connection) -> list[IndexedSession]:
            rows = connection.execute(f"select {_COLUMNS} from sessions order by updated desc, id desc")
            return [IndexedSession(*row) for row in rows]

        return self._with_index(read)

    def search(self, words: Sequence[str], *, misspelt: bool = False) -> Mapping[str, str]:
        """Return the sessions with a text that has all of the words; see `session_search.search`."""
        return self._with_index(lambda connection: search(connection, words, misspelt=misspelt))

    def forget(self) -> None:
        """Remove what is left of deleted sessions from the index's file."""

        def clean(connection: sqlite3.Connection) -> None:
            forget_removed(connection)
            connection.execute("pragma wal_checkpoint(truncate)")

        self._with_index(clean)

    def _with_index(self, action: Callable[[sqlite3.Connection], _T]) -> _T:
        """Bring the index up to date, and call an action with it."""
        for _ in range(2):
            if self._path is None:
                break
            try:
                with closing(_connect(self._path)) as connection:
                    self._refresh(connection)
                    return action(connection)
            except (sqlite3.Error, OSError) as error:
                code = getattr(error, "sqlite_errorcode", 0) & _PLAIN_CODE
                if code in _UNUSABLE_CODES:
                    self._path = None
                elif code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                    break
                else:
                    _remove(self._path)
        with self._lock:
            if self._memory is None:
                self._memory = _connect(None)
            self._refresh(self._memory)
            return action(self._memory)

    def _refresh(self, connection: sqlite3.Connection) -> None:
        """Index what was added to the journals since, and remove sessions that are gone."""
        known = {row[0]: row[1:] for row in connection.execute("select id, inode, size, mtime_ns from sessions")}
        found = dict(journals(self._folder))
        for session, status in found.items():
            if known.get(session) != (status.st_ino, status.st_size, status.st_mtime_ns):
                while not self._take_piece(connection, session, status):
                    pass
        for session in known.keys() - found.keys():
            with _transaction(connection):
                _delete(connection, session)

    def _take_piece(self, connection: sqlite3.Connection, session: str, status: os.stat_result) -> bool:
        """Index some megabytes of a journal; returns whether that was all."""
        folder = self._folder / session
        with _transaction(connection), closing(BlobReader(folder)) as blobs:
            found = connection.execute(f"select {_COLUMNS} from sessions where id = ?", (session,)).fetchone()
            row = IndexedSession(*found) if found else IndexedSession(session)
            if row.inode != status.st_ino or row.place > status.st_size:
                row = IndexedSession(session, inode=status.st_ino)
            if not row.place:
                _delete(connection, session)
            reader = JournalReader(connection, row, Content(blobs.get))
            is_all = reader.take(read_journal(folder / JOURNAL, row.place), row.place + _PIECE_BYTES)
            row.size, row.mtime_ns = status.st_size, status.st_mtime_ns
            reader.store()
            connection.execute(f"insert or replace into sessions ({_COLUMNS}) values ({_PLACES})", astuple(row))
        return is_all


def journals(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the IDs of the sessions in a folder and the status of their journals."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.name.startswith(".") or not entry.is_dir(follow_symlinks=False):
                    continue
                status = (folder / entry.name / JOURNAL).lstat()
                if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and status.st_size:
                    yield entry.name, status


def _delete(connection: sqlite3.Connection, session: str) -> None:
    delete_pieces(connection, session)
    connection.execute("delete from sessions where id = ?", (session,))
    connection.execute("delete from turns where session = ?", (session,))


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("begin immediate")
    try:
        yield
    except BaseException:
        connection.execute("rollback")
        raise
    connection.execute("commit")


def _connect(path: Path | None) -> sqlite3.Connection:
    """Open an index with its tables; None opens one in memory.

    Raises:
        OSError, sqlite3.Error: It is damaged, of another version, or cannot be written.
    """
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(open_private(path, os.O_RDWR | os.O_CREAT))
    connection = sqlite3.connect(
        ":memory:" if path is None else path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = normal")
        # Deleted texts must not be left in the file.
        connection.execute("pragma secure_delete = on")
        if _marks(connection) != (_APPLICATION_ID, VERSION):
            with _transaction(connection):
                _make_tables(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _make_tables(connection: sqlite3.Connection) -> None:
    # Another process may have made them meanwhile.
    if _marks(connection) == (_APPLICATION_ID, VERSION):
        return
    if connection.execute("select count(*) from sqlite_master").fetchone()[0]:
        raise sqlite3.DatabaseError("it is of another version")
    for statement in _SCHEMA.split(";\n"):
        connection.execute(statement)
    make_trigrams(connection)
    connection.execute(f"pragma application_id = {_APPLICATION_ID}")
    connection.execute(f"pragma user_version = {VERSION}")


def _marks(connection: sqlite3.Connection) -> tuple[int, int]:
    application, version = (connection.execute(f"pragma {name}").fetchone()[0] for name in _MARKS)
    return application, version


def _remove(path: Path) -> None:
    for ending in _COMPANIONS:
        with suppress(OSError):
            Path(f"{path}{ending}").unlink()
