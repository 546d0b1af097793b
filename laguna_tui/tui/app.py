"""The TUI with a session behind it: events are polled at drawing speed and applied to the conversation.

The screen is drawn at once; the model loads behind it, and what is typed meanwhile waits its turn.
"""

import asyncio
import contextlib
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import RenderableType
from textual import on
from textual.timer import Timer

from laguna_engine.events import LoadProgress
from laguna_tui.errors import log_failure
from laguna_tui.events import Proof, Proving
from laguna_tui.text import sanitize, sanitize_line
from laguna_tui.tui import crash
from laguna_tui.tui.border import Border, is_event, safe_path, safe_progress, safe_proof
from laguna_tui.tui.commands import argument, find, is_slash
from laguna_tui.tui.context.board import Changes
from laguna_tui.tui.context.foresight import Foresight
from laguna_tui.tui.context.inspector import Inspector
from laguna_tui.tui.conversation import Conversation
from laguna_tui.tui.edits.desk import EditDesk
from laguna_tui.tui.edits.panel import EditPanel
from laguna_tui.tui.heap import Heap
from laguna_tui.tui.models.desk import Desk
from laguna_tui.tui.models.shop import ModelShop
from laguna_tui.tui.session import ChatSession, ModelChoice, SessionInfo, TuiSettings
from laguna_tui.tui.shell import Shell
from laguna_tui.tui.signals import on_ending_signals
from laguna_tui.tui.speed import MODE_NAMES
from laguna_tui.tui.speed_book import SpeedBook
from laguna_tui.tui.speed_desk import MODES, SpeedDesk
from laguna_tui.tui.status import Status
from laguna_tui.tui.transcript.welcome import Welcome
from laguna_tui.tui.turns import (
    NO_MODEL,
    Arranged,
    Changed,
    Cleared,
    Failed,
    Idle,
    Opened,
    State,
    Switched,
    Turns,
    Undone,
    sentence,
)
from laguna_tui.tui.widgets.plan import PlanScreen
from laguna_tui.tui.widgets.prompt import Prompt

# Fast enough to look continuous, slow enough to leave the processor to the model.
DRAWS_PER_SECOND = 20
# The second ctrl+c must follow this soon to mean: quit.
TWICE_S = 1.5


