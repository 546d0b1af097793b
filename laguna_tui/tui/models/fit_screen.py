"""The fit screen: the table of `laguna-tui fit`, with the contexts and caches of a model that fit this machine."""

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import ScrollableContainer
from textual.content import Content
from textual.widgets import Static

from laguna_tui.base.text import sanitize
from laguna_tui.tui.modal import Modal
from laguna_tui.tui.session_messages import error_sentence

WIDEST = 84
"""Maximum width of the panel in cells."""

_FRAME = 8
"""Cells of it for border, padding and scrollbar."""


class FitScreen(Modal[None]):
    """Shows the lines that `report` returns for a width. It runs in a worker: it reads headers and queries devices."""

    DEFAULT_CSS = Path(__file__).with_name("fit_screen.tcss").read_text(encoding="utf-8")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,Q,enter", "dismiss", "Close")]

    def __init__(self, report: Callable[[int], list[str]]) -> None:
        super().__init__()
        self._report = report

    def compose(self) -> ComposeResult:
        with ScrollableContainer(id="fit") as box:
            box.border_title = "What fits"
            box.border_subtitle = "Esc closes"
            yield Static("looking at this machine …", markup=False, id="fit-text")

    def on_mount(self) -> None:
        self._load(min(self.app.size.width, WIDEST) - _FRAME)

    @work(thread=True, exclusive=True)
    def _load(self, width: int) -> None:
        try:
            text = "\n".join(self._report(width))
        except Exception as error:
            text = error_sentence(error)
        self.app.call_from_thread(self._show, sanitize(text))

    def _show(self, text: str) -> None:
        if self.is_mounted:
            self.query_one("#fit-text", Static).update(Content(text))
