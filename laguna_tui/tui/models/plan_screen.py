"""The plan screen: how the model was opened, why, and what was left out."""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from laguna_tui.tui.modal import Modal
from laguna_tui.tui.text_lines import StyledText

NOTHING = "No model is open yet."


class PlanScreen(Modal[None]):
    """Shows the sanitised lines of a plan: a summary, then `subject: sentence`."""

    DEFAULT_CSS = Path(__file__).with_name("plan_screen.tcss").read_text(encoding="utf-8")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,Q,enter", "dismiss", "Close")]

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__()
        self._lines = lines or (NOTHING,)

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="plan") as box:
            box.border_title = "How the model was opened"
            box.border_subtitle = "Esc closes"
            first, *reasons = self._lines
            yield Static(Content.styled(first, "bold"), markup=False)
            for line in reasons:
                yield Static(Content.assemble(*_parts(line)), markup=False)


def _parts(line: str) -> list[StyledText]:
    """A line with its subject in another colour."""
    subject, colon, rest = line.partition(": ")
    return [(f"{subject}{colon}", "$accent"), (rest, "$foreground")] if colon else [(line, "$foreground")]
