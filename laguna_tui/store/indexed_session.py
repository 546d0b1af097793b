"""What the index takes from a journal: what the list shows of its session, and its texts, by turns."""

import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from unicodedata import normalize

from laguna_tui.base.events import Steered, TextDelta, ToolStarted
from laguna_tui.store.events import (
    Began,
    Closed,
    Content,
    ConversationChanged,
    Event,
    Forked,
    Generated,
    HistoryMoved,
    MessageSent,
    Moved,
    Opened,
    Shown,
    Titled,
    TurnBegun,
    Unread,
)
from laguna_tui.store.journal_lines import JOURNAL, JournalError, LaterVersionError, Line, check_header
from laguna_tui.store.session_search import add_trigrams, remove_trigrams

KILLED = "killed"
DAMAGED = "damaged"
NEWER = "of a later version"
# Searched words are looked up in whole texts.
_TEXT_CHARS = 16_000
_TITLE_CHARS = 80


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
        position: How many turns there are that are not undone.
        current: Number of the turn that shown events belong to; 0 before the first one.
        closed: How it ended: empty if normally; `KILLED` while no event says how.
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
    position: int = 0
    current: int = 0
    closed: str = KILLED
    problem: str = ""


class JournalReader:
    """Reads the events of a journal into the index."""

    def __init__(self, connection: sqlite3.Connection, row: IndexedSession, content: Content) -> None:
        self._connection, self._row, self._content = connection, row, content
        # Texts by the numbers of turns.
        self._texts_of: dict[int, list[str]] = {}

    def take(self, events: Iterator[Line], stop: int) -> bool:
        """Read events up to a place; returns whether there are no more."""
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

    def store(self) -> None:
        """Store the texts, in pieces of a limited length, and the first message."""
        row, connection = self._row, self._connection
        for turn, said in self._texts_of.items():
            text = _storable(normalize("NFC", "\n".join(said)))
            for start in range(0, len(text), _TEXT_CHARS):
                body = text[start : start + _TEXT_CHARS]
                values = (row.id, turn, body)
                stored = connection.execute("insert into pieces (session, number, body) values (?, ?, ?)", values)
                add_trigrams(connection, stored.lastrowid or 0, body)
        first = "select message from turns where session = ? and at = 0 and at < ?"
        found = connection.execute(first, (row.id, row.position)).fetchone()
        row.message = found[0] if found else ""

    def _take(self, event: Event | Unread) -> None:
        row = self._row
        match event:
            # The most frequent ones first.
            case Shown():
                row.closed, row.updated = KILLED, event.time
                self._texts_of.setdefault(row.current, []).extend(self._texts(event))
            case Titled(title=title):
                row.title = _title(title)
            case Moved(folder=folder):
                row.folder = os.fsencode(folder)
            case Closed(reason=reason):
                row.closed = _storable(reason)
            case Forked():
                row.closed = ""
            case _:
                row.closed = KILLED
                self._take_other(event)

    def _take_other(self, event: Event | Unread) -> None:
        row = self._row
        match event:
            case Generated() | ConversationChanged():
                pass
            case Began():
                row.folder, row.created, row.updated = os.fsencode(event.folder), event.time, event.time
            case Opened():
                row.model = _storable(event.title or event.model)
            case MessageSent():
                # It has no turn if it is refused.
                row.current = 0
            case TurnBegun():
                self._take_turn(event)
            case HistoryMoved():
                turns = self._connection.execute("select count(*) from turns where session = ?", (row.id,))
                row.position = min(event.position, turns.fetchone()[0])
            case _:
                pass

    def _take_turn(self, event: TurnBegun) -> None:
        """Replace the turns that are undone by a new one."""
        row, connection = self._row, self._connection
        undone = "select number from turns where session = ? and at >= ?"
        for (gone,) in connection.execute(undone, (row.id, row.position)).fetchall():
            self._texts_of.pop(gone, None)
            delete_pieces(connection, row.id, gone)
        connection.execute("delete from turns where session = ? and at >= ?", (row.id, row.position))
        message, row.current = self._content.text(event.message), event.number
        values = (row.id, row.position, row.current, _title(message))
        connection.execute("insert into turns (session, at, number, message) values (?, ?, ?, ?)", values)
        row.position += 1
        row.updated = event.time
        self._texts_of.setdefault(row.current, []).append(message)

    def _texts(self, shown: Shown) -> Iterator[str]:
        for event in self._content.events(shown, TextDelta, Steered, ToolStarted):
            match event:
                case TextDelta(text) | Steered(text):
                    yield text
                case ToolStarted(arguments=arguments):
                    yield from (value[:_TITLE_CHARS] for value in arguments.values() if isinstance(value, str))


def _problem(first: Line | None, session: str) -> str:
    try:
        check_header(first, Path(session) / JOURNAL)
    except LaterVersionError:
        return NEWER
    except JournalError:
        return DAMAGED
    return ""


def _title(text: str) -> str:
    """Return the beginning of a text, on one line."""
    words = " ".join(_storable(text[: _TITLE_CHARS * 4]).split())
    return words if len(words) <= _TITLE_CHARS else f"{words[: _TITLE_CHARS - 1].rstrip()}…"


def _storable(text: str) -> str:
    """Return the text as SQLite takes it: without lone surrogates."""
    return text.encode("utf-8", "replace").decode()


def delete_pieces(connection: sqlite3.Connection, session: str, turn: int | None = None) -> None:
    """Delete the texts of a turn; None for all turns."""
    where, values = ("session = ?", (session,)) if turn is None else ("session = ? and number = ?", (session, turn))
    for piece, body in connection.execute(f"select id, body from pieces where {where}", values).fetchall():
        remove_trigrams(connection, piece, body)
    connection.execute(f"delete from pieces where {where}", values)
