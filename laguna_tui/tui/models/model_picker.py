"""The model picker: which models are here, which can be downloaded, and which run on this machine."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from laguna_tui.base.text import sanitize_line
from laguna_tui.base.units import size
from laguna_tui.session.values import Here, ModelChoice
from laguna_tui.tui.modal import Modal, RowList
from laguna_tui.tui.session_messages import error_sentence
from laguna_tui.tui.text_lines import BAD, GOOD, MIN_WIDTH, MUTED, StyledText, break_words

LOOKING = "checking what is downloaded and what fits …"
_MARKS = {
    Here.READY: ("● ", GOOD),
    Here.PARTIAL: ("◐ ", "$primary"),
    Here.MISSING: ("○ ", MUTED),
    Here.NOWHERE: ("  ", MUTED),
    Here.REMOTE: ("◇ ", GOOD),
}
# As in the stylesheet; then cells of border, padding, scrollbar and indent.
_MAX_WIDTH, _FRAME = 76, 7


class ModelPicker(Modal[ModelChoice | None]):
    """Returns the chosen model, or None. `find` lists the models; it is slow and runs in a worker."""

    DEFAULT_CSS = Path(__file__).with_name("model_picker.tcss").read_text(encoding="utf-8")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,Q,f7", "dismiss", "Close")]

    def __init__(self, find: Callable[[], Sequence[ModelChoice]]) -> None:
        super().__init__()
        self._find = find
        self._choices: Sequence[ModelChoice] = ()

    def compose(self) -> ComposeResult:
        with Vertical(id="models") as box:
            box.border_title = "Models"
            box.border_subtitle = "Enter chooses · Esc closes"
            yield Static(LOOKING, id="looking", markup=False)
            yield RowList(compact=True)

    def on_mount(self) -> None:
        self._load()

    @work(thread=True, exclusive=True)
    def _load(self) -> None:
        try:
            found, problem = self._find(), ""
        except Exception as error:
            found, problem = (), error_sentence(error)
        self.app.call_from_thread(self._show, found, problem)

    def _show(self, found: Sequence[ModelChoice], problem: str) -> None:
        if not self.is_mounted:
            return
        self._choices = found
        looking = self.query_one("#looking", Static)
        looking.display = bool(problem)
        looking.update(Content(problem))
        options = self.query_one(OptionList)
        room = max(MIN_WIDTH, min(self.app.size.width, _MAX_WIDTH) - _FRAME)
        options.add_options([Option(Content.assemble(*_parts(choice, room))) for choice in found])
        options.highlighted = next(
            (index for index, choice in enumerate(found) if choice.current), 0 if found else None
        )
        options.focus()

    @on(OptionList.OptionSelected)
    def _select(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._choices[event.option_index])


def _parts(choice: ModelChoice, room: int) -> list[StyledText]:
    """A model: its title and state, below its name and whether it runs, in lines of `room` cells."""
    title = [
        (sanitize_line(choice.title), "bold"),
        ("  answers now" if choice.current else f"  {state(choice)}", MUTED),
    ]
    tone = BAD if choice.runs is False else MUTED
    text = f"{sanitize_line(choice.name)}  {sanitize_line(choice.fits)}"
    below = "".join(f"\n  {text[start:end]}" for start, end in break_words(text, room))
    return [_MARKS[choice.here], *title, (below, tone)]


def state(choice: ModelChoice) -> str:
    """How much of a model is here, in words."""
    if choice.here is Here.PARTIAL and choice.size:
        return f"{size(choice.have)} of {size(choice.size)}"
    if choice.here is Here.MISSING and choice.size:
        return f"not here, {size(choice.size)}"
    return choice.here.value
