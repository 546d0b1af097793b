"""The app: connects the session, the controllers and the widgets, and maps keys and commands to them.

The screen shows at once; the model loads in the background, and messages sent meanwhile are queued.
"""

import asyncio
import signal
import time
from collections.abc import Callable, Sequence
from functools import partial

from textual import on

from laguna_tui.base.app_report import AppReport
from laguna_tui.base.errors import UserError
from laguna_tui.base.spelling import did_you_mean
from laguna_tui.base.text import sanitize
from laguna_tui.models.model_setup import ModelSetup
from laguna_tui.session.session import Session
from laguna_tui.tui.approvals.approval_panel import ApprovalPanel
from laguna_tui.tui.chat_app import ChatApp
from laguna_tui.tui.controllers.approval_controller import ApprovalController
from laguna_tui.tui.controllers.aside_controller import AsideController
from laguna_tui.tui.controllers.commit_controller import CommitController
from laguna_tui.tui.controllers.context_controller import ContextController
from laguna_tui.tui.controllers.file_controller import FileController
from laguna_tui.tui.controllers.history_controller import HistoryController
from laguna_tui.tui.controllers.mode_controller import ModeController
from laguna_tui.tui.controllers.model_controller import ModelController
from laguna_tui.tui.controllers.notification import Notifier
from laguna_tui.tui.controllers.prompt_controller import PromptController
from laguna_tui.tui.controllers.review_controller import ReviewController
from laguna_tui.tui.controllers.sessions_controller import SessionsController
from laguna_tui.tui.controllers.shell_controller import ShellController
from laguna_tui.tui.controllers.sidebar_controller import SidebarController
from laguna_tui.tui.controllers.speed_controller import SpeedController
from laguna_tui.tui.controllers.start_controller import StartController
from laguna_tui.tui.driver import TerminalClosed
from laguna_tui.tui.help_screen import TYPED_KEYS, HelpScreen, KeyRow, ManualPage, command_rows, key_rows, manual_rows
from laguna_tui.tui.jobs_screen import JobsController
from laguna_tui.tui.modal import notify
from laguna_tui.tui.models.plan_screen import PlanScreen
from laguna_tui.tui.process_setup import DaemonExecutor, on_ending_signals
from laguna_tui.tui.prompt.input_history import InputDraft
from laguna_tui.tui.prompt.prompt_input import PromptInput
from laguna_tui.tui.serve_screen import ServeController
from laguna_tui.tui.session_controller import SessionState
from laguna_tui.tui.slash_commands import COMMANDS, find, is_slash, names, split
from laguna_tui.tui.status_bar import LEGEND
from laguna_tui.tui.transcript.transcript import Transcript
from laguna_tui.tui.tui_settings import TuiSettings

# Seconds in which a second Ctrl+C quits.
TWICE_S = 1.5
# Exit codes above it are those of signals.
_SIGNALLED = 128
REMOTE_THINKING = "The thinking of a remote model cannot be ended alone. Esc stops the whole answer."
_PARENT_GONE = "its parent process was killed"

INIT = """Write an AGENTS.md for this folder, for coding agents that work in it. Look around first: the README, the \
build and test configuration, the layout of the code, and an AGENTS.md or CONTRIBUTING file that is there already. Say \
in at most 60 lines how to build, test and check the project, how the code is laid out, and which conventions a \
newcomer would get wrong. State only what you have seen. If there is an AGENTS.md, improve it, do not replace it."""


