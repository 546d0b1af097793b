"""The list of completions of a mention or a command, above the input; it has no focus, the input's keys control it.

Its texts are not sanitised until they are rendered.
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
from laguna_tui.tui.text_lines import MUTED, StyledText, cells, crop, crop_front

# Visible rows: a third of the terminal, because the transcript needs the others.
MIN_ROWS, MAX_ROWS = 4, 10
QUOTE = '"'
_MARK, _NO_MARK = "❯ ", "  "


class CompletionList(Widget):
    """A list that is open while it has completions.

    Attributes:
        found: the completions.
        at: index of the highlighted one, which Tab and Enter choose.
        title: a sentence about them; mostly empty.
    """

    DEFAULT_CSS = Path(__file__).with_name("completion_list.tcss").read_text(encoding="utf-8")

    found: reactive[tuple[Completion, ...]] = reactive(())
    at: reactive[int] = reactive(0)
    title = ""

    class Clicked(Message):
        """Posted when a completion is clicked."""

        def __init__(self, completion: Completion) -> None:
            super().__init__()
            self.completion = completion

    @property
    def count(self) -> str:
        """The number of the highlighted completion and of all; empty while the list is closed."""
        return f"{self.at + 1} of {len(self.found)}" if self.found else ""

    @property
    def is_open(self) -> bool:
        """Whether there are completions."""
        return bool(self.found)

    @property
    def chosen(self) -> Completion:
        """The highlighted completion, while the list is open."""
        return self.found[self.at]

    def offer(self, found: Sequence[Completion], title: str = "") -> None:
        """Show completions and highlight the first; an empty sequence closes the list."""
        self.title = title
        if tuple(found) != self.found:
            self.found, self.at = tuple(found), 0

    def close(self) -> None:
        """Close the list."""
        self.offer(())

    def still_fits(self, text: str, cursor: int) -> bool:
        """Return whether the cursor is still in the mention that the completions are for, while the list is open."""
        typed = text[self.found[0].start : cursor]
        return bool(typed) and "\n" not in typed and (QUOTE in typed or not any(map(str.isspace, typed)))

    def move(self, step: int) -> None:
        """Move the highlight, wrapping at the ends."""
        self.at = (self.at + step) % len(self.found)

    def watch_found(self) -> None:
        rows = max(MIN_ROWS, min(self.app.size.height // 3, MAX_ROWS))
        self.styles.height = min(len(self.found), rows)
        self.display = bool(self.found)

    def _first(self) -> int:
        """Return the index of the first visible completion; the highlighted one is always visible."""
        height = max(1, self.size.height)
        return max(0, min(self.at - height // 2, len(self.found) - height))

    def render(self) -> Content:
        first = self._first()
        shown = self.found[first : first + max(1, self.size.height)]
        room = self.size.width - cells(_MARK) - 2
        labels = [cells(sanitize_line(one.label)) for one in shown if one.detail]
        column = min(max(labels, default=0), room * 2 // 3)
        lines = [_row(one, column, room, marked=first + row == self.at) for row, one in enumerate(shown)]
        return Content("\n").join(Content.assemble(*parts) for parts in lines)

    def on_click(self, event: events.Click) -> None:
        index = self._first() + event.y
        if index < len(self.found):
            self.post_message(self.Clicked(self.found[index]))


def _row(completion: Completion, column: int, room: int, *, marked: bool) -> list[StyledText]:
    """Return a completion in two columns: its label, cropped at the start, and its details, if it has any."""
    label = crop_front(sanitize_line(completion.label), column if completion.detail else room)
    detail = crop(sanitize_line(completion.detail), room - column - 2)
    blank = " " * max(0, column - cells(label) + 2)
    tone = "bold $primary" if marked else "$foreground"
    return [(f" {_MARK if marked else _NO_MARK}", "$primary"), (label, tone), (blank + detail, MUTED)]
