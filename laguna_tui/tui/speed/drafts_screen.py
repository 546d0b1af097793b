"""The drafts screen: the last rounds, with accepted and rejected drafts and what the target wrote instead."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget

from laguna_engine.events import Source
from laguna_tui.base.events import DraftRound
from laguna_tui.tui.drafter_colours import TEXT, text_style
from laguna_tui.tui.modal import Modal, Paragraph
from laguna_tui.tui.speed.speed_panel import one_line
from laguna_tui.tui.text_lines import MUTED, StyledText

_REJECTED_NOTE = (
    "\nRejected drafts cost time and never change the answer. If most are rejected: /speculation turns it off.\n\n"
)
NOTHING = "No round of speculative decoding yet. Ask something; when nothing is drafted, /speed says why."
_INDENT = "     "


class DraftsScreen(Modal[None]):
    """Shows rounds, newest first. Texts are sanitised and never parsed as markup."""

    BOX: ClassVar[type[Widget]] = VerticalScroll
    WIDTH = 100
    heading = "Drafts: accepted and rejected"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,Q,f4,enter", "dismiss", "Close")]

    def __init__(self, first: int, rounds: Sequence[DraftRound], *, mono: bool) -> None:
        """first: number of the first of these rounds in the answer, from 1."""
        super().__init__()
        self._mono = mono
        self._text = Paragraph(self._rows(first, rounds), markup=False)

    def content(self) -> ComposeResult:
        yield self._text

    def show(self, first: int, rounds: Sequence[DraftRound]) -> None:
        """Show other rounds."""
        self._text.update(self._rows(first, rounds))

    def _rows(self, first: int, rounds: Sequence[DraftRound]) -> Content:
        if not rounds:
            return Content(NOTHING)
        drafter = next((each.round.drafter for each in reversed(rounds) if each.round.drafter is not None), None)
        numbered = list(enumerate(rounds, first))
        parts = [part for number, draft_round in reversed(numbered) for part in self._round(number, draft_round)]
        return Content.assemble(*self._legend(drafter), *parts[:-1])

    def _legend(self, drafter: Source | None) -> Iterable[StyledText]:
        """Yield what the rows mean; `drafter` has the colour of what was accepted."""
        yield ("Each row is a pass of the model, the newest first. ", MUTED)
        yield ("drafted and accepted", self._accepted(drafter))
        yield ("  ", "")
        yield ("drafted and rejected", self._rejected)
        yield ("  ", "")
        yield ("written by the model itself", TEXT)
        yield (_REJECTED_NOTE, MUTED)

    def _accepted(self, drafter: Source | None) -> str:
        return text_style(drafter, mono=self._mono) if drafter else TEXT

    @property
    def _rejected(self) -> str:
        return "strike" if self._mono else "$error strike"

    def _round(self, number: int, draft_round: DraftRound) -> Iterable[StyledText]:
        result = draft_round.round
        yield (f"{number:>4} ", MUTED)
        if result.drafter is not None and result.drafted:
            yield (f"{result.drafter.label} {result.accepted} of {result.drafted}", "bold")
            yield (f"  {result.reason}\n", MUTED)
        else:
            yield (f"{result.reason or 'nothing drafted'}\n", MUTED)
        yield (_INDENT, "")
        arrow = " → " if result.rejected and draft_round.instead else ""
        texts = (
            (draft_round.accepted_text, self._accepted(result.drafter)),
            (result.rejected, self._rejected),
            (arrow, MUTED),
            (draft_round.instead, TEXT),
        )
        yield from ((one_line(text), style) for text, style in texts if text)
        yield ("\n", "")
