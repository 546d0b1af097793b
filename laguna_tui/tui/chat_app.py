"""The app with a session: sends messages, and shows the session's events. The features are controllers on top."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from textual.timer import Timer

from laguna_engine.events import LoadProgress
from laguna_tui.base.events import (
    AgentEvent,
    AsideDelta,
    CheckUnknown,
    ReplayCheck,
    ReplayProgress,
    TurnFinished,
    TurnStarted,
)
from laguna_tui.base.text import sanitize, sanitize_line
from laguna_tui.session.session import Session
from laguna_tui.session.values import SessionInfo
from laguna_tui.tui.base_app import BaseApp
from laguna_tui.tui.controller import Controller
from laguna_tui.tui.event_sanitizer import (
    EventSanitizer,
    error_sentence,
    is_event,
    safe_path,
    safe_progress,
    safe_replay,
)
from laguna_tui.tui.modal import notify
from laguna_tui.tui.process_setup import GcTuner
from laguna_tui.tui.session_controller import (
    NO_MODEL,
    Flow,
    SessionBusyError,
    SessionController,
    SessionState,
)
from laguna_tui.tui.speed.speed_stats import MODE_NAMES
from laguna_tui.tui.status_bar import SessionStatus
from laguna_tui.tui.transcript.entries import QuestionEntry, WelcomeEntry
from laguna_tui.tui.transcript.transcript_writer import TranscriptWriter
from laguna_tui.tui.tui_settings import TuiSettings

# Fast enough to look continuous, slow enough to leave the processor to the model.
DRAWS_PER_SECOND = 20
NO_CHECK = (
    "The model changed files, but no command is set that checks this project. Set one with /check COMMAND, or stop this"
    " notice with /check none."
)
GO_ON = "The connection was lost before you were done. Continue where you stopped."
"""What is sent to retry: in the user's place, so that nothing is sent that they do not see."""