class LagunaApp(Shell):
    """Chat with the session on a screen. `run()` it; `return_code` is 128 + n when signal n ended it."""

    def __init__(self, session: ChatSession, settings: TuiSettings, shop: ModelShop | None = None) -> None:
        self._model = sanitize_line(session.title)
        self._folder = safe_path(session.folder)
        super().__init__(settings, placeholder=f"Ask about {self._folder}")
        self._session = session
        self.desk = Desk(self, shop, settings.marker)
        self._turns = Turns(session)
        self.foresight = Foresight(self, session, self._turns, self.prompt, self.rail, self._watch)
        self._border = Border()
        self.conversation = Conversation(self.document)
        self.speeds = SpeedDesk(self, self._turns)
        self.edit_desk = EditDesk(self, session, self._turns)
        self._welcome = Welcome(self._model, self._folder)
        self._warned: set[str] = set()
        self._plan: tuple[str, ...] = ()
        self._poller: Timer | None = None
        self._interrupted_at = -TWICE_S
        self._heap = Heap()
        self._crash = ""

    @property
    def book(self) -> SpeedBook:
        """What is known of the speed."""
        return self.speeds.book

    @property
    def state(self) -> State:
        """What the session is doing."""
        return self._turns.state

    def on_mount(self) -> None:
        super().on_mount()
        on_ending_signals(self._leave)
        asyncio.get_running_loop().set_exception_handler(lambda _, told: self._failed_behind(told.get("exception")))
        self.status_bar.status = Status(model=self._model, folder=self._folder)
        self._poller = self.set_interval(1 / DRAWS_PER_SECOND, self._poll)
        self.document.append(self._welcome)
        self.transcript.update_rows()
        self._turns.open()
        self.desk.begin()

    # -- from the session

    def _poll(self) -> None:
        """Apply what happened since the last drawing, and draw it once."""
        if not self.screen_stack:
            # The app is closing: Textual takes the screens away before the timers.
            return
        for item in self._turns.poll():
            self._apply(item)
        queued = self._turns.next_queued()
        if queued is not None:
            self._send(queued)
        self._show()

    def _show(self) -> None:
        self.edit_desk.show()
        self.status_bar.status = replace(
            self.status_bar.status,
            state=self._turns.state,
            ahead=self._turns.reading_ahead,
            asking=self.edit_desk.asking,
            unasked=self.edit_desk.unasked,
        )
        if not self._turns.free:
            self.foresight.busy()
        self.rail.queued = tuple(sanitize_line(message) for message in self._turns.queued)
        self.speeds.show(busy=self._turns.busy)
        self.transcript.update_rows()
        if self._poller is not None and not self._turns.busy:
            self._poller.pause()

    def _apply(self, item: object) -> None:
        if isinstance(item, LoadProgress):
            item = safe_progress(item)
        elif is_event(item):
            item = self._border.safe(item)
            self.conversation.apply(item)
            self.book.hear(item)
        elif isinstance(item, Proving | Proof):
            item = safe_proof(item) if isinstance(item, Proof) else item
            self.conversation.prove(item)
        elif isinstance(item, Undone):
            self.conversation.say(item.sentence)
        self.status_bar.status = self.status_bar.status.told(item)
        self.foresight.hear(item)
        self._react(item)

    def _react(self, item: object) -> None:
        """What the session has become, or failed to."""
        match item:
            case Opened(info):
                self._welcome.tell(sanitize_line(info.details))
                self._opened(info)
                self._heap.set_aside()
            case Switched(info):
                self._opened(info)
                self.tell(MODES[info.mode] if info.mode else "The mode was changed.")
            case Changed(info, title):
                self._changed(info, title)
                self._heap.set_aside()
            case Failed(sentence):
                self.status_bar.status = replace(self.status_bar.status, proof=None, load=None)
                self.conversation.fail(sentence)
                if self._turns.state is State.FAILED:
                    self._give_back()
            case Idle():
                self.conversation.settle()
                self._heap.set_aside()
                if isinstance(self.screen, Inspector):
                    self.screen.look()
            case Arranged(used):
                self.status_bar.status = replace(self.status_bar.status, used=used)
                self.tell("The context is changed, from the next message on.")
            case Cleared():
                self.status_bar.status = replace(self.status_bar.status, used=0, rate=None, prefill=None)

    def _changed(self, info: SessionInfo, title: str) -> None:
        """Another model answers."""
        self._model = sanitize_line(title)
        self._welcome = Welcome(self._model, self._folder)
        self._welcome.tell(sanitize_line(info.details))
        self.status_bar.status = replace(self.status_bar.status, model=self._model, used=0, rate=None)
        self._opened(info)
        how = f" with {self._plan[0]}" if self._plan else ""
        words = f"{self._model} answers from here on{how}. It reads the conversation with your next message."
        self.conversation.say(words)

    def _opened(self, info: SessionInfo) -> None:
        """The session is as this says, from now on."""
        mode = MODE_NAMES[info.mode] if info.mode else ""
        self.status_bar.status = replace(self.status_bar.status, size=info.context_size, load=None, mode=mode)
        self.foresight.context_size = info.context_size
        self.book.mode, self.book.drafter = info.mode, sanitize_line(info.drafter)
        self.speeds.no_strict = sanitize_line(info.no_strict)
        self._plan = tuple(map(sanitize_line, info.plan))
        for warning in info.warnings:
            if warning not in self._warned:
                self.conversation.say(sanitize(warning), "warning")
        self._warned.update(info.warnings)

    # -- from the user

    @on(Prompt.Changed)
    def _typed(self) -> None:
        self.foresight.changed()
        self.foresight.moved()

    @on(Prompt.SelectionChanged)
    def _moved(self) -> None:
        self.foresight.moved()

    @on(Prompt.Sent)
    def _sent(self, event: Prompt.Sent) -> None:
        if is_slash(event.text):
            self._command(event.text)
        else:
            self._send(event.text)

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

    def _send(self, message: str) -> None:
        if self._turns.state is State.FAILED:
            self.tell(NO_MODEL, "warning")
            self.prompt.replace_text(message)
            return
        if self._turns.send(message):
            self.conversation.ask(sanitize(message))
            self.transcript.follow()
        self._go_on()

    @on(EditPanel.Stopped)
    def action_stop(self) -> None:
        """Stop the answer; messages that waited go back into the input, and so does the focus."""
        self.prompt.focus()
        if self._turns.state is not State.BUSY:
            return
        self._turns.stop()
        self._give_back()
        self._show()

    def _give_back(self) -> None:
        """Put the messages that wait into the input."""
        waiting = self._turns.unqueue()
        if waiting:
            self.prompt.replace_text("\n".join(part for part in (self.prompt.text, waiting) if part))

    def action_new_chat(self) -> None:
        """Forget the conversation."""
        if self._turns.state is State.FAILED:
            self.tell(NO_MODEL, "warning")
            return
        self._turns.new_chat()
        self.conversation.clear()
        self.document.append(self._welcome)
        self.transcript.action_follow()
        self._go_on()

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
        if self._turns.state is State.BUSY:
            self.action_stop()
        self.tell("Press Ctrl+C again to quit.")

    # -- edits

    @on(EditPanel.Decided)
    def _decided(self, event: EditPanel.Decided) -> None:
        self.edit_desk.decide(event.decision)

    def action_undo(self) -> None:
        """Take back the newest edit."""
        self.edit_desk.undo()
        self._go_on()

    def action_edits(self, wanted: str = "") -> None:
        """Say which edits are made, or change it."""
        self.edit_desk.use(wanted)

    # -- models

    def action_model(self, wanted: str = "") -> None:
        """Choose the model that answers; without a name, from a list."""
        if wanted:
            self.change_model(wanted)
        else:
            self.desk.choose()

    def action_setup(self) -> None:
        """What this machine is, and what model suits it; or switch to the one that was got."""
        self.desk.set_up()

    def action_fit(self, wanted: str = "") -> None:
        """Which contexts and caches of a model fit here; without a name, of the one that is recommended."""
        self.desk.show_fit(wanted)

    def session_models(self) -> Sequence[ModelChoice]:
        """What could answer. Any thread."""
        return self._session.models()

    def change_model(self, wanted: str) -> None:
        """Let another model answer as soon as it can."""
        if self._turns.state is State.LOADING:
            self.tell("The model is still loading.", "warning")
            return
        if self._turns.busy:
            self.tell("The model changes when the answer is done.")
        self._turns.change(wanted)
        self._go_on()

    # -- the context

    def action_context(self) -> None:
        """Show what the prompt consists of, and let the user change it."""
        self.push_screen(Inspector(self._session, self.foresight.context_size), self._arrange)

    def _arrange(self, changes: Changes | None) -> None:
        if not changes:
            return
        if not self._turns.free:
            self.tell("The context changes when the answer is done.")
        self._turns.arrange(changes)
        self._go_on()

    def action_trust(self) -> None:
        """Let the folder's AGENTS.md instruct the model, from the next chat on."""
        self._say(self._session.trust)

    def action_index(self) -> None:
        """Read the folder's code, also where it is more than a project."""
        self._say(self._session.index)

    def _say(self, done: Callable[[], str]) -> None:
        """Do something on a thread of its own, which may wait for a file or another process, and show its sentence."""

        def do() -> None:
            try:
                text, kind = sanitize(done()), "info"
            except Exception as error:
                text, kind = sentence(error), "error"
            self.call_later(self._said, text, kind)

        threading.Thread(target=do, name="laguna-command", daemon=True).start()

    def _said(self, text: str, kind: str) -> None:
        """Show a sentence now: nothing may be polled for."""
        self.conversation.say(text, kind)
        self.transcript.follow()
        self._show()

    def action_plan(self) -> None:
        """Say how the model was opened, and why so."""
        self.push_screen(PlanScreen(self._plan))

    # -- speculation

    def action_speed(self) -> None:
        """Show the numbers, or hide them."""
        self.speeds.toggle_panel()

    def action_tint(self) -> None:
        """Tint what was said by who proposed it, or stop it."""
        self.speeds.toggle_tint()

    def action_drafts(self) -> None:
        """Show the last rounds, with what did not stand."""
        self.speeds.show_drafts()

    def action_prove(self) -> None:
        """Generate the last answer again without speculation, and compare."""
        if not self._turns.prove():
            self.tell("An answer can be proved when nothing else is going on.", "warning")
            return
        self.transcript.follow()
        self._go_on()

    def action_speculation(self) -> None:
        """Decode plainly from the next answer on, or draft again."""
        self.speeds.toggle_drafting()
        self._go_on()

    def action_strict(self) -> None:
        """Strict speculation, or back to fast."""
        self.speeds.toggle_strict()
        self._go_on()

    def _go_on(self) -> None:
        """There is something to poll for again."""
        self._watch()
        self._show()

    def _watch(self) -> None:
        """Poll; nothing has changed on the screen yet."""
        if self._poller is not None:
            self._poller.resume()

    async def action_quit(self) -> None:
        """Leave."""
        self._leave(0)

    def _leave(self, code: int) -> None:
        """Stop the engine's work and leave with this exit code; textual restores the terminal."""
        self._keep_draft()
        self._stop_work()
        self.exit(return_code=code)

    def _stop_work(self) -> None:
        self._turns.leave()
        self.edit_desk.leave()
        self.desk.leave()

    # -- when something fails

    def run_to_the_end(self) -> int:
        """Run until the user leaves or the screen fails, which one sentence on stderr says; the exit code."""
        hook, threading.excepthook = threading.excepthook, lambda failed: self._failed_behind(failed.exc_value)
        try:
            self.run()
        except Exception as error:
            self._fail(error)
        finally:
            threading.excepthook = hook
        if self._crash:
            sys.stderr.write(f"laguna-tui: {self._crash}\n")
            return 1
        return self.return_code or 0

    def _fail(self, error: BaseException) -> None:
        """Keep the conversation, once, and stop the work; nothing here may fail again."""
        if self._crash:
            return
        self._crash = "The screen failed."
        for step in (self._keep_draft, self.conversation.settle, self._stop_work):
            with contextlib.suppress(Exception):
                step()
        self._crash = crash.keep(error, self.document, self.settings.state_dir)

    def _keep_draft(self) -> None:
        """The arrow keys bring back what was not sent."""
        for text in (*self._turns.queued, self.prompt.text):
            self.prompt.past.add(text)

    def _failed_behind(self, error: BaseException | None) -> None:
        """A thread or a task that no screen waits for failed: the app goes on."""
        if error is None:
            return
        log = log_failure(error, self.settings.state_dir)
        where = f"; what to report is in {log}" if isinstance(log, Path) else ""
        with contextlib.suppress(Exception):
            self.call_later(self.tell, f"Something failed in the background ({type(error).__name__}){where}", "error")

    def _handle_exception(self, error: Exception) -> None:
        if self._exit:
            # The user has left: what the rest of the screen makes of that is no reason to say that it failed.
            log_failure(error, self.settings.state_dir)
            return
        self._fail(error)
        super()._handle_exception(error)

    def _fatal_error(self) -> None:
        # Textual would render the traceback with the values of all local variables, for the terminal.
        self._close_messages_no_wait()

    def panic(self, *renderables: RenderableType) -> None:
        del renderables
        self._fail(self._exception or RuntimeError("textual gave up"))
        self._return_code = 1
        self._close_messages_no_wait()
