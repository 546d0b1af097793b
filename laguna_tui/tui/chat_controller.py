"""Sends messages to the session and applies its events to the transcript, the bars and the other controllers.

The session's queue is polled at drawing speed while the session is busy.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from textual.timer import Timer

from laguna_engine.events import LoadProgress
from laguna_tui.base.events import (
    AgentEvent,
    CheckUnknown,
    ReplayCheck,
    ReplayProgress,
    ToolFinished,
    TurnEnd,
    TurnFinished,
    TurnStarted,
)
from laguna_tui.base.text import sanitize, sanitize_line
from laguna_tui.session.permissions import PermissionSettings
from laguna_tui.session.values import SessionInfo
from laguna_tui.tui.approvals.approval_controller import ApprovalController
from laguna_tui.tui.approvals.mode_controller import ModeController
from laguna_tui.tui.base_app import BaseApp
from laguna_tui.tui.context.context_screen import ContextScreen
from laguna_tui.tui.event_sanitizer import EventSanitizer, is_event, safe_path, safe_progress, safe_replay
from laguna_tui.tui.history.commit_controller import CommitController
from laguna_tui.tui.history.history_controller import HistoryController
from laguna_tui.tui.jobs_screen import JobsController
from laguna_tui.tui.modal import notify
from laguna_tui.tui.notification import Notifier
from laguna_tui.tui.process_setup import GcTuner
from laguna_tui.tui.prompt.prompt_controller import PromptController
from laguna_tui.tui.session_controller import SessionController
from laguna_tui.tui.session_messages import (
    NO_MODEL,
    ChatCleared,
    ContextChanged,
    ModeChanged,
    ModelChanged,
    SessionFailed,
    SessionFolderGone,
    SessionIdle,
    SessionOpened,
    SessionResumed,
    SessionState,
    error_sentence,
)
from laguna_tui.tui.sessions.sessions_controller import SessionsController
from laguna_tui.tui.speed.speed_controller import MODE_SENTENCES, SpeedController
from laguna_tui.tui.speed.speed_stats import MODE_NAMES
from laguna_tui.tui.status_bar import SessionStatus
from laguna_tui.tui.transcript.entries import WelcomeEntry
from laguna_tui.tui.transcript.transcript_writer import TranscriptWriter

# Fast enough to look continuous, slow enough to leave the processor to the model.
DRAWS_PER_SECOND = 20
NO_CHECK = (
    "The model changed files, and no command is known that checks this project. Name one with /check COMMAND, or use"
    " /check none if there is none."
)

GO_ON = "The connection was lost before you were done. Go on where you stopped."
"""What is sent to retry: in the user's place, so that nothing is sent that they do not see."""