class ChatApp(BaseApp):
    """Sends messages and shows events.

    Attributes:
        session: what answers.
        controller: the state of the session, and its jobs.
        writer: writes into the transcript.
        controllers: the features, in the order in which they are called.
        plan: how the model was opened, sanitised: a summary, then `subject: sentence` lines.
        sent_at: when the last message was sent, on the monotonic clock.
    """

    def __init__(self, session: Session, settings: TuiSettings) -> None:
        folder = safe_path(session.folder.path)
        super().__init__(settings, placeholder=f"Ask about {folder.rpartition('/')[2] or folder}")
        self.session = session
        self.controller = SessionController(session, self._start_flow)
        self.controller.on_end = self._show_events
        self.controller.on_idle = self._idle
        self.controller.on_change = self._resume
        self.writer = TranscriptWriter(self.document)
        self.controllers: Sequence[Controller] = ()
        self.plan: tuple[str, ...] = ()
        self.sent_at = 0.0
        self._model, self._folder = sanitize_line(session.title), safe_path(session.folder.path)
        self._welcome = WelcomeEntry(self._model, self._folder)
        self._sanitizer = EventSanitizer()
        self._gc = GcTuner()
        self._warned: set[str] = set()
        # A turn that begins and never ends was ended by an error.
        self._cut_off = False
        self._poller: Timer | None = None

    @property
    def state(self) -> SessionState:
        """The state of the session."""
        return self.controller.state

    @property
    def is_empty(self) -> bool:
        """Whether nothing has been asked in this chat."""
        return not any(isinstance(entry, QuestionEntry) for entry in self.document.entries)

    def begin(self) -> None:
        """Show the first entry, and poll from now on."""
        self.status_bar.status = SessionStatus(model=self._model, folder=self._folder)
        self._poller = self.set_interval(1 / DRAWS_PER_SECOND, self._poll)
        self.document.append(self._welcome)
        self.transcript.update_rows()

    async def open_model(self) -> None:
        """Load the model."""
        info = await self.controller.load(self.session.open)
        self.show_opened(info)

    # -- to the session

    def send(self, message: str, *, later: bool = False) -> None:
        """Send a message: at once, into the turn that runs, or when the session is free.

        later: not into the turn that runs.
        """
        if self.state is SessionState.FAILED:
            notify(self, NO_MODEL, "warning")
            self.prompt.replace_text(message)
        elif not later and self.controller.steer(message):
            self.transcript.follow()
        elif self.controller.send(message):
            self.sent_at = time.monotonic()
            self.writer.add_question(sanitize(message))
            self.transcript.follow()
        self._resume()

    def stop(self) -> None:
        """Stop the answer; queued messages return to the input."""
        if self.state is SessionState.BUSY:
            self.controller.stop()
            self._restore(self.controller.unqueue())
            self.show()

    def action_new_chat(self) -> None:
        if self.state is SessionState.FAILED:
            notify(self, NO_MODEL, "warning")
            return
        self.controller.clear()
        self.writer.clear()
        self.document.append(self._welcome)
        self.transcript.action_follow()
        self.run_job(self._new_chat())

    async def _new_chat(self) -> None:
        await self.controller.new_chat()
        self.update_status(used=0, rate=None, prefill=None)
        for controller in self.controllers:
            controller.cleared()

    def action_retry(self) -> None:
        """Continue an answer that was cut off, or load the model again where it could not be loaded."""
        if self.state is SessionState.FAILED:
            self.run_job(self.open_model())
        elif self.controller.busy:
            notify(self, "The session is busy. Stop it with Esc, then /retry.", "warning")
        elif not self._cut_off:
            notify(self, "There is nothing to retry: no answer was cut off.")
        else:
            self.send(GO_ON, later=True)

    def action_prove(self) -> None:
        """Generate the last answer again without speculation, and compare."""
        self.run_job(self._run_shown(self._check_replay, "/prove"))

    def _check_replay(self) -> None:
        self.controller.put(ReplayProgress(0, 0))
        self.controller.put(self.session.chat.check_replay(self.controller.put))

    def action_compact(self, guidance: str = "") -> None:
        """Make room in the context now; `guidance` says what to keep, and may be empty."""
        compact = partial(self.session.chat.compact, guidance)
        self.run_job(self._run_shown(lambda: self.controller.pass_on(compact()), "/compact"))

    async def _run_shown(self, job: Callable[[], None], command: str) -> None:
        """Run a job that the transcript shows."""
        self.controller.require_free(command)
        self.sent_at = time.monotonic()
        self.transcript.follow()
        await self.controller.run(job, command)

    def run_job(self, flow: Flow) -> None:
        """Run a flow of the session in a worker, and show what goes wrong. Messages sent from now on come after it."""
        self.controller.hold()
        self._start_flow(flow)

    def _start_flow(self, flow: Flow) -> None:
        self.start_work(partial(self._guarded, flow), "session")

    async def _guarded(self, flow: Flow) -> None:
        try:
            await flow
        except SessionBusyError as error:
            notify(self, str(error), "warning")
        except Exception as error:
            self.update_status(replay=None, load=None)
            self.writer.add_error(error_sentence(error))
            if self.state is SessionState.FAILED:
                self._restore(self.controller.unqueue())
            self.show()
        finally:
            self.controller.release()

    def say(self, sentence: Callable[[], str]) -> None:
        """Show the sentence that a function returns, unless it is empty; it runs on a thread, since it may wait."""
        self.start_work(partial(self._say, sentence), "say")

    async def _say(self, sentence: Callable[[], str]) -> None:
        try:
            text, kind = sanitize(await asyncio.to_thread(sentence)), "info"
        except Exception as error:
            text, kind = error_sentence(error), "error"
        if text:
            self.writer.add_notice(text, kind)
            self.transcript.follow()
            self.show()

    def _restore(self, waiting: str) -> None:
        """Move messages that were not sent into the input."""
        if waiting:
            self.prompt.replace_text("\n".join(part for part in (self.prompt.message, waiting) if part))

    # -- from the session

    def update_status(self, **changes: object) -> None:
        """Change values of the status bar; see `SessionStatus`."""
        self.status_bar.status = replace(self.status_bar.status, **changes)  # type: ignore[arg-type]

    def _resume(self) -> None:
        """Resume polling and update the screen."""
        if self._poller is not None and self.screen_stack:
            self._poller.resume()
            self.show()

    def _poll(self) -> None:
        """Show all new events, then start what waits for the session."""
        # While the app is closing, Textual takes the screens away before the timers and workers.
        if not self.screen_stack:
            return
        self._show_events()
        if not self.controller.start_change() and (queued := self.controller.next_queued()) is not None:
            self.send(queued)
        self.show()

    def show(self) -> None:
        """Update the screen."""
        for controller in self.controllers:
            controller.show()
        self.update_status(
            state=self.state, prefetching=self.controller.prefetching, permissions=self.session.permissions.mode
        )
        self.key_bar.busy = self.state is SessionState.BUSY
        self.hint_bar.queued = tuple(map(sanitize_line, self.controller.queued))
        self.writer.show_waiting([sanitize(message) for message in self.controller.steered])
        self.transcript.update_rows()
        if self._poller is not None and not self.controller.busy:
            self._poller.pause()

    def _show_events(self) -> None:
        for item in self.controller.poll():
            if is_event(item):
                event = self._sanitizer.safe(item)
                self.writer.apply(event)
                self._received(event)
                self.status_bar.status = self.status_bar.status.updated(event)
            elif isinstance(item, AsideDelta):
                self.writer.extend_aside(self._sanitizer.aside.sanitize(item.text))
            elif isinstance(item, LoadProgress):
                self.status_bar.status = self.status_bar.status.updated(safe_progress(item))
            elif isinstance(item, ReplayProgress | ReplayCheck):
                check = safe_replay(item) if isinstance(item, ReplayCheck) else item
                self.writer.show_replay(check)
                self.status_bar.status = self.status_bar.status.updated(check)

    def _received(self, event: AgentEvent) -> None:
        if isinstance(event, TurnStarted | TurnFinished):
            self._cut_off = isinstance(event, TurnStarted)
        elif isinstance(event, CheckUnknown) and NO_CHECK not in self._warned:
            self._warned.add(NO_CHECK)
            is_first = partial(self.settings.is_first_notice, "check", self.session.folder.path)
            self.say(lambda: NO_CHECK if is_first() else "")
        for controller in self.controllers:
            controller.received(event)

    def _idle(self) -> None:
        if not self.screen_stack:
            return
        self._restore(self.controller.take_returned())
        self.writer.settle()
        for controller in self.controllers:
            controller.idle()
        self._gc.collect_and_freeze()

    def show_model(self, info: SessionInfo) -> None:
        """Show that another model answers from now on."""
        self._change_model(info)
        reads = " It reads the conversation with your next message."
        if self.is_empty:
            self.writer.clear()
            self.document.append(self._welcome)
            reads = ""
        self.show_opened(info)
        how = f" with {self.plan[0]}" if self.plan else ""
        self.writer.add_notice(f"{self._model} answers from now on{how}.{reads}")
        self.show()

    def show_resumed(self, info: SessionInfo) -> None:
        """Show another session instead of this one."""
        self.writer.clear()
        self._change_model(info)
        self.document.append(self._welcome)
        self.show_opened(info)

    def _change_model(self, info: SessionInfo) -> None:
        self._model = sanitize_line(self.session.title)
        self._welcome = WelcomeEntry(self._model, self._folder)
        self.update_status(model=self._model, used=0, rate=None)

    def show_opened(self, info: SessionInfo) -> None:
        """Show the properties of the open model."""
        mode = MODE_NAMES[info.mode] if info.mode else ""
        self._welcome.set_details(sanitize_line(info.details), sanitize_line(info.abilities))
        self.update_status(size=info.context_size, load=None, mode=mode)
        self.plan = tuple(map(sanitize_line, info.plan))
        for warning in info.warnings:
            if warning not in self._warned:
                self.writer.add_notice(sanitize(warning), "warning")
        self._warned.update(info.warnings)
        for controller in self.controllers:
            controller.opened(info)
        self.show()
