"""The model's list of steps: written by the `todo` tool, shown to the user, kept when compacting."""

import re
import threading

from laguna_tui.base.events import TodoItem, TodoState

# A longer list, or longer steps, would be useless.
MAX_ITEMS = 50
_ITEM_CHARS = 300
# A line as models write it: a mark in brackets, maybe behind a bullet or a number.
_LINE = re.compile(r"\s*(?:[-*+•]\s+|\d{1,3}[.)]\s+)?(?:\[(?P<mark>[^\]]?)\]\s*)?(?P<text>.*)")
_STATES = {"x": TodoState.DONE, "X": TodoState.DONE, "✓": TodoState.DONE, "~": TodoState.ACTIVE, ">": TodoState.ACTIVE}
_CUT = "… only the first {limit} items are kept; make them larger steps"


class TodoList:
    """A list of steps. Any thread.

    Attributes:
        items: The steps in their order.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.items: tuple[TodoItem, ...] = ()

    def replace(self, text: str) -> list[str]:
        """Replace the list by lines with marks. Return notes for the model, usually none."""
        items = [item for line in text.splitlines() if (item := _item(line)) is not None]
        with self._lock:
            self.items = tuple(items[:MAX_ITEMS])
        return [_CUT.format(limit=MAX_ITEMS)] if len(items) > MAX_ITEMS else []

    @property
    def text(self) -> str:
        """The list as the model writes it; empty without items."""
        return "\n".join(f"[{item.state}] {item.text}" for item in self.items)

    @property
    def is_open(self) -> bool:
        """Whether a step is not done."""
        return any(item.state is not TodoState.DONE for item in self.items)


def _item(line: str) -> TodoItem | None:
    match = _LINE.fullmatch(line)
    text = " ".join(match["text"].split())[:_ITEM_CHARS] if match else ""
    return TodoItem(text, _STATES.get((match["mark"] if match else "") or "", TodoState.OPEN)) if text else None
