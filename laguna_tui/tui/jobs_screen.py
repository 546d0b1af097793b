"""Background commands: how many run, for the status bar, and the screen that lists, shows and stops them."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.selection import Selection
from textual.timer import Timer
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from laguna_tui.base.events import AgentEvent, ToolFinished
from laguna_tui.base.text import sanitize_line
from laguna_tui.session.commands import Commands
from laguna_tui.tui.chat_app import ChatApp
from laguna_tui.tui.controller import Controller
from laguna_tui.tui.event_sanitizer import OutputSanitizer
from laguna_tui.tui.modal import Modal, Paragraph, RowList, notify
from laguna_tui.tui.text_lines import (
    BAD,
    GOOD,
    MUTED,
    StyledText,
    TextRun,
    collapse_tabs,
    crop,
    drawn,
    expand_tabs,
    plain,
    split_lines,
)
from laguna_tui.tui.transcript.live_output import LiveOutput
from laguna_tui.tui.transcript.step_entries import spent

if TYPE_CHECKING:
    from laguna_tui.sandbox.background import BackgroundCommand

REFRESH_S = 0.5
# Rows of an output that the screen keeps.
MAX_ROWS = 200
NONE = "No background commands. Servers and other long-running commands that the model starts are listed here."
_SILENT = "No output yet."
_GONE = "It ended without output."


class JobsController(Controller):
    """Counts the background commands that run, while there are any."""

    def __init__(self, app: ChatApp) -> None:
        self._app, self._commands = app, app.session.commands
        self._timer: Timer | None = None

    def show_screen(self) -> None:
        """Show the background commands."""
        self._app.push_screen(JobsScreen(self._commands))

    def received(self, event: AgentEvent) -> None:
        """Count from now on when a tool has ended: it may have started a command."""
        if isinstance(event, ToolFinished):
            if self._timer is None:
                self._timer = self._app.set_interval(REFRESH_S, self._count)
            self._timer.resume()
            self._count()

    def _count(self) -> None:
        running = sum(job.exit_code is None for job in self._commands.background())
        self._app.update_status(jobs=running)
        if not running and self._timer is not None:
            self._timer.pause()


class JobOutput(Paragraph):
    """The output of a command: tabs are drawn as blanks and copied as tabs."""

    _expanded = ""

    def show(self, text: str) -> None:
        """Show a sanitised text."""
        lines = split_lines((TextRun(text),))
        self._expanded = "\n".join(plain(expand_tabs(line)) for line in lines)
        self.update(Content(drawn(self._expanded)))

    def get_selection(self, selection: Selection) -> tuple[str, str]:
        return collapse_tabs(selection.extract(self._expanded)), "\n"


class JobsScreen(Modal[None]):
    """Lists background commands, and shows the end of the highlighted one's output."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,Q", "dismiss", "Close"),
        Binding("s", "stop", "Stop the command and its child processes"),
        Binding("pageup", "page(-1)", "Scroll the output up"),
        Binding("pagedown", "page(1)", "Scroll the output down"),
    ]

    WIDTH = 140
    heading = "Background commands"
    hints = ("↑ ↓ choose · PgUp PgDn scroll · s stops · Esc closes", "s stops · Esc closes")

    def __init__(self, commands: Commands) -> None:
        super().__init__(classes="-dense")
        self._commands = commands
        self._jobs: Sequence[BackgroundCommand] = ()
        self._shown: tuple[int, str] = (0, "")

    def content(self) -> ComposeResult:
        yield Paragraph(NONE, id="none", markup=False)
        yield RowList(compact=True)
        with VerticalScroll(id="output", can_focus=False):
            yield JobOutput(id="text")

    def on_mount(self) -> None:
        self._show()
        options = self.query_one(OptionList)
        options.highlighted = len(self._jobs) - 1 if self._jobs else None
        options.focus()
        self._show_output()
        self.set_interval(REFRESH_S, self._show)

    def _show(self) -> None:
        """Show the commands as they are now, without moving the highlight."""
        options = self.query_one(OptionList)
        before, self._jobs = len(self._jobs), self._commands.background()
        rows = [Content.assemble(*self._parts(job)) for job in self._jobs]
        if len(rows) != before:
            highlighted = options.highlighted
            options.clear_options()
            options.add_options([Option(row) for row in rows])
            options.highlighted = min(highlighted, len(rows) - 1) if highlighted is not None and rows else None
        else:
            for index, row in enumerate(rows):
                options.replace_option_prompt_at_index(index, row)
        self.query_one("#none", Paragraph).display = not rows
        options.display = self.query_one("#output").display = bool(rows)
        self._show_output()

    def _parts(self, job: "BackgroundCommand") -> list[StyledText]:
        """Return a command in two rows: its state and its text, then the last line it has written."""
        width = max(20, self.app.size.width - 8)
        state, tone = ("running", GOOD) if job.exit_code is None else (f"exit code {job.exit_code}", MUTED)
        tone = BAD if job.exit_code else tone
        head = f"{state}, {spent(job.seconds)}"
        command = crop(sanitize_line(job.command), width - len(head) - 6)
        lines = self._lines(job.number)
        last = next((line for line in reversed(lines) if line.strip()), "")
        return [
            (f"{job.number:>2}  ", MUTED),
            (command, "bold"),
            (f"  {head}", tone),
            (f"\n    {crop(last.strip(), width - 4)}", MUTED),
        ]

    def _lines(self, number: int) -> list[str]:
        output = LiveOutput()
        output.add(OutputSanitizer().sanitize(self._commands.recent(number)))
        return output.lines

    def _highlighted(self) -> "BackgroundCommand | None":
        at = self.query_one(OptionList).highlighted
        return self._jobs[at] if at is not None and at < len(self._jobs) else None

    def on_option_list_option_highlighted(self) -> None:
        """Show the output of the command that is highlighted now."""
        self._show_output()

    def _show_output(self) -> None:
        job = self._highlighted()
        if job is None:
            return
        text = "\n".join(self._lines(job.number)[-MAX_ROWS:]) or (_SILENT if job.exit_code is None else _GONE)
        shown = (job.number, text)
        if shown == self._shown:
            return
        box = self.query_one("#output", VerticalScroll)
        box.border_title = Content(f"Output of job {job.number}")
        follows = job.number != self._shown[0] or box.is_vertical_scroll_end
        self._shown = shown
        self.query_one(JobOutput).show(text)
        if follows:
            self.call_after_refresh(box.scroll_end, animate=False)

    def action_page(self, step: int) -> None:
        box = self.query_one("#output", VerticalScroll)
        box.scroll_relative(y=step * max(1, box.size.height - 1), animate=False)

    def action_stop(self) -> None:
        job = self._highlighted()
        if job is None:
            return
        self.app.run_worker(self._stop(self.app, job.number))

    async def _stop(self, app: App[None], number: int) -> None:
        # Its processes get a moment to end by themselves.
        notify(app, await asyncio.to_thread(self._commands.stop, number))
