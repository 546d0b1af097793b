"""The fit screen: the table of `laguna-tui fit`, with the contexts and caches of a model that fit this machine."""

import asyncio
from collections.abc import Callable
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import ScrollableContainer
from textual.content import Content
from textual.widget import Widget

from laguna_tui.base.text import sanitize
from laguna_tui.tui.event_sanitizer import error_sentence
from laguna_tui.tui.modal import Modal, Paragraph

# Cells of border, padding and scrollbar.
_FRAME = 8


class FitScreen(Modal[None]):
    """Shows the lines that `report` returns for a width. It runs on a thread: it reads headers and queries devices."""

    BOX: ClassVar[type[Widget]] = ScrollableContainer
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,Q,enter", "dismiss", "Close")]
    heading = "What fits"

    def __init__(self, report: Callable[[int], list[str]]) -> None:
        super().__init__()
        self._report = report
        self._text = Paragraph("reading this machine …", markup=False)
        self._text.styles.width = "auto"

    def content(self) -> ComposeResult:
        yield self._text

    @work
    async def on_mount(self) -> None:
        try:
            text = "\n".join(await asyncio.to_thread(self._report, self.outer_width - _FRAME))
        except Exception as error:
            text = error_sentence(error)
        self._text.update(Content(sanitize(text)))
