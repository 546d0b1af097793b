"""The index of all sessions in SQLite: what the list shows of each, and the words of what was said.

It is never the truth: everything in it comes from the journals, so that an index that is missing, damaged, or of
another version is built again, and where no file can be written it lives in memory. A journal that grew is read on from
where the index ends. Connections are short-lived; several processes may use the index at once.
"""

import os
import re
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import astuple, dataclass, fields
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from laguna_tui.journal.journal_lines import (
    HEADER,
    JOURNAL,
    JournalError,
    LaterVersionError,
    Line,
    check_header,
    read_journal,
)
from laguna_tui.journal.locked_file import open_private
from laguna_tui.journal.session_texts import SessionTexts, line, mappings, moment

INDEX = "index.db"
VERSION = 1
"""Of the tables and of what stands in them."""
KILLED = "killed"
DAMAGED = "damaged"
NEWER = "of a later version"
_APPLICATION_ID = 0x4C61_6753
_BUSY_S = 5.0
_COMPANIONS = ("", "-wal", "-shm")
# A journal is taken in by pieces, so that another process waits only a moment for the index.
_PIECE_BYTES = 4 * 1024 * 1024
# What is found is shown with the words around it, which takes time that grows with the text.
_TEXT_CHARS = 16_000
_TITLE_CHARS = 80
_BEST_TEXTS = 1000
_SNIPPET_WORDS = 16
_PLAIN_CODE = 0xFF
_UNUSABLE_CODES = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL)

_MARKS = ("application_id", "user_version")
_T = TypeVar("_T")

_SCHEMA = """
create table sessions (
    id text primary key, inode integer, size integer, mtime_ns integer, place integer, folder blob, title text,
    message text, model text, created real, updated real, turns integer, closed text, problem text
) without rowid;
create virtual table texts using fts5(body, session unindexed, tokenize='unicode61 remove_diacritics 2');
"""


@dataclass(slots=True)
class IndexedSession:
    """What the index knows of a session; the columns of its table.

    Attributes:
        id: The name of its folder.
        inode, size, mtime_ns: Of the journal when it was read.
        place: Up to where it was read.
        folder: What it is about, as bytes.
        title: As the user named it; empty for none.
        message: The beginning of its first message.
        model: Title of the last model.
        created, updated: Seconds since the epoch.
        turns: How many messages the user sent.
        closed: How it ended: empty in order; `KILLED` while there is no event that says so.
        problem: Why it cannot be opened; empty if it can.
    """

    id: str
    inode: int = 0
    size: int = -1
    mtime_ns: int = 0
    place: int = 0
    folder: bytes = b""
    title: str = ""
    message: str = ""
    model: str = ""
    created: float = 0.0
    updated: float = 0.0
    turns: int = 0
    closed: str = KILLED
    problem: str = ""


_COLUMNS = ", ".join(field.name for field in fields(IndexedSession))
_PLACES = ", ".join("?" for _ in fields(IndexedSession))


class SessionIndex:
    """The index of the sessions in a folder. Any thread, any process."""

    def __init__(self, folder: Path) -> None:
        """folder: that of the sessions; it need not be there."""
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

    def search(self, words: str) -> list[tuple[str, str]]:
        """Return the sessions in which something was said that has all of the words, or words that begin so.

        Returns:
            Their IDs, the best first, each with the words where they were found.
        """
        query = " ".join(f'"{word}"*' for word in re.findall(r"\w+", _storable(words)))

        def read(connection: sqlite3.Connection) -> list[tuple[str, str]]:
            best: dict[str, int] = {}
            command = "select rowid, session from texts where texts match ? order by rank limit ?"
            for row, session in connection.execute(command, (query, _BEST_TEXTS)):
                best.setdefault(session, row)
            snippet = f"snippet(texts, 0, '', '', '…', {_SNIPPET_WORDS})"
            command = f"select {snippet} from texts where texts match ? and rowid = ?"
            return [
                (session, " ".join(connection.execute(command, (query, row)).fetchone()[0].split()))
                for session, row in best.items()
            ]

        return self._with_index(read) if query else []

    def forget(self) -> None:
        """Remove what is left of deleted sessions from the index's file."""

        def optimize(connection: sqlite3.Connection) -> None:
            connection.execute("insert into texts (texts) values ('optimize')")
            connection.execute("pragma wal_checkpoint(truncate)")

        self._with_index(optimize)

    def _with_index(self, action: Callable[[sqlite3.Connection], _T]) -> _T:
        """Bring the index up to date, and do something with it."""
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
        """Take in what the journals have got since, and forget sessions that are gone."""
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
        """Take in some megabytes of a journal; returns whether that was all."""
        folder = self._folder / session
        with _transaction(connection), SessionTexts(folder) as texts:
            found = connection.execute(f"select {_COLUMNS} from sessions where id = ?", (session,)).fetchone()
            row = IndexedSession(*found) if found else IndexedSession(session)
            if row.inode != status.st_ino or row.place > status.st_size:
                row = IndexedSession(session, inode=status.st_ino)
            if not row.place:
                _delete(connection, session)
            reader = _JournalReader(row, texts)
            is_all = reader.take(read_journal(folder / JOURNAL, row.place), row.place + _PIECE_BYTES)
            row.size, row.mtime_ns = status.st_size, status.st_mtime_ns
            connection.execute(f"insert or replace into sessions ({_COLUMNS}) values ({_PLACES})", astuple(row))
            bodies = ((body, session) for body in reader.bodies())
            connection.executemany("insert into texts (body, session) values (?, ?)", bodies)
        return is_all


