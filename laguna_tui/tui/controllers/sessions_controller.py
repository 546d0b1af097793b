"""Resumes, renames, forks and exports saved sessions, and reports to the parent process which one is open."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from laguna_tui.base import units
from laguna_tui.base.app_report import AppReport
from laguna_tui.base.events import AgentEvent, TurnFinished, TurnStarted
from laguna_tui.base.text import sanitize, sanitize_line
from laguna_tui.session.values import NOTHING_TO_EXPORT, FolderGoneError, OtherFolderError, Resumed, SessionInfo
from laguna_tui.store.session_summary import SessionSummary
from laguna_tui.tui.chat_app import ChatApp
from laguna_tui.tui.controller import Controller
from laguna_tui.tui.event_sanitizer import error_sentence, safe_path, safe_turns
from laguna_tui.tui.modal import notify
from laguna_tui.tui.session_controller import Put, SessionState
from laguna_tui.tui.text_lines import crop
from laguna_tui.tui.transcript.export import chat_text

if TYPE_CHECKING:
    from laguna_tui.tui.sessions.session_picker import SessionChoice

T = TypeVar("T")

NOTHING_KEPT = "This chat is not saved yet: send a message first."
KEPT_AGAIN = "The session is being saved again."
CACHE_KEPT_AGAIN = "The KV cache is being saved again."
_LEFT_OUT = "{count} earlier {messages} not shown; the model still has them, and /export writes them."
_IN_CACHE = "Resumed “{title}”: {tokens} tokens restored to the KV cache in {seconds}."
_TO_READ = "Resumed “{title}”. The model reads it again with your next message."
_COPIED = "This is a copy. The original is unchanged: /resume"
_TITLE_CELLS = 60


class SessionsController(Controller):
    """Screen's thread only, but for what is called on a thread of its own."""

    def __init__(self, app: ChatApp, report: AppReport | None, leave: Callable[[], None]) -> None:
        """Report every turn to the parent process from now on.

        Args:
            report: what the parent reads; None without a parent.
            leave: ends the app.
        """
        self._app, self._sessions, self._report, self._leave = app, app.session.sessions, report, leave
        self._prune = app.settings.prune_sessions
        self._title = ""
        # What was reported last about what cannot be saved, by the sentence for when it can be saved again.
        self._failing = dict.fromkeys((KEPT_AGAIN, CACHE_KEPT_AGAIN), "")
        app.controller.on_turn = self._report_turn

    # -- what the user wants

    def begin(self, wanted: str = "") -> None:
        """Before any model is loaded: resume a session, or let the user choose one; without one, start a new one."""

        def chosen(choice: "SessionChoice | None") -> None:
            if choice is not None:
                self._app.run_job(self._open(choice.session.id, copy=choice.copy))
            else:
                self._app.run_job(self._app.open_model())

        if wanted:
            self._app.run_job(self._open(wanted))
        else:
            self._pick(chosen)

    def resume(self, wanted: str = "") -> None:
        """Resume a session, by its ID or title; without one, show the picker."""

        def chosen(choice: "SessionChoice | None") -> None:
            if choice is not None:
                self._app.run_job(self._resume(choice.session.id, copy=choice.copy))

        if wanted:
            self._app.run_job(self._resume(wanted))
        else:
            self._pick(chosen)

    def _pick(self, chosen: "Callable[[SessionChoice | None], None]") -> None:
        from laguna_tui.tui.sessions.session_picker import SessionPicker

        # At once, not in a worker: keys that were typed ahead are meant for it.
        self._app.push_screen(SessionPicker(self._sessions, self._export), chosen)

    def fork(self, title: str = "") -> None:
        """Resume a copy of the open session."""
        self._app.run_job(self.resume_copy(title))

    async def resume_copy(self, title: str = "") -> bool:
        """Resume a copy of the open session. Returns whether it is open."""
        if self._sessions.open_id:
            return await self._resume("", copy=True, title=title)
        notify(self._app, NOTHING_KEPT, "warning")
        return False

    def rename(self, title: str = "") -> None:
        """Give the open session a title; without one, ask for it."""
        session = self._sessions.open_id
        if not session:
            notify(self._app, NOTHING_KEPT, "warning")
            return

        def chosen(wanted: str | None) -> None:
            if wanted:
                self._app.start_work(partial(self._rename, session, wanted))

        if title:
            chosen(" ".join(sanitize_line(title).split()))
            return
        from laguna_tui.tui.sessions.session_questions import TitleQuestion

        self._app.push_screen(TitleQuestion(self._title), chosen)

    async def _rename(self, session: str, title: str) -> None:
        await self._try(lambda: self._sessions.rename(session, title))
        await self._update_title()

    def export(self, target: str = "") -> None:
        """Write the conversation to a file, or into the folder of exports; as saved, else as shown."""
        self._app.run_worker(self._export_to(self._sessions.open_id, target))

    def _export(self, session: str) -> None:
        """Write a session into the folder of exports."""
        self._app.run_worker(self._export_to(session, ""))

    async def _export_to(self, session: str, target: str) -> None:
        shown = "" if session else chat_text(self._app.document, "laguna-tui")
        if not session and not shown:
            notify(self._app, NOTHING_TO_EXPORT)
            return
        path = await self._try(partial(self._sessions.export_path, target, self._app.settings.state_dir))
        if path is None:
            return
        exists = await asyncio.to_thread(path.exists)
        if target and exists:
            from laguna_tui.tui.sessions.session_questions import ReplaceQuestion

            if not await self._app.push_screen_wait(ReplaceQuestion(path)):
                return

        write = partial(self._sessions.write_export, path, session, shown=shown, replace=bool(target))
        if (written := await self._try(write)) is not None:
            notify(self._app, f"Wrote {safe_path(written)}")

    async def _try(self, job: Callable[[], T]) -> T | None:
        """Run something that waits for the disk on a thread. Returns None if it failed, which is notified."""
        try:
            return await asyncio.to_thread(job)
        except Exception as error:
            notify(self._app, error_sentence(error), "warning")
            return None

    # -- resuming

    async def _resume(self, session: str, *, copy: bool = False, title: str = "") -> bool:
        """Resume a session or, with `copy`, a copy of it that is made now. Returns whether it is open."""
        if self._app.state is not SessionState.FAILED:
            self._app.controller.require_free("/fork" if copy else "/resume")
        return await self._open(session, copy=copy, title=title)

    async def _open(self, session: str, *, copy: bool = False, title: str = "") -> bool:
        app = self._app

        def resume(put: Put) -> tuple[SessionInfo, int]:
            found = self._sessions.fork(session, title).id if copy else session
            return self._sessions.resume(found, put), app.controller.used()

        try:
            info, used = await app.controller.load(resume, "session")
        except OtherFolderError as error:
            self._move(error)
        except FolderGoneError as error:
            await self._ask_where(error)
        else:
            app.show_resumed(info)
            app.update_status(used=used)
            if copy:
                app.writer.add_notice(_COPIED)
                app.show()
            return True
        return False

    def _move(self, error: OtherFolderError) -> None:
        """Start the app again in the folder of a session."""
        if self._report is None:
            notify(self._app, error_sentence(error), "warning")
            return
        self._report.start_next(error.session, str(error.folder))
        self._leave()

    async def _ask_where(self, error: FolderGoneError) -> None:
        """Ask where the folder of a session is now; without an answer, a new chat begins unless one is open."""
        from laguna_tui.tui.sessions.session_questions import FolderQuestion

        self._app.update_status(load=None)
        place = await self._app.push_screen_wait(FolderQuestion(error.folder))
        if place is not None:
            await self._try(lambda: self._sessions.move(error.session, place))
            await self._resume(error.session)
        elif self._app.state is SessionState.FAILED:
            await self._app.open_model()

    # -- the open session

    def opened(self, info: SessionInfo) -> None:
        prune, self._prune = self._prune, None
        if prune is not None:
            self._app.start_work(partial(self._prune_old, prune))
        if info.resumed is not None:
            self._show(info.resumed)

    def received(self, event: AgentEvent) -> None:
        if isinstance(event, TurnStarted | TurnFinished):
            self._report_saving()

    def idle(self) -> None:
        self._app.start_work(self._update_title, "title", newest=True)
        self._report_saving()

    def cleared(self) -> None:
        self._set_open(None)

    async def _prune_old(self, prune: Callable[[], Sequence[str]]) -> None:
        """Delete old sessions where the settings say so, and say which. Not before the one that is wanted is open."""
        for sentence in await self._try(prune) or ():
            self._app.writer.add_notice(sanitize(sentence))
        self._app.show()

    def _show(self, resumed: Resumed) -> None:
        """Show the turns that it continues with, and say what is not as it was."""
        writer = self._app.writer
        if resumed.left_out:
            are = units.plural(resumed.left_out, "message is", "messages are")
            writer.add_notice(_LEFT_OUT.format(count=f"{resumed.left_out:,}", messages=are))
        writer.replay(safe_turns(resumed.events))
        title = crop(sanitize_line(resumed.summary.title), _TITLE_CELLS)
        tokens, seconds = f"{resumed.restored:,}", units.duration(resumed.seconds)
        words = _IN_CACHE if resumed.restored else _TO_READ
        writer.add_notice(words.format(title=title, tokens=tokens, seconds=seconds))
        for notice in resumed.notices:
            writer.add_notice(sanitize(notice), "warning")
        self._set_open(resumed.summary)
        self._app.transcript.action_follow()

    def _report_saving(self) -> None:
        """Say once that something cannot be saved, and once that it is saved again."""
        failing = self._sessions.failing
        for again, why in ((KEPT_AGAIN, failing.session), (CACHE_KEPT_AGAIN, failing.cache)):
            sentence = sanitize(why)
            if sentence != self._failing[again]:
                self._app.writer.add_notice(sentence or again, "warning" if sentence else "info")
            self._failing[again] = sentence

    async def _update_title(self) -> None:
        if self._sessions.open_id:
            session = await self._try(lambda: self._sessions.current)
            # Meanwhile another one may have been opened.
            if session is not None and session.id == self._sessions.open_id:
                self._set_open(session)

    def _set_open(self, session: SessionSummary | None) -> None:
        """Show which session is open, and report it to the parent."""
        self._title = " ".join(sanitize_line(session.title).split()) if session is not None else ""
        self._app.update_status(title=self._title if session is not None and session.turns else "")
        if self._report is not None:
            self._report.session_saved(session.id if session is not None else "", self._title)

    def _report_turn(self, event: TurnStarted | TurnFinished) -> None:
        """Report that this session is saved, before anything of it can crash. On the session's thread."""
        if self._report is None:
            return
        session = self._sessions.open_id
        if session:
            self._report.session_saved(session, self._title or self._app.controller.last_message)
        if isinstance(event, TurnFinished):
            self._report.turn_ended()
