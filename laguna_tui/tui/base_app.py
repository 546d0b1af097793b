"""The app without a session: its widgets, its bindings, and the actions that need no model."""

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.command import Command as PaletteRow
from textual.command import CommandPalette
from textual.containers import Horizontal
from textual.screen import Screen
from textual.theme import ThemeProvider

from laguna_tui.base.units import plural, size
from laguna_tui.tui import themes
from laguna_tui.tui.approvals.approval_panel import ApprovalPanel
from laguna_tui.tui.clipboard import OSC52_BYTES, copy_with_tool
from laguna_tui.tui.crash import CrashSafeApp
from laguna_tui.tui.hint_bar import HintBar
from laguna_tui.tui.key_bar import KeyBar
from laguna_tui.tui.keys import OwnKeys
from laguna_tui.tui.modal import Palette, notify
from laguna_tui.tui.prompt.completion_list import CompletionList
from laguna_tui.tui.prompt.history_search import HistorySearch
from laguna_tui.tui.prompt.input_history import InputHistory
from laguna_tui.tui.prompt.prompt_input import PromptInput
from laguna_tui.tui.sidebar import Sidebar
from laguna_tui.tui.slash_commands import COMMANDS
from laguna_tui.tui.speed.speed_panel import SpeedPanel
from laguna_tui.tui.status_bar import StatusBar
from laguna_tui.tui.text_lines import WIDE_FROM
from laguna_tui.tui.transcript import selection
from laguna_tui.tui.transcript.document import TranscriptDocument
from laguna_tui.tui.transcript.request_entries import ChangeEntry
from laguna_tui.tui.transcript.step_entries import ThinkingEntry, ToolCallEntry
from laguna_tui.tui.transcript.transcript import Transcript
from laguna_tui.tui.transcript.transcript_view import TranscriptView
from laguna_tui.tui.tui_settings import AUTO_THEME, TuiSettings
from laguna_tui.tui.typed_text import TypedText, join_keys

ALWAYS = ("quit", "interrupt")
# Seconds; terminals report the focus just before the click that gave it to them.
RAISE_S = 0.2
TOO_LONG = "Not copied: it has {size}, and terminals take at most {limit}. Select less, or write a file with /export."
# Minimum height for the row of keys.
KEY_BAR_FROM = 16


class MainScreen(Screen[None]):
    """Gives the focus to the input first: the transcript above it would take some letters for its keys."""

    AUTO_FOCUS = "PromptInput"


