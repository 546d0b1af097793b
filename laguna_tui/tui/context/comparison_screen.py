"""The comparison screen: a block of the context before and after, with the removed lines struck through.

The sides are beside each other if there is room for two columns, else one above the other; they scroll together.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.segment import Segment
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from laguna_tui.base.units import count
from laguna_tui.context.blocks import BlockText
from laguna_tui.tui.context.line_comparison import ComparedLine, LinePair, LineState, compare, counterparts, folded
from laguna_tui.tui.event_sanitizer import error_sentence
from laguna_tui.tui.modal import Modal, Paragraph
from laguna_tui.tui.text_lines import cells

_GUTTERS = {LineState.KEPT: "▎ ", LineState.DROPPED: "− ", LineState.ADDED: "+ ", LineState.GAP: "  "}
BESIDE_FROM = 120
EMPTY = "the block is empty"
SAME = "nothing is left out"
GONE = "all lines are left out"


class ComparisonPane(ScrollView, can_focus=True):
    """Shows `lines`, which are sanitised."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"comparison-pane--{part}{state.value}" for state in LineState for part in ("", "gutter-")
    }

    class Moved(Message):
        """Posted when the first visible line changes."""

        def __init__(self, pane: "ComparisonPane", line: int) -> None:
            super().__init__()
            self.pane, self.line = pane, line

    def __init__(self, *, id: str) -> None:  # noqa: A002
        super().__init__(id=id)
        self.lines: Sequence[ComparedLine] = ()

    @property
    def room(self) -> int:
        """Cells for the text of a line."""
        return max(1, self.scrollable_content_region.width - cells(_GUTTERS[LineState.KEPT]))

    def show(self, lines: Sequence[ComparedLine]) -> None:
        """Show lines, one per row, cropped to the width."""
        self.lines = lines
        self.virtual_size = Size(self.scrollable_content_region.width, len(lines))
        self.refresh()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            self.post_message(self.Moved(self, round(new_value)))

    def render_line(self, y: int) -> Strip:
        top, width = self.scroll_offset.y, self.scrollable_content_region.width
        if top + y >= len(self.lines):
            return Strip.blank(width, self.rich_style)
        line = self.lines[top + y]
        name = line.state.value
        gutter = self.get_component_rich_style(f"comparison-pane--gutter-{name}")
        style = self.get_component_rich_style(f"comparison-pane--{name}")
        strip = Strip([Segment(_GUTTERS[line.state], gutter), Segment(line.text, style)])
        return strip.crop_extend(0, width, self.rich_style)


class ComparisonScreen(Modal[None]):
    """Compares the texts that `read` returns. Both run on a background thread: files are long."""

    WIDTH = None
    hints = ("Tab changes sides · Esc closes", "Esc closes")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,Q,d,D,enter", "dismiss", "Close")]

    def __init__(self, title: str, read: Callable[[], BlockText]) -> None:
        """title: sanitised."""
        super().__init__(classes="-full")
        self.heading, self._read = title, read
        self.before, self.after = ComparisonPane(id="before"), ComparisonPane(id="after")
        self._pairs: Sequence[LinePair] = ()
        self._beside = False
        self._counterparts: dict[ComparisonPane, list[int]] = {}
        self._sent_to: dict[ComparisonPane, int] = {}

    def content(self) -> ComposeResult:
        yield Paragraph("reading …", id="summary", markup=False)
        with Container(id="sides"):
            self.after.border_title = "in the prompt"
            yield self.before
            yield self.after

    @work
    async def on_mount(self) -> None:
        try:
            pairs = await asyncio.to_thread(lambda: compare(self._read()))
        except Exception as error:
            self.query_one("#summary", Paragraph).update(Content.styled(error_sentence(error), "$error"))
        else:
            self._lay(pairs)

    def on_resize(self) -> None:
        self._beside = self.app.size.width >= BESIDE_FROM
        self.set_class(self._beside, "-beside")
        self.call_after_refresh(self._show)

    def _lay(self, pairs: Sequence[LinePair]) -> None:
        self._pairs = pairs
        kept = sum(pair.after.state is LineState.KEPT for pair in pairs)
        dropped = sum(pair.before.state is LineState.DROPPED for pair in pairs)
        not_empty = any(pair.after.state is not LineState.GAP for pair in pairs)
        words = f"{count(kept)} of {count(kept + dropped)} lines kept" if not_empty else GONE
        self.query_one("#summary", Paragraph).update(words if dropped else SAME if not_empty else EMPTY)
        self.after.display = not_empty and bool(dropped)
        self.before.focus()
        self.call_after_refresh(self._show)

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
