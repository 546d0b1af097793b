"""The last rounds of speculative decoding: what was drafted, what of it stood, and what the target wrote instead."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from laguna_tui.base.events import DraftRound
from laguna_tui.tui.drafter_colours import TEXT, text_style
from laguna_tui.tui.formatting import MUTED, StyledText
from laguna_tui.tui.modal import Modal
from laguna_tui.tui.speed.speed_panel import one_line

NOTHING = "No round of speculative decoding yet. Ask something; when nothing is drafted, the speed panel (F2) says why."
_INDENT = "     "


class DraftsScreen(Modal[None]):
    """Shows rounds, newest first. The texts are sanitised; they are never parsed as markup."""

    DEFAULT_CSS = Path(__file__).with_name("drafts_screen.tcss").read_text(encoding="utf-8")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,Q,f4,enter", "dismiss", "Close")]

    def __init__(self, first: int, rounds: Sequence[DraftRound], *, mono: bool) -> None:
        """`first` is the number of the first of these rounds in the answer, from 1."""
        super().__init__()
        self._mono = mono
        self._text = Static(self._content(first, rounds), markup=False)

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="drafts") as box:
            box.border_title = "Drafts: what stood, and what did not"
            box.border_subtitle = "Esc closes"
            yield self._text

    def show(self, first: int, rounds: Sequence[DraftRound]) -> None:
        """There are other rounds now."""
        self._text.update(self._content(first, rounds))

    def _content(self, first: int, rounds: Sequence[DraftRound]) -> Content:
        if not rounds:
            return Content(NOTHING)
        numbered = list(enumerate(rounds, first))
        parts = [part for number, told in reversed(numbered) for part in self._round(number, told)]
        return Content.assemble(*parts[:-1])

    def _round(self, number: int, told: DraftRound) -> Iterable[StyledText]:
        spun = told.round
        yield (f"{number:>4} ", MUTED)
        if spun.drafter is not None and spun.drafted:
            yield (f"{spun.drafter.label} {spun.accepted} of {spun.drafted}", "bold")
            yield (f"  {spun.reason}\n", MUTED)
        else:
            yield (f"{spun.reason or 'nothing drafted'}\n", MUTED)
        yield (_INDENT, "")
        stood = text_style(spun.drafter, mono=self._mono) if spun.drafter else TEXT
        rejected = "strike" if self._mono else "$error strike"
        arrow = " → " if spun.rejected and told.instead else ""
        texts = ((told.stood, stood), (spun.rejected, rejected), (arrow, MUTED), (told.instead, TEXT))
        yield from ((one_line(text), style) for text, style in texts if text)
        yield ("\n", "")
