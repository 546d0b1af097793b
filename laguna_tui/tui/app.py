"""The app: connects the session, the controllers and the widgets, and maps keys and commands to them.

The screen shows at once; the model loads in the background, and messages sent meanwhile are queued.
"""

import asyncio
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from textual import on

from laguna_tui.base.app_report import AppReport
from laguna_tui.models.model_setup import ModelSetup
from laguna_tui.session.session import Session
from laguna_tui.tui.app_actions import AppActions
from laguna_tui.tui.approvals.approval_controller import ApprovalController
from laguna_tui.tui.approvals.approval_panel import ApprovalPanel
from laguna_tui.tui.approvals.mode_controller import ModeController
from laguna_tui.tui.chat_controller import ChatController
from laguna_tui.tui.driver import TerminalClosed
from laguna_tui.tui.event_sanitizer import safe_path
from laguna_tui.tui.history.commit_controller import CommitController
from laguna_tui.tui.history.history_controller import HistoryController
from laguna_tui.tui.jobs_screen import JobsController
from laguna_tui.tui.modal import notify
from laguna_tui.tui.models.model_controller import ModelController
from laguna_tui.tui.notification import Notifier
from laguna_tui.tui.process_setup import on_ending_signals
from laguna_tui.tui.prompt.input_history import InputDraft
from laguna_tui.tui.prompt.prompt_controller import PromptController
from laguna_tui.tui.prompt.prompt_input import PromptInput
from laguna_tui.tui.serve_screen import ServeController
from laguna_tui.tui.session_controller import SessionController
from laguna_tui.tui.session_messages import SessionState
from laguna_tui.tui.sessions.sessions_controller import SessionsController
from laguna_tui.tui.shell_controller import ShellController
from laguna_tui.tui.slash_commands import argument, find, is_slash
from laguna_tui.tui.speed.speed_controller import SpeedController
from laguna_tui.tui.transcript.transcript_writer import TranscriptWriter
from laguna_tui.tui.tui_settings import TuiSettings

# Seconds in which a second Ctrl+C quits.
TWICE_S = 1.5
# Exit codes above it are those of signals.
_SIGNALLED = 128
_PARENT_GONE = "its parent process was killed"


