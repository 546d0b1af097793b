"""The screen that searches the input history."""

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.fuzzy import Matcher
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from laguna_tui.base.text import sanitize_line
from laguna_tui.tui.modal import Modal, RowList

# Limited to keep typing fast.
MAX_SHOWN = 50


class HistorySearch(Modal[str | None]):
    """Returns the chosen input, or None."""

    WIDTH = 96
    heading, hints = "Search the input history", ("",)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Close"),
        Binding("up", "move(-1)", "Newer", priority=True),
        Binding("down,ctrl+r", "move(1)", "Older", priority=True),
    ]

    def __init__(self, entries: list[str]) -> None:
        super().__init__(classes="-dense")
        self._entries = list(dict.fromkeys(reversed(entries)))
        self._shown: list[str] = []

    def content(self) -> ComposeResult:
        yield Input(placeholder="a few letters …", compact=True)
        yield RowList(compact=True)

    def on_mount(self) -> None:
        self._show("")

    @on(Input.Changed)
    def _filter(self, event: Input.Changed) -> None:
        self._show(event.value)

    def _show(self, query: str) -> None:
        matcher = Matcher(query)
        scored = [(matcher.match(entry) if query else 1.0, entry) for entry in self._entries]
        best = sorted((item for item in scored if item[0] > 0), key=lambda item: -item[0])
        self._shown = [entry for _, entry in best[:MAX_SHOWN]]
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options([Option(Content(sanitize_line(entry))) for entry in self._shown])
        options.highlighted = 0 if self._shown else None

    def action_move(self, step: int) -> None:
        options = self.query_one(OptionList)
        if self._shown:
            options.highlighted = ((options.highlighted or 0) + step) % len(self._shown)

    @on(Input.Submitted)
    def _submit(self) -> None:
        at = self.query_one(OptionList).highlighted
        self.dismiss(self._shown[at] if at is not None and at < len(self._shown) else None)

    @on(OptionList.OptionSelected)
    def _select(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._shown[event.option_index])
