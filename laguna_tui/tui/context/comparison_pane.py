"""One side of a comparison: lines with their states. Renders only visible rows, however long the text is."""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from rich.segment import Segment
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from laguna_tui.tui.context.line_comparison import ComparedLine, LineState
from laguna_tui.tui.text_lines import cells

_GUTTERS = {LineState.KEPT: "▎ ", LineState.DROPPED: "− ", LineState.ADDED: "+ ", LineState.GAP: "  "}


class ComparisonPane(ScrollView, can_focus=True):
    """Shows `lines`, which are sanitised."""

    DEFAULT_CSS = Path(__file__).with_name("comparison_pane.tcss").read_text(encoding="utf-8")
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
