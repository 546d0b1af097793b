"""Saved sessions that a test gives; nothing is on disk."""

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from laguna_engine.events import LoadProgress
from laguna_tui.base.errors import UserError
from laguna_tui.base.events import AgentEvent, Asked
from laguna_tui.session.saved_sessions import SavedSessions
from laguna_tui.session.values import (
    FolderGoneError,
    NotSaved,
    OtherFolderError,
    Resumed,
    SessionInfo,
    SessionSummary,
)
from tests.tui.scripted import PlayedChat, PlayedSession, Step

FOLDER = Path("/project")


class PlayedSessions(SavedSessions):
    """Kept sessions that a test gives; nothing is on disk.

    `gate` waits in a resume; `events` are the turns that each continues with; the folders of `homeless` are gone.
    """

    def __init__(self, *listed: SessionSummary, keeps: bool = False) -> None:
        """keeps: whether a message begins a session."""
        self.listed = [*listed]
        self.keeps = keeps
        self.opened = ""
        self.failed = NotSaved()
        self.events: dict[str, Sequence[Asked | AgentEvent]] = {}
        self.contents: dict[str, str] = {}
        self.notices: tuple[str, ...] = ()
        self.left_out = self.restored = 0
        self.resumed: list[str] = []
        self.homeless: set[str] = set()
        self.moved: dict[str, Path] = {}
        self.resume_error: Exception | None = None
        self.gate: threading.Event | None = None

    def keep(self, message: str, folder: Path) -> None:
        if self.keeps and not self.opened:
            self.opened = f"kept-{len(self.listed)}"
            self.listed.insert(0, SessionSummary(self.opened, message, folder, "Scripted", 0.0, 0.0, 1, 1000))

    @property
    def current(self) -> SessionSummary | None:
        return next((session for session in self.listed if session.id == self.opened), None)

    @property
    def failing(self) -> NotSaved:
        return self.failed

    @property
    def open_id(self) -> str:
        return self.opened

    def list(self, *, everywhere: bool = False) -> Sequence[SessionSummary]:
        return [session for session in self.listed if everywhere or session.folder == FOLDER]

    def search(self, words: str, *, everywhere: bool = False) -> Sequence[SessionSummary]:
        return [
            replace(session, snippet=self.contents[session.id])
            for session in self.list(everywhere=everywhere)
            if words.casefold() in self.contents.get(session.id, "").casefold()
        ]

    def rename(self, session: str, title: str) -> None:
        self.listed = [replace(each, title=title) if each.id == session else each for each in self.listed]

    def move(self, session: str, folder: Path) -> None:
        self.homeless.remove(session)
        self.moved[session] = folder

    def delete(self, sessions: Collection[str]) -> int:
        gone = [each for each in self.listed if each.id in sessions]
        self.listed = [each for each in self.listed if each.id not in sessions]
        return sum(each.size for each in gone)

    def export(self, session: str, form: str) -> str:
        return f"# {next(each.title for each in self.listed if each.id == session)} as {form}\n"

    def fork(self, session: str = "", title: str = "") -> SessionSummary:
        of = next(each for each in self.listed if each.id == (session or self.opened))
        copy = replace(of, id=f"{of.id}-copy", title=title or of.title, locked=False)
        self.listed.insert(0, copy)
        self.events[copy.id] = self.events.get(of.id, ())
        return copy

    def resume(self, session: str, progress: Callable[[LoadProgress], None]) -> SessionInfo:
        progress(LoadProgress("session", 0.5))
        if self.gate is not None:
            self.gate.wait(20)
        if self.resume_error is not None:
            raise self.resume_error
        found = next((each for each in self.listed if session in (each.id, each.title)), None)
        if found is None:
            raise UserError(f"There is no session “{session}”. To see them: /resume")
        if found.id in self.homeless:
            raise FolderGoneError(found.folder, found.id)
        if found.folder != FOLDER:
            raise OtherFolderError(found.folder, found.id)
        self.opened = found.id
        self.resumed.append(found.id)
        events = tuple(self.events.get(found.id, ()))
        return SessionInfo(8192, resumed=Resumed(found, events, self.left_out, self.notices, self.restored, 0.2))

    def close(self, reason: str = "") -> None:
        """Nothing is open."""


class SavedChat(PlayedChat):
    """A chat whose first message begins a session."""

    def ask(self, message: str) -> Iterator[AgentEvent]:
        self._session.sessions.keep(message, self._session.folder.path)
        return super().ask(message)

    def new_chat(self) -> None:
        super().new_chat()
        self._session.sessions.opened = ""


def saving(found: PlayedSessions, *scripts: Sequence[Step], **more: Any) -> PlayedSession:
    """A session among these."""
    session = PlayedSession(*scripts, chat=SavedChat, **more)
    session.sessions = found
    return session