class LagunaApp(ChatApp):
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
        super().__init__(session, settings)
        notifier = Notifier(self)
        self.speed = SpeedController(self)
        self.sidebar = SidebarController(self, self.speed.tracker)
        self.approvals = ApprovalController(self, notifier)
        self.modes = ModeController(self, notifier)
        self.jobs = JobsController(self)
        self.serving = ServeController(self)
        self.typing = PromptController(self)
        self.context = ContextController(self)
        self.models = ModelController(self, model_setup)
        self.sessions = SessionsController(self, report, partial(self._leave, 0))
        self.history = HistoryController(self, self.sessions.resume_copy)
        self.commits = CommitController(self)
        self.reviews = ReviewController(self)
        self.shell = ShellController(self)
        self.start = StartController(self, model_setup)
        self.files = FileController(self, self.shell.leave_screen)
        self.asides = AsideController(self)
        self.controllers = (
            self.speed, self.approvals, self.modes, self.jobs, self.serving, self.typing, self.context, self.models,
            self.history, self.sidebar, self.sessions, self.commits, self.shell, self.start, self.files, notifier,
        )  # fmt: skip
        self._interrupted_at = -TWICE_S
        self._question, self._wanted, self._report = question, resume, report
        self._draft = InputDraft(self, settings.state_dir, session.folder.path)
        self.ended_by = ""

    def on_mount(self) -> None:
        self.set_up()
        on_ending_signals(self._leave)
        loop = asyncio.get_running_loop()
        loop.set_default_executor(DaemonExecutor())
        loop.set_exception_handler(lambda _, context: self.failed_behind(context.get("exception")))
        self.begin()
        if self._wanted is None:
            self.run_job(self.open_model())
        else:
            self.sessions.begin(self._wanted)
        if self.keys.problems:
            self.writer.add_notice("\n".join(self.keys.problems), "warning")
        self._restore_draft()
        if self._question.strip():
            self.prompt.past.add(self._question)
            self.send(self._question)

    # -- the input

    @on(PromptInput.Changed)
    def _typed(self) -> None:
        self._draft.changed(self.prompt.message)
        self.key_bar.refresh()
        self.typing.changed()
        self.typing.moved()

    @on(PromptInput.SelectionChanged)
    def _moved(self) -> None:
        self.key_bar.refresh()
        self.typing.moved()

    @on(PromptInput.Sent)
    def _sent(self, event: PromptInput.Sent) -> None:
        self._draft.sent()
        if event.text.startswith("!"):
            self.shell.run(event.text)
        elif is_slash(event.text):
            self._command(event.text)
        else:
            self.send(event.text, later=event.later)

    @on(Transcript.Taken)
    def _taken(self, event: Transcript.Taken) -> None:
        self.prompt.focus()
        if event.offer.command:
            self.run_command(event.offer.command)
        else:
            self.prompt.past.add(event.offer.text)
            self.send(event.offer.text)

    @on(PromptInput.SentEmpty)
    def _sent_empty(self) -> None:
        if self.state is SessionState.BUSY:
            self.session.chat.skip_scoring()
            self.session.chat.answer_now()

    def action_answer_now(self) -> None:
        if not self.session.chat.answer_now():
            notify(self, "The model is not thinking now." if self.session.slot.local else REMOTE_THINKING, "warning")

    @on(PromptInput.NextMode)
    def _next_mode(self) -> None:
        self.modes.use_next()

    def _command(self, text: str) -> None:
        name, argument = split(text)
        command = find(name)
        if command is None:
            near = did_you_mean(name, (known for each in COMMANDS for known in names(each)))
            notify(self, f"There is no command {name}{near}. / lists the commands.", "warning")
        elif argument and not command.takes:
            notify(self, f"{command.slash} takes no argument. Send {command.slash} alone.", "warning")
        else:
            self.run_command(command.action, argument)

    def action_stop(self) -> None:
        """Stop the answer; queued messages and the focus return to the input."""
        if self.shell.stop():
            return
        idle = self.controller.free and self.prompt.has_focus and not self.prompt.text
        self.prompt.focus()
        self.stop()
        if idle:
            self.history.escape()

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
            self.prompt.past.add(self.prompt.message)
            self.prompt.load_text("")
            notify(self, "↑ brings back what you typed. Press Ctrl+C again to quit.")
            return
        if self.state is SessionState.BUSY:
            self.action_stop()
        notify(self, "Press Ctrl+C again to quit.")

    @on(Transcript.Opened)
    def _open_file(self, event: Transcript.Opened) -> None:
        self.files.open(event.place)

    @on(ApprovalPanel.Chosen)
    def _chosen(self, event: ApprovalPanel.Chosen) -> None:
        if self.modes.asking:
            self.modes.choose(event.key)
        else:
            self.approvals.choose(event.key)

    @on(ApprovalPanel.Stopped)
    def _decline(self) -> None:
        if self.modes.asking:
            self.modes.choose("n")
        elif not self.approvals.go_back():
            self.action_stop()

    # -- commands

    def help_sections(self) -> dict[str, list[KeyRow]]:
        """Return the sections of the help screen."""
        from laguna_tui.tui.key_sections import key_sections

        can_ask = [self.start.abilities, *(f"“{question}”" for question in self.start.examples)]
        rows = {title: key_rows(bindings, self.keys) for title, bindings in key_sections().items()}
        rows["In the input"] += TYPED_KEYS
        return {
            "What you can ask": [("", text) for text in can_ask if text],
            **rows,
            "Commands": command_rows(),
            "In the status bar": [*LEGEND],
            "Manual: /help PAGE": manual_rows(),
        }

    def action_help(self, page: str = "") -> None:
        """Show all keys and commands, or a page of the manual."""
        if not page:
            self.push_screen(HelpScreen(self.help_sections()))
            return
        try:
            self.push_screen(ManualPage(page))
        except UserError as error:
            notify(self, str(error), "warning")

    def action_plan(self) -> None:
        self.push_screen(PlanScreen(self.plan))

    def action_queue(self, message: str) -> None:
        self.send(message, later=True)

    def action_init(self) -> None:
        self.send(INIT, later=True)

    def action_trust(self) -> None:
        """Let the folder's AGENTS.md instruct the model, from the next chat on."""
        self.say(self.session.folder.trust)

    def action_mcp(self) -> None:
        self.say(self.session.folder.mcp)

    def action_check(self, command: str = "") -> None:
        self.say(lambda: self.session.folder.use_check(command))

    def action_index(self) -> None:
        self.say(self.session.folder.index)

    # -- leaving

    async def action_quit(self) -> None:
        self._leave(0)

    @on(TerminalClosed)
    def _end_without_terminal(self) -> None:
        if not self._exit:
            self._leave(_SIGNALLED + signal.SIGHUP)

    def _leave(self, code: int) -> None:
        """Stop all work and exit with this code; Textual restores the terminal."""
        if code > _SIGNALLED:
            gone = self._report is not None and self._report.parent_has_ended
            self.ended_by = _PARENT_GONE if gone else signal.Signals(code - _SIGNALLED).name
        self._keep_draft()
        self._stop_work()
        self.exit(return_code=code)

    def _stop_work(self) -> None:
        self.controller.leave()
        for controller in self.controllers:
            controller.leave()

    def _keep_draft(self) -> None:
        """Add unsent text to the history, and keep what is in the input for the next start."""
        waiting = (*self.controller.returned, *self.controller.steered, *self.controller.queued)
        for text in (*waiting, self.prompt.message):
            self.prompt.past.add(text)
        self._draft.keep_now(self.prompt.message)
        self._draft.close()

    def _restore_draft(self) -> None:
        """Put what an earlier app was left with into the input."""
        *older, newest = self._draft.take_lost() or [""]
        for text in older:
            self.prompt.past.add(text)
        if newest:
            self.prompt.replace_text(sanitize(newest))
            self._draft.keep_now(newest)
            notify(self, "Your unsent text is back in the input.")

    def when_failed(self) -> Sequence[Callable[[], None]]:
        return (self._note_failure, self._keep_draft, self.writer.settle, self._stop_work)

    def _note_failure(self) -> None:
        self.ended_by = "the screen failed"
        if self._report is not None:
            self._report.failed()
