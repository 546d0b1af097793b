"""Which contexts and caches of a model fit on this machine: the table of `laguna-tui fit`, in the app."""

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
"""Cells of the panel, where the terminal has as many."""

_FRAME = 8
"""Cells that border, padding and scroll bar take of it."""


class FitScreen(Modal[None]):
    """Asks `tell` for lines of a width, on a thread of its own: it reads headers and asks the devices."""

    DEFAULT_CSS = Path(__file__).with_name("fit_screen.tcss").read_text(encoding="utf-8")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,Q,enter", "dismiss", "Close")]

    def __init__(self, tell: Callable[[int], list[str]]) -> None:
        super().__init__()
        self._tell = tell

    def compose(self) -> ComposeResult:
        with ScrollableContainer(id="fit") as box:
            box.border_title = "What fits"
            box.border_subtitle = "Esc closes"
            yield Static("looking at this machine …", markup=False, id="fit-text")

    def on_mount(self) -> None:
        self._look(min(self.app.size.width, WIDEST) - _FRAME)

    @work(thread=True, exclusive=True)
    def _look(self, width: int) -> None:
        try:
            text = "\n".join(self._tell(width))
        except Exception as error:
            text = error_sentence(error)
        self.app.call_from_thread(self._show, sanitize(text))

    def _show(self, text: str) -> None:
        if self.is_mounted:
            self.query_one("#fit-text", Static).update(Content(text))
