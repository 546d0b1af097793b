"""The app: connects the session, the controllers and the widgets, and maps keys and commands to them.

The screen shows at once; the model loads in the background, and messages sent meanwhile are queued.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from textual import on

from laguna_tui.models.model_setup import ModelSetup
from laguna_tui.session.api import ChatSession
from laguna_tui.tui.approvals.approval_controller import ApprovalController
from laguna_tui.tui.approvals.approval_panel import ApprovalPanel
from laguna_tui.tui.approvals.mode_controller import ModeController
from laguna_tui.tui.base_app import BaseApp
from laguna_tui.tui.chat_controller import ChatController
from laguna_tui.tui.commands import argument, find, is_slash
from laguna_tui.tui.context.block_table import Changes
from laguna_tui.tui.context.context_screen import ContextScreen
from laguna_tui.tui.event_sanitizer import safe_path
from laguna_tui.tui.history.commit_controller import CommitController
from laguna_tui.tui.history.history_controller import HistoryController
from laguna_tui.tui.jobs_screen import JobsController, JobsScreen
from laguna_tui.tui.modal import notify
from laguna_tui.tui.models.model_controller import ModelController
from laguna_tui.tui.models.plan_screen import PlanScreen
from laguna_tui.tui.notification import Notifier
from laguna_tui.tui.process_setup import on_ending_signals
from laguna_tui.tui.prompt.prompt_controller import PromptController
from laguna_tui.tui.prompt.prompt_input import PromptInput
from laguna_tui.tui.session_controller import SessionController
from laguna_tui.tui.session_messages import SessionState
from laguna_tui.tui.shell_controller import ShellController
from laguna_tui.tui.speed.speed_controller import SpeedController
from laguna_tui.tui.transcript.transcript_writer import TranscriptWriter
from laguna_tui.tui.tui_settings import TuiSettings

# Seconds in which a second Ctrl+C quits.
TWICE_S = 1.5
INIT = """Write an AGENTS.md for this folder, for coding agents that work in it. Look around first: the README, the \
build and test configuration, the layout of the code, and an AGENTS.md or CONTRIBUTING file that is there already. Say \
in at most 60 lines how to build, test and check the project, how the code is laid out, and which conventions a \
newcomer would get wrong. State only what you have seen. If there is an AGENTS.md, improve it, do not replace it."""


class LagunaApp(BaseApp):
    """The TUI. `return_code` is 128 + n after signal n."""

    def __init__(
        self,
        session: ChatSession,
        settings: TuiSettings,
        model_setup: ModelSetup | None = None,
        question: str = "",
    ) -> None:
        """question: sent once the model is ready; mostly empty."""
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
        self.prompt_controller = PromptController(self, session.prompt, controller, prompt, hint_bar, self._watch)
        self.model_controller = ModelController(
            self, session.models, controller, model_setup, settings.marker,
            prompt=prompt, hint_bar=hint_bar, resume=self._resume,
        )  # fmt: skip
        self.history_controller = HistoryController(
            self, session, controller, writer, prompt=prompt, transcript=transcript, resume=self._resume
        )
        self.commit_controller = CommitController(
            self, session.commits, controller, writer, transcript=transcript, resume=self._resume
        )
        self.chat_controller = ChatController(
            self,
            controller,
            writer,
            title=session.title,
            folder=session.folder.path,
            settings=settings,
            transcript=transcript,
            prompt=prompt,
            hint_bar=hint_bar,
            status_bar=self.status_bar,
            speed=self.speed_controller,
            permissions=session.permissions,
            approvals=self.approvals,
            modes=self.modes,
            jobs=self.jobs,
            notifier=notifier,
            typing=self.prompt_controller,
            history=self.history_controller,
            commits=self.commit_controller,
        )
        self.shell_controller = ShellController(self, session.commands, writer, prompt=prompt, transcript=transcript)
        self._interrupted_at = -TWICE_S
        self._question = question

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
        self.chat_controller.open()
        self.model_controller.begin()
        if self._question.strip():
            self.prompt.past.add(self._question)
            self.chat_controller.send(self._question)

    # -- the conversation

    @on(PromptInput.Changed)
    def _typed(self) -> None:
        self.prompt_controller.changed()
        self.prompt_controller.moved()

    @on(PromptInput.SelectionChanged)
    def _moved(self) -> None:
        self.prompt_controller.moved()

    @on(PromptInput.Sent)
    def _sent(self, event: PromptInput.Sent) -> None:
        if event.text.startswith("!"):
            self.shell_controller.run(event.text)
        elif is_slash(event.text):
            self._command(event.text)
        else:
            self.chat_controller.send(event.text, later=event.later)

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

    def action_queue(self, message: str = "") -> None:
        """Send a message when the answer is done."""
        if message:
            self.chat_controller.send(message, later=True)
        else:
            notify(self, "Write the message behind it: /queue TEXT", "warning")

    def action_shell(self, command: str = "") -> None:
        """Leave the screen to a shell, or to a command that needs a terminal."""
        self.shell_controller.hand_over(command, self._session.folder.path)

    def action_init(self) -> None:
        """Have the model write an AGENTS.md for the folder."""
        self.chat_controller.send(INIT, later=True)

    def action_new_chat(self) -> None:
        """Forget the conversation."""
        self.chat_controller.new_chat()

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

    def action_mode(self, wanted: str = "") -> None:
        """Show or change the mode."""
        self.modes.use(wanted)
        self._resume()

    @on(PromptInput.NextMode)
    def action_next_mode(self) -> None:
        """Change to the next mode."""
        self.modes.use_next()
        self._resume()

    def action_jobs(self) -> None:
        """Show the background commands."""
        self.push_screen(JobsScreen(self._session.commands))

    def _show_jobs(self, running: int) -> None:
        self.status_bar.status = replace(self.status_bar.status, jobs=running)

    def _send(self, message: str) -> None:
        self.chat_controller.send(message)

    # -- history

    def action_undo(self) -> None:
        """Undo the last turn: its files, and what was said."""
        self.history_controller.undo()

    def action_redo(self) -> None:
        """Redo the turn that was undone last."""
        self.history_controller.redo()

    def action_rewind(self) -> None:
        """Show the turns to go back to."""
        self.history_controller.rewind()

    def action_diff(self, wanted: str = "") -> None:
        """Show what the session changed, or its last turn."""
        self.history_controller.diff(wanted)

    def action_commit(self) -> None:
        """Commit, with a message that the model drafts."""
        self.commit_controller.begin()

    # -- models

    def action_model(self, wanted: str = "") -> None:
        """Change the model; without a name, show the picker."""
        if wanted:
            self.model_controller.change(wanted)
        else:
            self.model_controller.choose()

    def action_setup(self) -> None:
        """Show the setup screen, or switch to the downloaded model."""
        self.model_controller.set_up()

    def action_fit(self, wanted: str = "") -> None:
        """Show the fit screen of a model; without a name, of the recommended one."""
        self.model_controller.show_fit(wanted)

    # -- the context

    def action_context(self) -> None:
        """Show the context screen."""
        self.push_screen(ContextScreen(self._session.prompt, self.prompt_controller.context_size), self._arrange)

    def _arrange(self, changes: Changes | None) -> None:
        if not changes:
            return
        if not self._controller.free:
            notify(self, "The context changes when the answer is done.")
        self._controller.arrange(changes)
        self._resume()

    def action_compact(self, guidance: str = "") -> None:
        """Make room in the context now."""
        self.chat_controller.compact(guidance)

    def action_trust(self) -> None:
        """Let the folder's AGENTS.md instruct the model, from the next chat on."""
        self.chat_controller.say(self._session.folder.trust)

    def action_check(self, command: str = "") -> None:
        """Choose the command that checks the project, or show it."""
        self.chat_controller.say(lambda: self._session.folder.use_check(command))

    def action_index(self) -> None:
        """Index the folder's code, even if it is the home folder."""
        self.chat_controller.say(self._session.folder.index)

    def action_plan(self) -> None:
        """Show how the model was opened, and why."""
        self.push_screen(PlanScreen(self.chat_controller.plan))

    # -- speculation

    def action_speed(self) -> None:
        """Show or hide the speed panel."""
        self.speed_controller.toggle_panel()

    def action_tint(self) -> None:
        """Turn the tint of the answer on or off."""
        self.speed_controller.toggle_tint()

    def action_drafts(self) -> None:
        """Show the last rounds with the rejected drafts."""
        self.speed_controller.show_drafts()

    def action_prove(self) -> None:
        """Generate the last answer again without speculation and compare."""
        self.chat_controller.check_replay()

    def action_speculation(self) -> None:
        """Turn speculation off or on, from the next answer on."""
        self.speed_controller.toggle_drafting()
        self._resume()

    def action_strict(self) -> None:
        """Switch between strict and fast speculation."""
        self.speed_controller.toggle_strict()
        self._resume()

    # -- polling

    def _resume(self) -> None:
        """Resume polling and update the screen."""
        self.chat_controller.resume()

    def _watch(self) -> None:
        """Resume polling."""
        self.chat_controller.watch()

    # -- leaving

    async def action_quit(self) -> None:
        """Quit."""
        self._leave(0)

    def _leave(self, code: int) -> None:
        """Stop all work and exit with this code; Textual restores the terminal."""
        self._keep_draft()
        self._stop_work()
        self.exit(return_code=code)

    def _stop_work(self) -> None:
        self.shell_controller.stop()
        self._controller.leave()
        self.approvals.leave()
        self.model_controller.leave()

    def _keep_draft(self) -> None:
        """Add unsent text to the history."""
        waiting = (*self._controller.returned, *self._controller.steered, *self._controller.queued)
        for text in (*waiting, self.prompt.text):
            self.prompt.past.add(text)

    def when_failed(self) -> Sequence[Callable[[], None]]:
        return (self._keep_draft, self.writer.settle, self._stop_work)
