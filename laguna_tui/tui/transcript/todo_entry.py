"""The model's list of steps in the transcript: one entry that changes with the list. Its texts are sanitised."""

from collections.abc import Sequence

from laguna_tui.base.events import TodoItem, TodoState
from laguna_tui.tui.markdown.layout import MAX_PROSE
from laguna_tui.tui.text_lines import TextLine, TextRun, TextRuns, cells, crop, wrap
from laguna_tui.tui.transcript.entries import HeadlineEntry

_MARKS = {TodoState.OPEN: "○ ", TodoState.ACTIVE: "◐ ", TodoState.DONE: "● "}
_TONES = {TodoState.OPEN: "text", TodoState.ACTIVE: "text strong", TodoState.DONE: "muted"}


class TodoEntry(HeadlineEntry):
    """The list: a headline that says how far it is, and the steps while it is open."""

    def __init__(self, items: Sequence[TodoItem]) -> None:
        super().__init__()
        self.is_open = True
        self._items = tuple(items)

    def show(self, items: Sequence[TodoItem]) -> None:
        """Show the list as it is now."""
        self._items = tuple(items)
        self.changed()

    def mark(self) -> TextRun:
        return TextRun("☰ ", "tool")

    def headline(self, width: int) -> TextRuns:
        done = sum(item.state is TodoState.DONE for item in self._items)
        counted = f"{done} of {len(self._items)} steps done"
        active = next((item.text for item in self._items if item.state is TodoState.ACTIVE), "")
        now = f"  {active}" if active and not self.is_open else ""
        return (TextRun(crop(counted, width), "tool"), TextRun(crop(now, width - cells(counted)), "muted"))

    def body(self, width: int) -> Sequence[TextLine]:
        return [row for item in self._items for row in self._rows(item, min(width, MAX_PROSE))]

    def source(self) -> str:
        return "\n".join(f"- [{item.state}] {item.text}" for item in self._items)

    @staticmethod
    def _rows(item: TodoItem, width: int) -> list[TextLine]:
        tone = _TONES[item.state]
        mark = TextRun(_MARKS[item.state], "proved" if item.state is TodoState.DONE else "bullet")
        return wrap((TextRun(item.text, tone),), width, (mark,), (TextRun("  "),))
