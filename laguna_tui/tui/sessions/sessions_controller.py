"""Resumes, renames, forks and exports saved sessions, and tells the parent process which one is open."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from laguna_tui.base import units
from laguna_tui.base.app_report import AppReport
from laguna_tui.base.errors import UserError
from laguna_tui.base.events import TurnFinished, TurnStarted
from laguna_tui.base.text import sanitize, sanitize_line
from laguna_tui.session.session import Session
from laguna_tui.session.values import Resumed
from laguna_tui.store.session_summary import SessionSummary
from laguna_tui.tui.background_query import BackgroundQuery
from laguna_tui.tui.base_app import BaseApp
from laguna_tui.tui.event_sanitizer import safe_path, safe_turns
from laguna_tui.tui.modal import notify
from laguna_tui.tui.session_controller import SessionController
from laguna_tui.tui.session_messages import (
    ChatCleared,
    SessionElsewhere,
    SessionFailed,
    SessionFolderGone,
    SessionIdle,
    SessionOpened,
    SessionResumed,
)
from laguna_tui.tui.text_lines import crop
from laguna_tui.tui.transcript.transcript_writer import TranscriptWriter

if TYPE_CHECKING:
    from laguna_tui.tui.sessions.session_picker import SessionChoice

T = TypeVar("T")

BUSY = "The session is busy. Stop it with Esc, then {command}."
NOTHING_KEPT = "This chat is not saved yet: send a message first."
KEPT_AGAIN = "The session is being saved again."
CACHE_KEPT_AGAIN = "The KV cache is being saved again."
_LEFT_OUT = "{count} earlier {messages} not shown; the model still has them, and /export writes them."
_IN_CACHE = "Resumed “{title}”: {tokens} tokens restored to the KV cache in {seconds}."
_TO_READ = "Resumed “{title}”. The model reads it again with your next message."
_COPIED = "This is a copy; the original stays as it was: /resume"
_TITLE_CELLS = 60


class SessionsController:
    """Screen's thread only, but for what is called on a thread of its own."""

    def __init__(
        self,
        app: BaseApp,
        session: Session,
        controller: SessionController,
        writer: TranscriptWriter,
        report: AppReport | None,
        *,
        resume: Callable[[], None],
        leave: Callable[[], None],
        prune: Callable[[], Sequence[str]] | None = None,
    ) -> None:
        """Tell the parent process of every turn from now on.

        Args:
            report: what the parent reads; None without a parent.
            resume: called when a job of the session was started.
            leave: ends the app.
            prune: deletes old sessions, and returns sentences about it; None never deletes any.
        """
        self._app, self._session, self._sessions = app, session, session.sessions
        self._controller, self._writer, self._report = controller, writer, report
        self._resume, self._leave, self._prune = resume, leave, prune
        self._title = ""
        # What was said last about what is not kept, by what is said when it is kept again.
        self._failing = dict.fromkeys((KEPT_AGAIN, CACHE_KEPT_AGAIN), "")
        self._copying = False
        self._after_copy: Callable[[], None] | None = None
        controller.on_turn = self._tell

    # -- what the user wants

    def begin(self, wanted: str = "") -> None:
        """Before any model is loaded: resume a session, or let the user choose one; without one, start a new one."""

        def chosen(choice: "SessionChoice | None") -> None:
            if choice is None:
                self._controller.open()
            else:
                self._copying = choice.copy
                self._controller.open(partial(self._find, choice.session.id, copy=choice.copy))
            self._resume()

        if wanted:
            self._controller.open(lambda: wanted)
        else:
            self._pick(chosen)

    def go_on(self, wanted: str = "") -> None:
        """Resume a session, by its ID or title; without one, show the picker."""

        def chosen(choice: "SessionChoice | None") -> None:
            if choice is not None:
                self._start(choice.session.id, copy=choice.copy)

        if wanted:
            self._start(wanted)
        else:
            self._pick(chosen)

    def fork(self, after: Callable[[], None] | None = None, title: str = "") -> None:
        """Resume a copy of the open session; `after` is called when it is open."""
        if not self._sessions.open_id:
            notify(self._app, NOTHING_KEPT, "warning")
        elif self._start("", copy=True, title=title):
            self._after_copy = after

    def rename(self, title: str = "") -> None:
        """Give the open session a title; without one, ask for it."""
        session = self._sessions.open_id
        if not session:
            notify(self._app, NOTHING_KEPT, "warning")
            return

        def renamed(wanted: str | None) -> None:
            if wanted is not None:
                self._behind(partial(self._sessions.rename, session, wanted), lambda _: self._look_at_title())

        if title:
            renamed(" ".join(sanitize_line(title).split()))
            return
        from laguna_tui.tui.sessions.session_questions import TitleQuestion

        self._app.push_screen(TitleQuestion(self._title), renamed)

    def export(self) -> bool:
        """Write the open session to a file. Returns whether one is kept."""
        session = self._sessions.open_id
        if session:
            self._export(session)
        return bool(session)

    def _pick(self, chosen: "Callable[[SessionChoice | None], None]") -> None:
        from laguna_tui.tui.sessions.session_picker import SessionPicker

        self._app.push_screen(SessionPicker(self._sessions, self._export), chosen)

    def _start(self, session: str, *, copy: bool = False, title: str = "") -> bool:
        started = self._controller.resume(partial(self._find, session, copy=copy, title=title))
        if started:
            self._copying = copy
        else:
            notify(self._app, BUSY.format(command="/fork" if copy else "/resume"), "warning")
        self._resume()
        return started

    def _find(self, session: str, *, copy: bool, title: str = "") -> str:
        """The session to resume: itself, or a copy that is made now. On the session's thread."""
        return self._sessions.fork(session, title).id if copy else session

    def _export(self, session: str) -> None:
        """Write a session to a file in the current folder."""
        from laguna_tui.base.crash_log import create_private_file

        def write() -> Path:
            text, name = self._sessions.export(session, "markdown"), time.strftime("laguna-chat-%Y%m%d-%H%M%S")
            try:
                return create_private_file(Path.cwd(), name, ".md", text)
            except OSError as error:
                raise UserError(f"Not written: {error}. Start laguna-tui in a writable folder.") from None

        self._behind(write, lambda path: notify(self._app, f"Wrote {safe_path(path)}"))

    def _behind(self, do: Callable[[], T], done: Callable[[T], None]) -> None:
        """Do something that waits for the disk on a thread; what goes wrong is said."""
        BackgroundQuery[None, T](
            self._app,
            lambda _: do(),
            lambda _, result: done(result),
            lambda sentence: notify(self._app, sentence, "warning"),
        ).submit(None)

    # -- what becomes of it

    def handle(self, item: object) -> None:
        """Apply an event of the session."""
        if isinstance(item, SessionOpened):
            self._prune_once()
        match item:
            case SessionOpened(info) | SessionResumed(info) if info.resumed is not None:
                self._show(info.resumed)
            case SessionFailed():
                self._copying, self._after_copy = False, None
            case SessionElsewhere(session, folder, sentence):
                self._move(session, folder, sentence)
            case SessionFolderGone(session, folder, loading):
                self._ask_where(session, folder, loading=loading)
            case ChatCleared():
                self._open_is(None)
            case SessionIdle():
                self._look_at_title()
                self._follow_copy()
        if isinstance(item, TurnStarted | TurnFinished | SessionIdle):
            self._say_whether_kept()

    def _prune_once(self) -> None:
        """Delete old sessions where the settings say so, and say which. Not before the one that is wanted is open."""
        prune, self._prune = self._prune, None
        if prune is not None:
            self._behind(prune, self._say_pruned)

    def _say_pruned(self, sentences: Sequence[str]) -> None:
        for sentence in sentences:
            self._writer.add_notice(sanitize(sentence), "info")

    def _show(self, resumed: Resumed) -> None:
        """Show the turns that it continues with, and say what is not as it was."""
        if resumed.left_out:
            are = units.plural(resumed.left_out, "message is", "messages are")
            self._writer.add_notice(_LEFT_OUT.format(count=f"{resumed.left_out:,}", messages=are))
        self._writer.replay(safe_turns(resumed.events))
        title = crop(sanitize_line(resumed.summary.title), _TITLE_CELLS)
        tokens, seconds = f"{resumed.restored:,}", units.duration(resumed.seconds)
        words = _IN_CACHE if resumed.restored else _TO_READ
        self._writer.add_notice(words.format(title=title, tokens=tokens, seconds=seconds))
        for notice in resumed.notices:
            self._writer.add_notice(sanitize(notice), "warning")
        if self._copying:
            self._writer.add_notice(_COPIED)
        self._copying = False
        self._open_is(resumed.summary)
        self._app.transcript.action_follow()

    def _move(self, session: str, folder: Path, sentence: str) -> None:
        """Start the app again in the folder of a session."""
        if self._report is None:
            notify(self._app, sentence, "warning")
            return
        self._report.start_next(session, str(folder))
        self._leave()

    def _ask_where(self, session: str, folder: Path, *, loading: bool) -> None:
        """Ask where the folder of a session is now; without an answer, a new chat begins unless one is open."""
        from laguna_tui.tui.sessions.session_questions import FolderQuestion

        def answered(place: Path | None) -> None:
            if place is not None:
                self._behind(lambda: self._sessions.move(session, place), lambda _: self.go_on(session))
            elif loading:
                self._controller.open()
                self._resume()

        self._app.push_screen(FolderQuestion(folder), answered)

    def _follow_copy(self) -> None:
        after, self._after_copy = self._after_copy, None
        if after is not None:
            after()

    def _say_whether_kept(self) -> None:
        """Say once that something is not being kept, and once that it is again."""
        failing = self._sessions.failing
        for again, why in ((KEPT_AGAIN, failing.session), (CACHE_KEPT_AGAIN, failing.cache)):
            sentence = sanitize(why)
            if sentence != self._failing[again]:
                self._writer.add_notice(sentence or again, "warning" if sentence else "info")
            self._failing[again] = sentence

    def _look_at_title(self) -> None:
        if self._sessions.open_id:
            self._behind(lambda: self._sessions.current, self._open_is)

    def _open_is(self, session: SessionSummary | None) -> None:
        """Show which session is open, and have the parent know it."""
        if session is not None and session.id != self._sessions.open_id:
            # Another one was opened meanwhile.
            return
        title = self._title = " ".join(sanitize_line(session.title).split()) if session is not None else ""
        self._app.status_bar.status = replace(self._app.status_bar.status, title=title)
        if self._report is not None:
            self._report.keeps(session.id if session is not None else "", title)

    def _tell(self, event: TurnStarted | TurnFinished) -> None:
        """Tell the parent that this session is kept, before anything of it can crash. On the session's thread."""
        if self._report is None:
            return
        session = self._sessions.open_id
        if session:
            self._report.keeps(session, self._title or self._controller.asked)
        if isinstance(event, TurnFinished):
            self._report.turn_ended()