class _JournalReader:
    """Takes the events of a journal into what the index knows of its session."""

    def __init__(self, row: IndexedSession, texts: SessionTexts) -> None:
        self._row = row
        self._texts = texts
        # What was said, by turns.
        self._said: list[list[str]] = [[]]
        self._takes: Mapping[str, Callable[[Mapping[str, Any]], None]] = {
            HEADER: self._take_header,
            "opened": self._take_opened,
            "turn": self._take_turn,
            "shown": self._take_shown,
        }

    def take(self, events: Iterator[Line], stop: int) -> bool:
        """Take events in, up to a place; returns whether there are no more."""
        row = self._row
        try:
            if not row.place:
                first = next(events, None)
                row.problem = _problem(first, row.id)
                events = chain(() if first is None else (first,), events)
            for each in events:
                self._take(each.event)
                row.place = each.end
                if each.end >= stop:
                    return False
        except JournalError:
            row.problem = DAMAGED
        return True

    def bodies(self) -> Iterator[str]:
        """What was said, in pieces of a limited length."""
        for said in self._said:
            text = _storable("\n".join(said))
            for start in range(0, len(text), _TEXT_CHARS):
                yield text[start : start + _TEXT_CHARS]

    def _take(self, event: Mapping[str, Any]) -> None:
        row, kind = self._row, event["event"]
        if kind == "titled":
            row.title = _title(line(event.get("title")))
        elif kind == "closed":
            row.closed = _storable(line(event.get("reason")))
        elif kind == "forked":
            row.closed = ""
        else:
            row.closed = KILLED
            if kind in self._takes:
                self._takes[kind](event)

    def _take_header(self, event: Mapping[str, Any]) -> None:
        self._row.folder = os.fsencode(line(event.get("folder")))
        self._row.created = self._row.updated = moment(event.get("time"))

    def _take_opened(self, event: Mapping[str, Any]) -> None:
        self._row.model = _storable(line(event.get("title")) or line(event.get("model")))

    def _take_turn(self, event: Mapping[str, Any]) -> None:
        message = self._texts.text(event.get("message"))
        self._row.turns += 1
        self._row.updated = moment(event.get("time"))
        self._row.message = self._row.message or _title(message)
        self._said.append([message])

    def _take_shown(self, event: Mapping[str, Any]) -> None:
        self._row.updated = moment(event.get("time"))
        texts, said = self._texts, self._said[-1]
        for shown in mappings(event.get("events")):
            match shown.get("type"):
                case "TextDelta":
                    said.append(texts.text(shown.get("text")))
                case "Steered":
                    said.append(texts.text(shown.get("message")))
                case "ToolStarted":
                    values = texts.arguments(shown.get("arguments")).values()
                    said += (value[:_TITLE_CHARS] for value in values if isinstance(value, str))


def journals(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """The IDs of the sessions in a folder, and what is known of their journals; what is no session is left out."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.name.startswith(".") or not entry.is_dir(follow_symlinks=False):
                    continue
                status = (folder / entry.name / JOURNAL).lstat()
                if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and status.st_size:
                    yield entry.name, status


def _problem(first: Line | None, session: str) -> str:
    try:
        check_header(first, Path(session) / JOURNAL)
    except LaterVersionError:
        return NEWER
    except JournalError:
        return DAMAGED
    return ""


def _title(text: str) -> str:
    """The beginning of a text, on one line."""
    words = " ".join(_storable(text[: _TITLE_CHARS * 4]).split())
    return words if len(words) <= _TITLE_CHARS else f"{words[: _TITLE_CHARS - 1].rstrip()}…"


def _storable(text: str) -> str:
    """The text as SQLite takes it: without lone surrogates."""
    return text.encode("utf-8", "replace").decode()


def _delete(connection: sqlite3.Connection, session: str) -> None:
    connection.execute("delete from sessions where id = ?", (session,))
    connection.execute("delete from texts where session = ?", (session,))


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
        # What was deleted is not to be found in the file.
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
    connection.execute(f"pragma application_id = {_APPLICATION_ID}")
    connection.execute(f"pragma user_version = {VERSION}")


def _marks(connection: sqlite3.Connection) -> tuple[int, int]:
    application, version = (connection.execute(f"pragma {name}").fetchone()[0] for name in _MARKS)
    return application, version


def _remove(path: Path) -> None:
    for ending in _COMPANIONS:
        with suppress(OSError):
            Path(f"{path}{ending}").unlink()