class LagunaApp(AppActions):
    """The TUI.

    Attributes:
        return_code: 128 + n after signal n.
        ended_by: why it ended otherwise than by the user's wish: a signal, a failure of the screen; else empty.
    """

    def __init__(
        self,
        session: Session,
        settings: TuiSettings,
        model_setup: ModelSetup | None = None,
        question: str = "",
        report: AppReport | None = None,
        *,
        resume: str | None = None,
    ) -> None:
        """Create an app that has opened nothing.

        Args:
            session: what answers.
            settings: of the TUI.
            model_setup: what the setup screen finds out and does; None shows none.
            question: sent once the model is ready; mostly empty.
            report: what the parent process reads; None without one.
            resume: the saved session to resume, empty to let the user choose one first; None for a new one.
        """
        super().__init__(settings, placeholder=f"Ask about {safe_path(session.folder.path)}")
        self._session = session
        controller = self._controller = SessionController(session)
        writer = self.writer = TranscriptWriter(self.document)
        prompt, hint_bar, transcript = self.prompt, self.hint_bar, self.transcript
        self.speed_controller = SpeedController(
            self, controller, writer, panel=self.speed_panel, hint_bar=hint_bar, transcript=transcript
        )
        notifier = Notifier(self, enabled=settings.notify)
        self.approvals = ApprovalController(
            self,
            session.permissions,
            controller,
            writer,
            panel=self.approval_panel,
            prompt=prompt,
            transcript=transcript,
            on_asked=notifier.asked,
        )
        self.modes = ModeController(
            self,
            session.permissions,
            controller,
            self.document,
            panel=self.approval_panel,
            prompt=prompt,
            send=self._send,
            on_asked=notifier.asked,
        )
        self.jobs = JobsController(self, session.commands, self._show_jobs)
        self.serving = ServeController(self, settings.make_server)
        self.prompt_controller = PromptController(self, session.prompt, controller, prompt, hint_bar, self._watch)
        self.model_controller = ModelController(
            self, session.models, controller, model_setup, settings.marker,
            hand_over=self.type_in_prompt, hint_bar=hint_bar, resume=self._resume,
        )  # fmt: skip
        self.sessions = SessionsController(
            self,
            session,
            controller,
            writer,
            report,
            resume=self._resume,
            leave=partial(self._leave, 0),
            prune=settings.prune_sessions,
        )
        self.history_controller = HistoryController(
            self, session, controller, writer,
            prompt=prompt, transcript=transcript, resume=self._resume, fork=self.sessions.fork,
        )  # fmt: skip
        self.commit_controller = CommitController(
            self, session.commits, controller, writer, transcript=transcript, resume=self._resume
        )
        self.chat_controller = ChatController(
            self,
            controller,
            writer,
            title=session.title,
            folder=session.folder.path,
            speed=self.speed_controller,
            permissions=session.permissions,
            approvals=self.approvals,
            modes=self.modes,
            jobs=self.jobs,
            notifier=notifier,
            typing=self.prompt_controller,
            history=self.history_controller,
            commits=self.commit_controller,
            sessions=self.sessions,
        )
        self.shell_controller = ShellController(self, session.commands, writer, prompt=prompt, transcript=transcript)
        self._interrupted_at = -TWICE_S
        self._question, self._wanted, self._report = question, resume, report
        self._draft = InputDraft(self, settings.state_dir, session.folder.path)
        self.ended_by = ""

    @property
    def state(self) -> SessionState:
        """The state of the session."""
        return self._controller.state

    def on_mount(self) -> None:
        self.set_up()
        on_ending_signals(self._leave)
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: self.failed_behind(context.get("exception"))
        )
        self.chat_controller.open(self._wanted)
        self.model_controller.begin()
        self._restore_draft()
        if self._question.strip():
            self.prompt.past.add(self._question)
            self.chat_controller.send(self._question)

    # -- the conversation

    @on(PromptInput.Changed)
    def _typed(self) -> None:
        self._draft.changed(self.prompt.text)
        self.prompt_controller.changed()
        self.prompt_controller.moved()

    @on(PromptInput.SelectionChanged)
    def _moved(self) -> None:
        self.prompt_controller.moved()

    @on(PromptInput.Sent)
    def _sent(self, event: PromptInput.Sent) -> None:
        self._draft.sent()
        if event.text.startswith("!"):
            self.shell_controller.run(event.text)
        elif is_slash(event.text):
            self._command(event.text)
        else:
            self.chat_controller.send(event.text, later=event.later)

    @on(PromptInput.SentEmpty)
    def _sent_empty(self) -> None:
        if self._controller.state is SessionState.BUSY:
            self._session.chat.skip_scoring()

    def _command(self, text: str) -> None:
        parsed = argument(text)
        if parsed is not None:
            getattr(self, f"action_{parsed[0].action}")(parsed[1])
            return
        command = find(text)
        if command is None:
            notify(self, f"There is no command {text}. F1 lists them.", "warning")
        else:
            self.run_command(command)

    @on(ApprovalPanel.Stopped)
    def _decline(self) -> None:
        if self.modes.asking:
            self.modes.choose("n")
        else:
            self.action_stop()

    def action_stop(self) -> None:
        """Stop the answer; queued messages and the focus return to the input."""
        if self.shell_controller.stop():
            return
        idle = self._controller.free and self.prompt.has_focus and not self.prompt.text
        self.prompt.focus()
        self.chat_controller.stop()
        if idle:
            self.history_controller.escape()

    def action_interrupt(self) -> None:
        """Ctrl+C: copy the selection, else clear the input, else stop; pressed twice, quit."""
        selected = self.screen.get_selected_text()
        if selected:
            self._copy(selected)
            self.screen.clear_selection()
            return
        if self.prompt.selected_text:
            self._copy(self.prompt.selected_text)
            return
        now = time.monotonic()
        if now - self._interrupted_at < TWICE_S:
            self._leave(0)
            return
        self._interrupted_at = now
        if self.prompt.text:
            self.prompt.past.add(self.prompt.text)
            self.prompt.load_text("")
            notify(self, "↑ brings back what you typed. Press Ctrl+C again to quit.")
            return
        if self._controller.state is SessionState.BUSY:
            self.action_stop()
        notify(self, "Press Ctrl+C again to quit.")

    # -- what the agent may do

    @on(ApprovalPanel.Chosen)
    def _chosen(self, event: ApprovalPanel.Chosen) -> None:
        if self.modes.asking:
            self.modes.choose(event.key)
        else:
            self.approvals.choose(event.key)

    def _show_jobs(self, running: int) -> None:
        self.status_bar.status = replace(self.status_bar.status, jobs=running)

    def _send(self, message: str) -> None:
        self.chat_controller.send(message)

    # -- polling

    def _watch(self) -> None:
        """Resume polling."""
        self.chat_controller.watch()

    # -- leaving

    async def action_quit(self) -> None:
        """Quit."""
        self._leave(0)

    @on(TerminalClosed)
    def _end_without_terminal(self) -> None:
        if not self._exit:
            self._leave(_SIGNALLED + signal.SIGHUP)

    def _leave(self, code: int) -> None:
        """Stop all work and exit with this code; Textual restores the terminal."""
        if code > _SIGNALLED:
            gone = self._report is not None and self._report.parent_is_gone
            self.ended_by = _PARENT_GONE if gone else signal.Signals(code - _SIGNALLED).name
        self._keep_draft()
        self._stop_work()
        self.exit(return_code=code)

    def _stop_work(self) -> None:
        self.shell_controller.stop()
        self._controller.leave()
        self.approvals.leave()
        self.model_controller.leave()
        self.serving.stop()

    def _keep_draft(self) -> None:
        """Add unsent text to the history, and keep what is in the input for the next start."""
        waiting = (*self._controller.returned, *self._controller.steered, *self._controller.queued)
        for text in (*waiting, self.prompt.text):
            self.prompt.past.add(text)
        self._draft.keep_now(self.prompt.text)
        self._draft.close()

    def _restore_draft(self) -> None:
        """Put what an earlier app was left with into the input."""
        *older, newest = self._draft.take_lost() or [""]
        for text in older:
            self.prompt.past.add(text)
        if newest:
            self.prompt.put(newest)
            self._draft.keep_now(newest)
            notify(self, "Your unsent text is back in the input.")

    def when_failed(self) -> Sequence[Callable[[], None]]:
        return (self._note_failure, self._keep_draft, self.writer.settle, self._stop_work)

    def _note_failure(self) -> None:
        self.ended_by = "the screen failed"
        if self._report is not None:
            self._report.failed()