class ChatController:
    """Sends messages and shows events. Screen's thread only.

    Attributes:
        plan: how the model was opened, sanitised: a summary, then `subject: sentence` lines.
    """

    def __init__(
        self,
        app: BaseApp,
        controller: SessionController,
        writer: TranscriptWriter,
        *,
        title: str,
        folder: Path,
        speed: SpeedController,
        permissions: PermissionSettings,
        approvals: ApprovalController,
        modes: ModeController,
        jobs: JobsController,
        notifier: Notifier,
        typing: PromptController,
        history: HistoryController,
        commits: CommitController,
        sessions: SessionsController,
    ) -> None:
        self._app, self._controller, self._writer = app, controller, writer
        self._transcript, self._prompt = app.transcript, app.prompt
        self._hint_bar, self._status_bar = app.hint_bar, app.status_bar
        self._speed, self._typing = speed, typing
        self._permissions, self._approvals, self._modes = permissions, approvals, modes
        self._jobs, self._notifier = jobs, notifier
        self._history, self._commits, self._sessions = history, commits, sessions
        self._model, self._folder = sanitize_line(title), safe_path(folder)
        self._is_first_notice = partial(app.settings.is_first_notice, "check", folder)
        self._sanitizer = EventSanitizer()
        self._gc = GcTuner()
        self._welcome = WelcomeEntry(self._model, self._folder)
        self._warned: set[str] = set()
        self._sent_at = 0.0
        self._answered = False
        # A turn that begins and never ends was ended by an error.
        self._broken = False
        self._poller: Timer | None = None
        self.plan: tuple[str, ...] = ()

    def open(self, resume: str | None = None) -> None:
        """Show the first entry, and load the model or resume a session; empty: let the user choose one first."""
        self._status_bar.status = SessionStatus(model=self._model, folder=self._folder)
        self._poller = self._app.set_interval(1 / DRAWS_PER_SECOND, self._poll)
        self._transcript.document.append(self._welcome)
        self._transcript.update_rows()
        if resume is None:
            self._controller.open()
        else:
            self._sessions.begin(resume)

    # -- to the session

    def send(self, message: str, *, later: bool = False) -> None:
        """Send a message: at once, into the turn that runs, or when the session is free.

        later: not into the turn that runs.
        """
        if self._controller.state is SessionState.FAILED:
            notify(self._app, NO_MODEL, "warning")
            self._prompt.replace_text(message)
            return
        if self._modes.asking:
            self._modes.end()
        if not later and self._controller.steer(message):
            self._transcript.follow()
        elif self._controller.send(message):
            self._sent_at = time.monotonic()
            self._writer.add_question(sanitize(message))
            self._transcript.follow()
        self.resume()

    def stop(self) -> None:
        """Stop the answer; queued messages return to the input."""
        if self._controller.state is not SessionState.BUSY:
            return
        self._controller.stop()
        self._restore_queued()
        self.show()

    def new_chat(self) -> None:
        """Forget the conversation."""
        if self._controller.state is SessionState.FAILED:
            notify(self._app, NO_MODEL, "warning")
            return
        self._controller.new_chat()
        self._writer.clear()
        self._transcript.document.append(self._welcome)
        self._transcript.action_follow()
        self.resume()

    def retry(self) -> None:
        """Have an answer that broke off go on, or load the model again where it could not be loaded."""
        if self._controller.state is SessionState.FAILED:
            self._controller.state = SessionState.LOADING
            self._controller.open()
            self.resume()
        elif self._controller.busy:
            notify(self._app, "The session is busy. Stop it with Esc, then /retry.", "warning")
        elif not self._broken:
            notify(self._app, "There is nothing to retry: no answer was cut off.")
        else:
            self.send(GO_ON, later=True)

    def check_replay(self) -> None:
        """Generate the last answer again without speculation, and compare."""
        if not self._controller.check_replay():
            notify(self._app, "The session is busy. Stop it with Esc, then press F5.", "warning")
            return
        self._transcript.follow()
        self.resume()

    def compact(self, guidance: str) -> None:
        """Make room in the context now; `guidance` says what to keep, and may be empty."""
        if self._controller.state is SessionState.FAILED:
            notify(self._app, NO_MODEL, "warning")
        elif not self._controller.compact(guidance):
            notify(self._app, "The session is busy. Stop it with Esc, then /compact.", "warning")
        else:
            self._sent_at = time.monotonic()
            self._transcript.follow()
            self.resume()

    def say(self, done: Callable[[], str]) -> None:
        """Run `done` on its own thread, since it may wait for a file or a process, and show the sentence it returns.

        An empty one is not shown.
        """

        def do() -> None:
            try:
                text, kind = sanitize(done()), "info"
            except Exception as error:
                text, kind = error_sentence(error), "error"
            if text:
                self._app.call_later(self._show_sentence, text, kind)

        threading.Thread(target=do, name="laguna-command", daemon=True).start()

    def _show_sentence(self, text: str, kind: str) -> None:
        """Show a sentence now; the poller may be paused."""
        self._writer.add_notice(text, kind)
        self._transcript.follow()
        self.show()

    def resume(self) -> None:
        """Resume polling and update the screen."""
        self.watch()
        self.show()

    def watch(self) -> None:
        """Resume polling."""
        if self._poller is not None:
            self._poller.resume()

    def _restore_queued(self) -> None:
        """Move queued messages into the input."""
        self._restore(self._controller.unqueue())

    def _restore(self, waiting: str) -> None:
        if waiting:
            self._prompt.replace_text("\n".join(part for part in (self._prompt.text, waiting) if part))

    # -- from the session

    def _poll(self) -> None:
        """Apply all new events, then update the screen once."""
        if not self._app.screen_stack:
            # The app is closing: Textual takes the screens away before the timers.
            return
        for item in self._controller.poll():
            self._apply(item)
        queued = self._controller.next_queued()
        if queued is not None:
            self.send(queued)
        self.show()

    def show(self) -> None:
        """Update the screen."""
        # Asked for only when there is something to show: most polls have no question.
        if self._approvals.asking or self._writer.asked is not None:
            self._approvals.show()
        if self._modes.asking:
            self._modes.show()
        self._status_bar.status = replace(
            self._status_bar.status,
            state=self._controller.state,
            prefetching=self._controller.prefetching,
            asking=self._approvals.asking,
            permissions=self._permissions.mode,
        )
        if not self._controller.free:
            self._typing.busy()
        self._hint_bar.queued = tuple(sanitize_line(message) for message in self._controller.queued)
        self._writer.show_waiting([sanitize(message) for message in self._controller.steered])
        self._speed.show(busy=self._controller.busy)
        self._transcript.update_rows()
        if self._poller is not None and not self._controller.busy:
            self._poller.pause()

    def _apply(self, item: object) -> None:
        if isinstance(item, LoadProgress):
            item = safe_progress(item)
        elif is_event(item):
            item = self._sanitizer.safe(item)
            self._writer.apply(item)
            self._speed.tracker.update(item)
            self._follow_up(item)
        elif isinstance(item, ReplayProgress | ReplayCheck):
            item = safe_replay(item) if isinstance(item, ReplayCheck) else item
            self._writer.show_replay(item)
        self._status_bar.status = self._status_bar.status.updated(item)
        self._typing.handle(item)
        self._react(item)
        self._history.handle(item)
        self._sessions.handle(item)
        self._commits.handle(item)

    def _react(self, item: object) -> None:
        """Handle a change of the session's state."""
        match item:
            case SessionOpened(info, used):
                self._welcome.set_details(sanitize_line(info.details))
                self._opened(info)
                self._restore(self._controller.take_returned())
                self._status_bar.status = replace(self._status_bar.status, used=used)
                self._gc.collect_and_freeze()
            case ModeChanged(info):
                self._opened(info)
                notify(self._app, MODE_SENTENCES[info.mode] if info.mode else "The mode was changed.")
            case ModelChanged(info, title):
                self._changed(info, title)
                how = f" with {self.plan[0]}" if self.plan else ""
                words = f"{self._model} answers from here on{how}. It reads the conversation with your next message."
                self._writer.add_notice(words)
                self._gc.collect_and_freeze()
            case SessionResumed(info, title, used):
                self._writer.clear()
                self._changed(info, title)
                self._transcript.document.append(self._welcome)
                self._status_bar.status = replace(self._status_bar.status, used=used)
                self._gc.collect_and_freeze()
            case SessionFailed() | SessionFolderGone():
                self._fail(item)
            case SessionIdle():
                self._idle()
            case ContextChanged(used):
                self._status_bar.status = replace(self._status_bar.status, used=used)
                notify(self._app, "The context changes with the next message.")
            case ChatCleared():
                self._status_bar.status = replace(self._status_bar.status, used=0, rate=None, prefill=None)

    def _fail(self, item: SessionFailed | SessionFolderGone) -> None:
        self._status_bar.status = replace(self._status_bar.status, replay=None, load=None)
        if isinstance(item, SessionFailed):
            self._writer.add_error(item.sentence)
            if self._controller.state is SessionState.FAILED:
                self._restore_queued()

    def _follow_up(self, event: AgentEvent) -> None:
        """Do what follows from an event of the agent, besides showing it."""
        if isinstance(event, ToolFinished):
            # It may have started a command in the background.
            self._jobs.watch()
        elif isinstance(event, CheckUnknown) and NO_CHECK not in self._warned:
            self._warned.add(NO_CHECK)
            self.say(lambda: NO_CHECK if self._is_first_notice() else "")
        elif isinstance(event, TurnStarted):
            self._broken = True
        elif isinstance(event, TurnFinished):
            self._broken = False
            self._answered = event.end is TurnEnd.ANSWERED
            self._notifier.turn_ended(time.monotonic() - self._sent_at)

    def _idle(self) -> None:
        """The session is free again."""
        self._restore(self._controller.take_returned())
        self._writer.settle()
        if self._answered:
            self._modes.answered()
        self._answered = False
        self._gc.collect_and_freeze()
        if isinstance(self._app.screen, ContextScreen):
            self._app.screen.reload()

    def _changed(self, info: SessionInfo, title: str) -> None:
        """Show which model answers now."""
        self._model = sanitize_line(title)
        self._welcome = WelcomeEntry(self._model, self._folder)
        self._welcome.set_details(sanitize_line(info.details))
        self._status_bar.status = replace(self._status_bar.status, model=self._model, used=0, rate=None)
        self._opened(info)

    def _opened(self, info: SessionInfo) -> None:
        """Apply the properties of the opened model."""
        mode = MODE_NAMES[info.mode] if info.mode else ""
        self._status_bar.status = replace(self._status_bar.status, size=info.context_size, load=None, mode=mode)
        self._typing.context_size = info.context_size
        self._speed.tracker.mode, self._speed.tracker.drafter = info.mode, sanitize_line(info.drafter)
        self._speed.no_strict = sanitize_line(info.no_strict)
        self._speed.tracker.not_shown = sanitize_line(info.not_shown)
        self.plan = tuple(map(sanitize_line, info.plan))
        for warning in info.warnings:
            if warning not in self._warned:
                self._writer.add_notice(sanitize(warning), "warning")
        self._warned.update(info.warnings)
