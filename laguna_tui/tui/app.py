"""The app: what keys and commands do with the session, the conversation and the models.

The screen is drawn at once; the model loads behind it, and what is typed meanwhile waits its turn.
"""

import asyncio
import time
from collections.abc import Callable, Sequence

from textual import on

from laguna_tui.models.model_setup import ModelSetup
from laguna_tui.session.api import ChatSession
from laguna_tui.tui.base_app import BaseApp
from laguna_tui.tui.chat_controller import ChatController
from laguna_tui.tui.commands import argument, find, is_slash
from laguna_tui.tui.context.block_table import Changes
from laguna_tui.tui.context.context_screen import ContextScreen
from laguna_tui.tui.edits.edit_controller import EditController
from laguna_tui.tui.edits.edit_panel import EditPanel
from laguna_tui.tui.event_sanitizer import safe_path
from laguna_tui.tui.models.model_controller import ModelController
from laguna_tui.tui.models.plan_screen import PlanScreen
from laguna_tui.tui.process_setup import on_ending_signals
from laguna_tui.tui.prompt.prompt_controller import PromptController
from laguna_tui.tui.prompt.prompt_input import PromptInput
from laguna_tui.tui.session_controller import SessionController
from laguna_tui.tui.session_messages import SessionState
from laguna_tui.tui.speed.speed_controller import SpeedController
from laguna_tui.tui.transcript.transcript_writer import TranscriptWriter
from laguna_tui.tui.tui_settings import TuiSettings

# The second ctrl+c must follow this soon to mean: quit.
TWICE_S = 1.5


