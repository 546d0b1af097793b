"""The list of ways to go on with a mention, above the input. It never has the focus: the input's keys move it.

Texts in it are raw; they are made safe where they are drawn.
"""

from collections.abc import Sequence
from pathlib import Path

from textual import events
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from laguna_tui.base.text import sanitize_line
from laguna_tui.context.blocks import Completion
from laguna_tui.tui.formatting import MUTED, StyledText
from laguna_tui.tui.text_lines import cells, crop, crop_front

# Rows that show at once; on a small terminal the conversation needs them more.
ROWS, FEW_ROWS = 6, 4
SMALL = 20
QUOTE = '"'
_MARK, _NO_MARK = "❯ ", "  "


class MentionList(Widget):
    """Open while it holds something. `moved_to` is the one that Tab and Enter choose."""

    DEFAULT_CSS = Path(__file__).with_name("mention_list.tcss").read_text(encoding="utf-8")

    found: reactive[tuple[Completion, ...]] = reactive(())
    at: reactive[int] = reactive(0)

    class Clicked(Message):
        """The user clicked on one of them."""

        def __init__(self, completion: Completion) -> None:
            super().__init__()
            self.completion = completion

    @property
    def is_open(self) -> bool:
        """Whether there is something to choose."""
        return bool(self.found)

    @property
    def chosen(self) -> Completion:
        """The one under the mark, while it is open."""
        return self.found[self.at]

    def offer(self, found: Sequence[Completion]) -> None:
        """Show these, the mark on the first; none closes it."""
        if tuple(found) != self.found:
            self.found, self.at = tuple(found), 0

    def close(self) -> None:
        """Show nothing."""
        self.offer(())

    def still_fits(self, text: str, cursor: int) -> bool:
        """Whether the cursor still stands in what these complete."""
        if not self.found:
            return False
        typed = text[self.found[0].start : cursor]
        return bool(typed) and "\n" not in typed and (QUOTE in typed or not any(map(str.isspace, typed)))

    def move(self, step: int) -> None:
        """Move the mark, around the ends."""
        self.at = (self.at + step) % len(self.found)

    def watch_found(self) -> None:
        rows = FEW_ROWS if self.app.size.height <= SMALL else ROWS
        self.styles.height = min(len(self.found), rows)
        self.display = bool(self.found)

    def _first(self) -> int:
        """The first that shows: the marked one is always among them."""
        height = max(1, self.size.height)
        return max(0, min(self.at - height // 2, len(self.found) - height))

    def render(self) -> Content:
        first = self._first()
        shown = self.found[first : first + max(1, self.size.height)]
        room = self.size.width - cells(_MARK) - 2
        column = min(max(cells(sanitize_line(one.label)) for one in shown), room) if shown else 0
        lines = [_row(one, column, room, marked=first + row == self.at) for row, one in enumerate(shown)]
        return Content("\n").join(Content.assemble(*parts) for parts in lines)

    def on_click(self, event: events.Click) -> None:
        index = self._first() + event.y
        if index < len(self.found):
            self.post_message(self.Clicked(self.found[index]))


def _row(completion: Completion, column: int, room: int, *, marked: bool) -> list[StyledText]:
    """What it is called, rather the end of a path than its start, and what it is, both in columns."""
    label = crop_front(sanitize_line(completion.label), column)
    detail = crop(sanitize_line(completion.detail), room - column - 2)
    blank = " " * (column - cells(label) + 2)
    tone = "bold $primary" if marked else "$foreground"
    return [(f" {_MARK if marked else _NO_MARK}", "$primary"), (label, tone), (blank + detail, MUTED)]
