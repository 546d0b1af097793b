"""The plan screen: how the model was opened, why, and what was left out."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget

from laguna_tui.tui.modal import Modal, Paragraph

NOTHING = "No model is open yet."


class PlanScreen(Modal[None]):
    """Shows the sanitised lines of a plan: a summary, then `subject: sentence`."""

    BOX: ClassVar[type[Widget]] = VerticalScroll
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,Q,enter", "dismiss", "Close")]
    heading = "How the model was opened"

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__()
        self._lines = lines or (NOTHING,)

    def content(self) -> ComposeResult:
        first, *reasons = self._lines
        yield Paragraph(Content.styled(first, "bold"), markup=False)
        for line in reasons:
            subject, colon, rest = line.partition(": ")
            styled = Content.assemble((subject + colon, "$accent"), rest) if colon else Content(line)
            yield Paragraph(styled, markup=False)
