"""The comparison screen: a block of the context before and after, with the removed lines struck through.

The sides are beside each other if there is room for two columns, else one above the other; they scroll together.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.widgets import Static

from laguna_tui.base.text import sanitize_line
from laguna_tui.base.units import count
from laguna_tui.context.blocks import BlockText
from laguna_tui.tui.background_query import BackgroundQuery
from laguna_tui.tui.context.comparison_pane import ComparisonPane
from laguna_tui.tui.context.line_comparison import ComparedLine, LinePair, LineState, compare, counterparts, folded
from laguna_tui.tui.modal import Modal

BESIDE_FROM = 120
EMPTY = "the block is empty"
SAME = "nothing is left out"
GONE = "all lines are left out"
HINTS = ("Tab changes the side · Esc closes", "Esc closes")


class ComparisonScreen(Modal[None]):
    """Compares the texts that `read` returns. Both run on a background thread: files are long."""

    DEFAULT_CSS = Path(__file__).with_name("comparison_screen.tcss").read_text(encoding="utf-8")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,Q,d,D,enter", "dismiss", "Close")]

    def __init__(self, title: str, read: Callable[[], BlockText]) -> None:
        """title: sanitised."""
        super().__init__()
        self._title = title
        self.before, self.after = ComparisonPane(id="before"), ComparisonPane(id="after")
        self._pairs: Sequence[LinePair] = ()
        self._beside = False
        self._counterparts: dict[ComparisonPane, list[int]] = {}
        self._sent_to: dict[ComparisonPane, int] = {}
        self._latest = BackgroundQuery[None, list[LinePair]](
            self, lambda _: compare(read()), lambda _, found: self._lay(found), self._fail
        )

    def compose(self) -> ComposeResult:
        with Container(id="comparison") as box:
            # Brackets in a title would be markup; a title is text here.
            box.border_title = Content(self._title)
            yield Static("reading …", id="summary", markup=False)
            with Container(id="sides"):
                self.after.border_title = "in the prompt"
                yield self.before
                yield self.after

    def on_mount(self) -> None:
        self._latest.submit(None)

    def on_resize(self, event: events.Resize) -> None:
        box = self.query_one("#comparison")
        box.border_subtitle = next((hint for hint in HINTS if len(hint) < event.size.width - 4), HINTS[-1])
        self._beside = event.size.width >= BESIDE_FROM
        self.set_class(self._beside, "-beside")
        self.call_after_refresh(self._show)

    def _lay(self, pairs: Sequence[LinePair]) -> None:
        self._pairs = pairs
        kept = sum(pair.after.state is LineState.KEPT for pair in pairs)
        dropped = sum(pair.before.state is LineState.DROPPED for pair in pairs)
        not_empty = any(pair.after.state is not LineState.GAP for pair in pairs)
        words = f"{count(kept)} of {count(kept + dropped)} lines kept" if not_empty else GONE
        self.query_one("#summary", Static).update(words if dropped else SAME if not_empty else EMPTY)
        self.after.display = not_empty and bool(dropped)
        self.before.focus()
        self.call_after_refresh(self._show)

    def _fail(self, sentence: str) -> None:
        self.query_one("#summary", Static).update(Content.styled(sanitize_line(sentence), "$error"))

    def _show(self) -> None:
        """Give each side its lines; beside each other, gaps keep them aligned."""
        room = min(side.room for side in (self.before, self.after) if side.display)
        pairs = folded(self._pairs, room)
        self.before.show(self._side([pair.before for pair in pairs]))
        self.after.show(self._side([pair.after for pair in pairs]))
        to_after, to_before = counterparts(pairs)
        self._counterparts = {self.before: to_after, self.after: to_before}
        self._sent_to.clear()

    def _side(self, lines: list[ComparedLine]) -> list[ComparedLine]:
        return lines if self._beside else [line for line in lines if line.state is not LineState.GAP]

    @on(ComparisonPane.Moved)
    def _follow(self, event: ComparisonPane.Moved) -> None:
        """Scroll the other side, unless this one is following it."""
        if self._sent_to.pop(event.pane, None) == event.line:
            return
        other = self.after if event.pane is self.before else self.before
        beside = self._counterparts[event.pane]
        wanted = event.line if self._beside else beside[min(event.line, len(beside) - 1)]
        wanted = min(wanted, round(other.max_scroll_y))
        if other.scroll_offset.y != wanted:
            self._sent_to[other] = wanted
            other.scroll_to(y=wanted, animate=False)
