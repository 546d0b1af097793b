"""A document stacks entries and maps rows to them, at the current width.

Layout is lazy: after a resize only the visible rows are wrapped again; the others keep their old height until `settle`
reaches them.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from laguna_tui.tui.text_lines import BLANK, TextLine
from laguna_tui.tui.transcript.entries import Entry


@dataclass(slots=True)
class _Slot:
    entry: Entry
    lines: Sequence[TextLine] = ()
    version: int = -1
    generation: int = -1

    @property
    def height(self) -> int:
        return len(self.lines) + self.entry.gap


class Document:
    """Entries from top to bottom and the rows they take.

    Attributes:
        width: cells that entries are laid out for.
        laid: number of layouts done so far, for tests that check how little is done.
    """

    def __init__(self, width: int = 80) -> None:
        self.width = width
        self.laid = 0
        self._generation = 0  # raised when every row may look different
        self._slots: list[_Slot] = []
        self._index: dict[Entry, int] = {}
        self._tops = [0]  # one more than slots; valid up to index `_known`
        self._known = 0
        self._unsettled = 0  # slots below this index may still have rows of an older generation
        self._touched: set[Entry] = set()
        self._changed_at: int | None = None

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def entries(self) -> list[Entry]:
        """All entries, topmost first."""
        return [slot.entry for slot in self._slots]

    @property
    def last(self) -> Entry | None:
        """The bottom entry."""
        return self._slots[-1].entry if self._slots else None

    @property
    def height(self) -> int:
        """Number of rows."""
        return self.top(len(self._slots))

    def entry(self, index: int) -> Entry:
        """The entry at an index."""
        return self._slots[index].entry

    def index(self, entry: Entry) -> int | None:
        """The index of an entry; None when it was removed."""
        return self._index.get(entry)

    def append(self, entry: Entry) -> None:
        """Add an entry at the end."""
        index = len(self._slots)
        self._slots.append(_Slot(entry))
        self._index[entry] = index
        self._tops.append(0)
        entry.listener = self._touched.add
        self._touched.add(entry)
        self._change(index)

    def remove(self, entry: Entry) -> None:
        """Remove an entry. It costs as much as there are entries behind it."""
        index = self._index.pop(entry)
        del self._slots[index]
        self._tops.pop()
        for later in range(index, len(self._slots)):
            self._index[self._slots[later].entry] = later
        self._touched.discard(entry)
        entry.listener = None
        self._change(index)

    def clear(self) -> None:
        """Remove every entry."""
        for entry in self._index:
            entry.listener = None
        self._slots.clear()
        self._index.clear()
        self._touched.clear()
        self._tops, self._known, self._unsettled, self._changed_at = [0], 0, 0, 0

    def _change(self, index: int) -> None:
        self._known = min(self._known, index)
        self._changed_at = index if self._changed_at is None else min(index, self._changed_at)

    def flush(self) -> int | None:
        """Lay out the changed entries. Returns the first row that may look different, or None."""
        for entry in self._touched:
            self.refresh(self._index[entry])
        self._touched.clear()
        if self._changed_at is None:
            return None
        row, self._changed_at = self.top(self._changed_at), None
        return row

    def resize(self, width: int) -> None:
        """Change the width; rows are laid out again when they become visible."""
        if width != self.width:
            self.width = width
            self.restyle()

    def restyle(self) -> None:
        """Invalidate every row; rows are laid out again when they become visible."""
        self._generation += 1
        self._unsettled = len(self._slots)
        self._changed_at = 0

    def refresh(self, index: int) -> bool:
        """Lay an entry out again if it is out of date. Returns whether it was."""
        slot = self._slots[index]
        if slot.version == slot.entry.version and slot.generation == self._generation:
            return False
        slot.lines = slot.entry.lay(self.width)
        slot.version, slot.generation = slot.entry.version, self._generation
        self.laid += 1
        self._change(index)
        return True

    def settle(self, count: int) -> bool:
        """Lay out up to `count` entries that are out of date, bottom first. Returns whether any may be left."""
        self._unsettled = min(self._unsettled, len(self._slots))
        while self._unsettled and count:
            self._unsettled -= 1
            count -= self.refresh(self._unsettled)
        return self._unsettled > 0

    def top(self, index: int) -> int:
        """The first row of an entry, its gap included; for `len(self)`, the row after the last."""
        for at in range(self._known, index):
            self._tops[at + 1] = self._tops[at] + self._slots[at].height
        self._known = max(self._known, index)
        return self._tops[index]

    def at(self, row: int) -> tuple[int, int]:
        """The index of the entry at a row, and the row within it; row 0 is the gap, if it has one."""
        self.top(len(self._slots))
        index = max(0, bisect_right(self._tops, row, 0, len(self._slots)) - 1)
        return index, row - self._tops[index]

    def line(self, index: int, inner: int) -> TextLine:
        """One row of an entry; `BLANK` for its gap and past its end."""
        slot = self._slots[index]
        inner -= slot.entry.gap
        return slot.lines[inner] if 0 <= inner < len(slot.lines) else BLANK


#: Cells left of every row: the block cursor and the entry's mark.
GUTTER = 3
#: Free cells right of every row.
MARGIN = 1