class BaseApp(CrashSafeApp):
    """The main screen: transcript, sidebar, speed panel, approval panel, hint bar, input, status bar and keys."""

    CSS_PATH = Path(__file__).with_name("app.tcss")
    TITLE = "laguna"
    ENABLE_COMMAND_PALETTE = True
    HORIZONTAL_BREAKPOINTS = [(0, "-small"), (WIDE_FROM, "-wide")]  # noqa: RUF012 textual's own type
    VERTICAL_BREAKPOINTS = [(0, "-low"), (KEY_BAR_FROM, "-high")]  # noqa: RUF012 textual's own type
    BINDINGS: ClassVar[list[BindingType]] = [each.binding for each in COMMANDS]

    def __init__(self, settings: TuiSettings, placeholder: str) -> None:
        super().__init__(TranscriptDocument(), settings.state_dir)
        self._raised_at, self._raising = -RAISE_S, False
        self.settings, self.keys = settings, settings.keys or OwnKeys()
        # The theme to restore when the list of themes closes; empty while it is not open.
        self._theme_before = ""
        self.transcript = Transcript(self.document, self.type_in_prompt, id="transcript")
        self.sidebar_panel = Sidebar(id="sidebar")
        self.speed_panel = SpeedPanel(id="speed")
        self.approval_panel = ApprovalPanel(self.type_in_prompt, id="approval")
        self.hint_bar = HintBar(id="hint_bar")
        self.prompt = PromptInput(
            InputHistory(settings.state_dir), placeholder=placeholder, keys=self.keys, id="prompt"
        )
        self.status_bar = StatusBar(id="status")
        self.key_bar = KeyBar(id="keys")

    def get_default_screen(self) -> MainScreen:
        return MainScreen(id="_default")

    def compose(self) -> ComposeResult:
        with Horizontal(id="main"):
            yield self.transcript
            yield self.sidebar_panel
            yield self.speed_panel
        yield self.approval_panel
        yield self.hint_bar
        yield self.prompt.completions
        yield self.prompt
        yield self.status_bar
        yield self.key_bar

    def set_up(self) -> None:
        """Register the themes and focus the input. Not `on_mount`: Textual calls that of every base class by itself."""
        colours = self.console.color_system
        for theme in themes.own_themes(colours):
            self.register_theme(theme)
        wanted = self.settings.theme
        known = wanted in self.available_themes
        self.theme = wanted if known else themes.automatic(colours)
        if not known and wanted != AUTO_THEME:
            notify(self, f"There is no theme “{wanted}”. Choose one with /theme.", "warning")
        for changing in ("found", "at"):
            self.watch(self.prompt.completions, changing, self._show_count)
        self.set_keymap(self.keys.keys)
        self.prompt.use_vim(self.settings.vim)
        self.prompt.focus()

    def _show_count(self) -> None:
        completions = self.prompt.completions
        self.hint_bar.title = completions.title
        self.hint_bar.count = completions.count
        self.key_bar.refresh()

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return themes.tint_variables(self.current_theme, self.console.color_system)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Return the app's commands in Textual's palette, with their keys and slash commands."""
        del screen
        for command in COMMANDS:
            if command.title:
                title = f"{command.title}  {self.keys.shown(command.binding)}".strip()
                summary = f"{command.summary}  {command.slash}".strip()
                yield SystemCommand(title, summary, partial(self.run_command, command.action))

    def action_command_palette(self) -> None:
        self.push_screen(Palette(id="--command-palette"))

    def search_themes(self) -> None:
        """Show the themes; the one under the cursor is tried out until the list closes."""
        self._theme_before = self.theme
        self.push_screen(Palette(providers=[ThemeProvider], placeholder="Search for themes…"))

    @on(CommandPalette.OptionHighlighted)
    def _try_theme(self, event: CommandPalette.OptionHighlighted) -> None:
        option = event.highlighted_event.option
        if self._theme_before and isinstance(option, PaletteRow):
            self.theme = str(option.hit.text)

    @on(CommandPalette.Closed)
    def _end_trying_themes(self, event: CommandPalette.Closed) -> None:
        if self._theme_before and not event.option_selected:
            self.theme = self._theme_before
        self._theme_before = ""

    def run_command(self, action: str, argument: str = "") -> None:
        """Run a command: `part.method` of a part of the app, or an action of the app itself."""
        needing = next((each for each in COMMANDS if each.needs and each.action == action), None)
        if needing is not None and not argument:
            self.prompt.replace_text(f"{needing.slash} ")
            self.prompt.focus()
            notify(self, f"Complete the command: {needing.usage}")
            return
        arguments = (argument,) if argument else ()
        part, _, method = action.rpartition(".")
        if part:
            getattr(getattr(self, part), method)(*arguments)
        else:
            self.start_work(partial(self.run_action, ("", action, arguments)))

    def action_run(self, action: str) -> None:
        self.run_command(action)

    # -- input and the row above it

    @on(CompletionList.Clicked)
    def _take_completion(self, event: CompletionList.Clicked) -> None:
        self.prompt.take(event.completion)
        self.prompt.focus()

    @on(PromptInput.Untypable)
    def _refuse_mention(self, event: PromptInput.Untypable) -> None:
        notify(self, f"{event.label} cannot be mentioned: its name has control characters. Rename it.", "warning")

    @on(PromptInput.Edge)
    def _to_offers(self, event: PromptInput.Edge) -> None:
        self.transcript.focus_offer(last=event.up)

    @on(PromptInput.EndPressed)
    @on(HintBar.FollowClicked)
    def _follow(self) -> None:
        self.action_follow()

    @on(Transcript.FollowChanged)
    def _update_follow_link(self, event: Transcript.FollowChanged) -> None:
        self.hint_bar.following = event.following

    @on(Transcript.Left)
    @on(ApprovalPanel.Left)
    def _focus_prompt(self) -> None:
        self.prompt.focus()

    def type_in_prompt(self, typed: Sequence[events.Event]) -> None:
        """Focus the input, and give it what was typed elsewhere."""
        # Not `focus`, which moves it later.
        self.screen_stack[0].set_focus(self.prompt)
        for message in join_keys(typed):
            for event in message.for_widget(self.prompt) if isinstance(message, TypedText) else (message,):
                self.prompt.post_message(event)

    async def on_event(self, event: events.Event) -> None:
        if self._only_raises(event):
            return
        if not isinstance(event, TypedText):
            await super().on_event(event)
            return
        # As Textual does for a key: terminals that report their focus do not always report that it is back.
        self.app_focus = True
        for each in event.for_widget(self.focused):
            await super().on_event(each)

    def _only_raises(self, event: events.Event) -> bool:
        """Return whether the event is part of a click that brings the terminal to the front, and means nothing else."""
        if isinstance(event, events.AppFocus):
            self._raised_at = event.time
        if not isinstance(event, events.MouseDown | events.MouseMove | events.MouseUp) or event.is_forwarded:
            return False
        if isinstance(event, events.MouseDown):
            self._raising = not self.app_focus or event.time - self._raised_at < RAISE_S
            self.app_focus = True
        raising = self._raising
        self._raising = raising and not isinstance(event, events.MouseUp)
        return raising

    @on(ApprovalPanel.Scrolled)
    def _scroll(self, event: ApprovalPanel.Scrolled) -> None:
        self.transcript.scroll_relative(y=event.lines, animate=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable the app's keys while another screen is open, except quitting."""
        actions = (binding.action.partition("(")[0] for binding in BaseApp.BINDINGS if isinstance(binding, Binding))
        return len(self.screen_stack) <= 1 or action in ALWAYS or action not in actions

    def action_toggle_vim(self) -> None:
        self.prompt.use_vim(self.prompt.vim is None)
        notify(self, "Vim's keys are on. /vim turns them off." if self.prompt.vim else "Vim's keys are off.")

    # -- moving

    def action_follow(self) -> None:
        self.transcript.action_follow()

    def action_page(self, step: int) -> None:
        if step < 0:
            self.transcript.scroll_page_up(animate=False)
        else:
            self.transcript.scroll_page_down(animate=False)

    def action_block(self, step: int) -> None:
        if self.focused is not self.transcript:
            self.transcript.focus()
        else:
            self.transcript.action_cursor(step)

    def action_toggle_thinking(self) -> None:
        self.transcript.toggle_all(ThinkingEntry)

    def action_toggle_tools(self) -> None:
        self.transcript.toggle_all(ToolCallEntry, ChangeEntry)

    # -- copying and exporting

    @on(Transcript.Copied)
    def _copy_block(self, event: Transcript.Copied) -> None:
        self._copy(event.text)

    def action_copy_answer(self) -> None:
        if self.focused is self.transcript:
            self.transcript.action_copy()
            return
        answer = selection.last_answer(self.document)
        if answer:
            self._copy(answer)
        else:
            notify(self, "There is no answer to copy yet.", "warning")

    @on(events.TextSelected)
    def _copy_selected(self) -> None:
        """Copy what the mouse has selected with Textual's own selection, such as in a page of the manual."""
        own = any(isinstance(widget, TranscriptView) for widget in self.screen.selections)
        if not own and (text := self.screen.get_selected_text()):
            self._copy(text)

    def _copy(self, text: str) -> None:
        self.copy_to_clipboard(text, report=True)

    def copy_to_clipboard(self, text: str, *, report: bool = False) -> None:
        """Copy a text through the terminal, and with the desktop's tool if there is one; `report` shows which way."""
        fits = len(text.encode()) <= OSC52_BYTES
        if fits:
            super().copy_to_clipboard(text)
        self.run_worker(self._copy_with_tool(text, fits, report), group="copy")

    async def _copy_with_tool(self, text: str, copied: bool, report: bool) -> None:
        tool = await asyncio.to_thread(copy_with_tool, text)
        if not tool and not copied:
            sizes = {"size": size(len(text.encode())), "limit": size(OSC52_BYTES)}
            notify(self, TOO_LONG.format(**sizes), "warning")
        elif report:
            lines = text.count("\n") + 1
            way = f"with {tool}" if tool else "through the terminal (OSC 52)"
            notify(self, f"Copied {lines} {plural(lines, 'line')} {way}.")

    # -- screens

    def action_search_history(self) -> None:
        def put(text: str | None) -> None:
            if text is not None:
                self.prompt.replace_text(text)

        self.push_screen(HistorySearch(self.prompt.past.entries), put)
