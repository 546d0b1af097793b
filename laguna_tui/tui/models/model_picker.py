"""The model picker: which models are here, which can be downloaded, and which run on this machine."""

import asyncio
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from laguna_tui.base.text import sanitize_line
from laguna_tui.base.units import size
from laguna_tui.session.values import Here, ModelChoice
from laguna_tui.tui.event_sanitizer import error_sentence
from laguna_tui.tui.modal import Modal, Paragraph, RowList
from laguna_tui.tui.text_lines import BAD, GOOD, MIN_WIDTH, MUTED, StyledText, break_words

SEARCHING = "checking what is downloaded and what fits …"
_MARKS = {
    Here.READY: ("● ", GOOD),
    Here.PARTIAL: ("◐ ", "$primary"),
    Here.MISSING: ("○ ", MUTED),
    Here.NOWHERE: ("  ", MUTED),
    Here.REMOTE: ("◇ ", GOOD),
}
# Cells of border, padding, scrollbar and indent.
_FRAME = 7


class ModelPicker(Modal[ModelChoice | None]):
    """Returns the chosen model, or None.

    `find` lists the models and returns a sentence about the list, which may be empty; it is slow and runs in a worker.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,Q,f7,f12", "dismiss", "Close")]
    WIDTH = 76
    hints = ("Enter chooses · Esc closes",)

    def __init__(self, find: Callable[[], tuple[Sequence[ModelChoice], str]], heading: str = "Models") -> None:
        super().__init__()
        self._find, self.heading = find, heading
        self._choices: Sequence[ModelChoice] = ()

    def content(self) -> ComposeResult:
        yield Paragraph(SEARCHING, markup=False)
        yield RowList(compact=True)

    @work
    async def on_mount(self) -> None:
        try:
            self._choices, said = await asyncio.to_thread(self._find)
        except Exception as error:
            said = error_sentence(error)
        found, text, options = self._choices, self.query_one(Paragraph), self.query_one(OptionList)
        text.display = bool(said)
        text.update(Content(sanitize_line(said)))
        options.display = bool(found)
        room = max(MIN_WIDTH, self.outer_width - _FRAME)
        options.add_options([Option(Content.assemble(*_parts(choice, room))) for choice in found])
        options.highlighted = next(
            (index for index, choice in enumerate(found) if choice.current), 0 if found else None
        )
        options.focus()

    @on(OptionList.OptionSelected)
    def _select(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._choices[event.option_index])


def _parts(choice: ModelChoice, room: int) -> list[StyledText]:
    """Return a model: its title and state, below its name and whether it runs, in lines of `room` cells."""
    title = [
        (sanitize_line(choice.title), "bold"),
        ("  in use" if choice.current else f"  {state(choice)}", MUTED),
    ]
    tone = BAD if choice.runs is False else MUTED
    text = f"{sanitize_line(choice.name)}  {sanitize_line(choice.fits)}"
    below = "".join(f"\n  {text[start:end]}" for start, end in break_words(text, room))
    return [_MARKS[choice.here], *title, (below, tone)]


def state(choice: ModelChoice) -> str:
    """Return how much of a model is here, in words."""
    if choice.here is Here.PARTIAL and choice.size:
        return f"{size(choice.have)} of {size(choice.size)}"
    if choice.here is Here.MISSING and choice.size:
        return f"not here, {size(choice.size)}"
    return choice.here.value