class LagunaApp(BaseApp):
    """Chat with the session on a screen. `run()` it; `return_code` is 128 + n when signal n ended it."""

    def __init__(self, session: ChatSession, settings: TuiSettings, model_setup: ModelSetup | None = None) -> None:
        super().__init__(settings, placeholder=f"Ask about {safe_path(session.folder.path)}")
        self._session = session
        controller = self._controller = SessionController(session)
        writer = self.writer = TranscriptWriter(self.document)
        prompt, hint_bar, transcript = self.prompt, self.hint_bar, self.transcript
        self.speed_controller = SpeedController(
            self, controller, writer, panel=self.speed_panel, hint_bar=hint_bar, transcript=transcript
        )
        self.edit_controller = EditController(
            self, session.edits, controller, writer, panel=self.edit_panel, prompt=prompt, transcript=transcript
        )
        self.prompt_controller = PromptController(self, session.prompt, controller, prompt, hint_bar, self._watch)
        self.model_controller = ModelController(
            self, session.models, controller, model_setup, settings.marker,
            prompt=prompt, hint_bar=hint_bar, go_on=self._go_on,
        )  # fmt: skip
        self.chat_controller = ChatController(
            self,
            controller,
            writer,
            title=session.title,
            folder=session.folder.path,
            transcript=transcript,
            prompt=prompt,
            hint_bar=hint_bar,
            status_bar=self.status_bar,
            speed=self.speed_controller,
            edits=self.edit_controller,
            typing=self.prompt_controller,
        )
        self._interrupted_at = -TWICE_S

    @property
    def state(self) -> SessionState:
        """What the session is doing."""
        return self._controller.state

    def on_mount(self) -> None:
        super().on_mount()
        on_ending_signals(self._leave)
        asyncio.get_running_loop().set_exception_handler(lambda _, told: self.failed_behind(told.get("exception")))
        self.chat_controller.open()
        self.model_controller.begin()

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
        if is_slash(event.text):
            self._command(event.text)
        else:
            self.chat_controller.send(event.text)

    def _command(self, text: str) -> None:
        told = argument(text)
        if told is not None:
            getattr(self, f"action_{told[0].action}")(told[1])
            return
        command = find(text)
        if command is None:
            self.tell(f"There is no command {text}. F1 lists them.", "warning")
        else:
            self.run_command(command)

    @on(EditPanel.Stopped)
    def action_stop(self) -> None:
        """Stop the answer; messages that waited go back into the input, and so does the focus."""
        self.prompt.focus()
        self.chat_controller.stop()

    def action_new_chat(self) -> None:
        """Forget the conversation."""
        self.chat_controller.new_chat()

    def action_interrupt(self) -> None:
        """Ctrl+C: copy a selection, else clear the input, else stop, else (again, soon) quit."""
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
            self.tell("↑ brings back what you typed. Press Ctrl+C again to quit.")
            return
        if self._controller.state is SessionState.BUSY:
            self.action_stop()
        self.tell("Press Ctrl+C again to quit.")

    # -- edits

    @on(EditPanel.Decided)
    def _decided(self, event: EditPanel.Decided) -> None:
        self.edit_controller.decide(event.decision)

    def action_undo(self) -> None:
        """Take back the newest edit."""
        self.edit_controller.undo()
        self._go_on()

    def action_edits(self, wanted: str = "") -> None:
        """Say which edits are made, or change it."""
        self.edit_controller.use(wanted)

    # -- models

    def action_model(self, wanted: str = "") -> None:
        """Choose the model that answers; without a name, from a list."""
        if wanted:
            self.model_controller.change(wanted)
        else:
            self.model_controller.choose()

    def action_setup(self) -> None:
        """What this machine is, and what model suits it; or switch to the one that was got."""
        self.model_controller.set_up()

    def action_fit(self, wanted: str = "") -> None:
        """Which contexts and caches of a model fit here; without a name, of the one that is recommended."""
        self.model_controller.show_fit(wanted)

    # -- the context

    def action_context(self) -> None:
        """Show what the prompt consists of, and let the user change it."""
        self.push_screen(ContextScreen(self._session.prompt, self.prompt_controller.context_size), self._arrange)

    def _arrange(self, changes: Changes | None) -> None:
        if not changes:
            return
        if not self._controller.free:
            self.tell("The context changes when the answer is done.")
        self._controller.arrange(changes)
        self._go_on()

    def action_trust(self) -> None:
        """Let the folder's AGENTS.md instruct the model, from the next chat on."""
        self.chat_controller.say(self._session.folder.trust)

    def action_index(self) -> None:
        """Read the folder's code, also where it is more than a project."""
        self.chat_controller.say(self._session.folder.index)

    def action_plan(self) -> None:
        """Say how the model was opened, and why so."""
        self.push_screen(PlanScreen(self.chat_controller.plan))

    # -- speculation

    def action_speed(self) -> None:
        """Show the numbers, or hide them."""
        self.speed_controller.toggle_panel()

    def action_tint(self) -> None:
        """Tint what was said by who proposed it, or stop it."""
        self.speed_controller.toggle_tint()

    def action_drafts(self) -> None:
        """Show the last rounds, with what did not stand."""
        self.speed_controller.show_drafts()

    def action_prove(self) -> None:
        """Generate the last answer again without speculation, and compare."""
        self.chat_controller.check_replay()

    def action_speculation(self) -> None:
        """Decode plainly from the next answer on, or draft again."""
        self.speed_controller.toggle_drafting()
        self._go_on()

    def action_strict(self) -> None:
        """Strict speculation, or back to fast."""
        self.speed_controller.toggle_strict()
        self._go_on()

    # -- polling

    def _go_on(self) -> None:
        """There is something to poll for again."""
        self.chat_controller.go_on()

    def _watch(self) -> None:
        """Poll; nothing has changed on the screen yet."""
        self.chat_controller.watch()

    # -- leaving

    async def action_quit(self) -> None:
        """Leave."""
        self._leave(0)

    def _leave(self, code: int) -> None:
        """Stop the engine's work and leave with this exit code; textual restores the terminal."""
        self._keep_draft()
        self._stop_work()
        self.exit(return_code=code)

    def _stop_work(self) -> None:
        self._controller.leave()
        self.edit_controller.leave()
        self.model_controller.leave()

    def _keep_draft(self) -> None:
        """The arrow keys bring back what was not sent."""
        for text in (*self._controller.queued, self.prompt.text):
            self.prompt.past.add(text)

    def when_failed(self) -> Sequence[Callable[[], None]]:
        return (self._keep_draft, self.writer.settle, self._stop_work)
