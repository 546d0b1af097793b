"""The app's actions: each hands a key or a command to the controller that it concerns."""

from textual import on

from laguna_tui.session.session import Session
from laguna_tui.tui.approvals.approval_panel import ApprovalPanel
from laguna_tui.tui.approvals.mode_controller import ModeController
from laguna_tui.tui.base_app import MENTIONING, SHELL_KEYS, BaseApp
from laguna_tui.tui.chat_controller import ChatController
from laguna_tui.tui.context.block_table import Changes
from laguna_tui.tui.context.context_screen import ContextScreen
from laguna_tui.tui.help_screen import HelpScreen, KeyRow, command_rows, key_rows
from laguna_tui.tui.history.commit_controller import CommitController
from laguna_tui.tui.history.history_controller import HistoryController
from laguna_tui.tui.jobs_screen import JobsScreen
from laguna_tui.tui.modal import notify
from laguna_tui.tui.models.model_controller import ModelController
from laguna_tui.tui.models.plan_screen import PlanScreen
from laguna_tui.tui.prompt.prompt_controller import PromptController
from laguna_tui.tui.prompt.prompt_input import PromptInput
from laguna_tui.tui.serve_screen import ServeController
from laguna_tui.tui.session_controller import SessionController
from laguna_tui.tui.sessions.sessions_controller import SessionsController
from laguna_tui.tui.shell_controller import ShellController
from laguna_tui.tui.speed.speed_controller import SpeedController
from laguna_tui.tui.transcript.transcript import Transcript

INIT = """Write an AGENTS.md for this folder, for coding agents that work in it. Look around first: the README, the \
build and test configuration, the layout of the code, and an AGENTS.md or CONTRIBUTING file that is there already. Say \
in at most 60 lines how to build, test and check the project, how the code is laid out, and which conventions a \
newcomer would get wrong. State only what you have seen. If there is an AGENTS.md, improve it, do not replace it."""


class AppActions(BaseApp):
    """The app with a session: what its keys and commands do. `LagunaApp` makes the controllers."""

    _session: Session
    _controller: SessionController
    chat_controller: ChatController
    commit_controller: CommitController
    history_controller: HistoryController
    model_controller: ModelController
    modes: ModeController
    prompt_controller: PromptController
    serving: ServeController
    sessions: SessionsController
    shell_controller: ShellController
    speed_controller: SpeedController

    def _resume(self) -> None:
        """Resume polling and update the screen."""
        self.chat_controller.resume()

    def action_queue(self, message: str = "") -> None:
        """Send a message when the answer is done."""
        if message:
            self.chat_controller.send(message, later=True)
        else:
            notify(self, "Add the message: /queue TEXT", "warning")

    def action_shell(self, command: str = "") -> None:
        """Leave the screen to a shell, or to a command that needs a terminal."""
        self.shell_controller.hand_over(command, self._session.folder.path)

    def action_init(self) -> None:
        """Have the model write an AGENTS.md for the folder."""
        self.chat_controller.send(INIT, later=True)

    def action_retry(self) -> None:
        """Have an answer that broke off go on."""
        self.chat_controller.retry()

    def action_new_chat(self) -> None:
        """Forget the conversation."""
        self.chat_controller.new_chat()

    # -- help

    @staticmethod
    def help_sections() -> dict[str, list[KeyRow]]:
        """The sections of the help screen and of the manual's page of keys."""
        from laguna_tui.tui.history.rewind_screen import RewindScreen
        from laguna_tui.tui.sessions.session_picker import SessionPicker

        return {
            "Everywhere": key_rows(BaseApp.BINDINGS),
            "In the input": [*key_rows(PromptInput.BINDINGS), ("@", MENTIONING), *SHELL_KEYS],
            "In the transcript": key_rows(Transcript.BINDINGS),
            "When you are asked": key_rows(ApprovalPanel.BINDINGS),
            "In the context": key_rows(ContextScreen.BINDINGS),
            "In the background commands": key_rows(JobsScreen.BINDINGS),
            "In the sessions": key_rows(SessionPicker.BINDINGS),
            "When you go back": key_rows(RewindScreen.BINDINGS),
            "Commands": command_rows(),
        }

    def action_help(self) -> None:
        """Show the keys."""
        self.push_screen(HelpScreen(self.help_sections()))

    # -- what the agent may do

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

    def action_serve(self) -> None:
        """Show which other programs use the model, and let them or not."""
        self.serving.show()

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

    # -- sessions

    def action_sessions(self, wanted: str = "") -> None:
        """Go on with a kept session; without its title, show the picker."""
        self.sessions.go_on(wanted)

    def action_export(self) -> None:
        """Write the conversation into the current folder: as it is kept, else as it is shown."""
        if not self.sessions.export():
            super().action_export()

    def action_rename(self, title: str = "") -> None:
        """Give the session a title."""
        self.sessions.rename(title)

    def action_fork(self, title: str = "") -> None:
        """Go on with a copy of the session."""
        self.sessions.fork(title=title)

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

    def action_mcp(self) -> None:
        """Show the MCP servers, and what each offers."""
        self.chat_controller.say(self._session.folder.mcp)

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
