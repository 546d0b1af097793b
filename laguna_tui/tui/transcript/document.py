"""A document stacks entries and maps rows to them, at the current width.

Layout is lazy: after a resize only the visible rows are wrapped again; the others keep their old height until `settle`
reaches them.
"""

from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from laguna_tui.tui.text_lines import BLANK, TextLine
from laguna_tui.tui.transcript.entries import Entry, QuestionEntry


@dataclass(slots=True)
class _Slot:
    entry: Entry
    lines: Sequence[TextLine] = ()
    version: int = -1
    generation: int = -1

    @property
    def height(self) -> int:
        return len(self.lines) + self.entry.gap


class TranscriptDocument:
    """Entries from top to bottom and the rows they take.

    Attributes:
        width: cells that entries are laid out for.
        side_by_side: whether diffs have two columns.
        laid: number of layouts done so far, for tests that check how little is done.
    """

    def __init__(self, width: int = 80) -> None:
        self.width = width
        self.side_by_side = False
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
        """Return the entry at an index."""
        return self._slots[index].entry

    def index(self, entry: Entry) -> int | None:
        """Return the index of an entry; None when it was removed."""
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

    def resize(self, width: int, *, side_by_side: bool = False) -> None:
        """Change the width and how diffs are shown; rows are laid out again when they become visible."""
        if (width, side_by_side) != (self.width, self.side_by_side):
            self.width, self.side_by_side = width, side_by_side
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
        slot.entry.side_by_side = self.side_by_side
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
        """Return the first row of an entry, its gap included; for `len(self)`, the row after the last."""
        for at in range(self._known, index):
            self._tops[at + 1] = self._tops[at] + self._slots[at].height
        self._known = max(self._known, index)
        return self._tops[index]

    def at(self, row: int) -> tuple[int, int]:
        """Return the index of the entry at a row, and the row within it; row 0 is the gap, if it has one."""
        self.top(len(self._slots))
        index = max(0, bisect_right(self._tops, row, 0, len(self._slots)) - 1)
        return index, row - self._tops[index]

    def line(self, index: int, inner: int) -> TextLine:
        """Return one row of an entry; `BLANK` for its gap and past its end."""
        slot = self._slots[index]
        inner -= slot.entry.gap
        return slot.lines[inner] if 0 <= inner < len(slot.lines) else BLANK


class TurnEntries:
    """The entries of each turn, from the question to the end of the answer, so that undo can take them out again."""

    def __init__(self, document: TranscriptDocument) -> None:
        self._document = document
        self._entries: dict[int, list[Entry]] = {}
        self._question: QuestionEntry | None = None
        self._number = 0

    def begin(self, question: QuestionEntry) -> None:
        """A question was appended; turns that were taken out are forgotten."""
        self.end()
        for number in [number for number, entries in self._entries.items() if self._document.index(entries[0]) is None]:
            del self._entries[number]
        self._question, self._number = question, 0

    def number(self, number: int) -> None:
        """The turn of the newest question has this number; 0 for none."""
        self._number = number

    def end(self) -> None:
        """The turn has ended; what is appended from now on does not belong to it. Idempotent."""
        start = self._document.index(self._question) if self._question is not None else None
        if self._number and start is not None:
            self._entries[self._number] = [entry for entry in self._document.entries[start:] if entry.of_turn]
        self._question = None

    def take_back(self, numbers: Collection[int]) -> str:
        """Take the entries of these turns out of the document. Returns the first question, empty if there is none."""
        self.end()
        first = min((number for number in numbers if number in self._entries), default=0)
        for number in sorted(numbers, reverse=True):
            for entry in reversed(self._entries.get(number, ())):
                if self._document.index(entry) is not None:
                    self._document.remove(entry)
        question = self._entries[first][0] if first else None
        return question.text if isinstance(question, QuestionEntry) else ""

    def bring_back(self, numbers: Collection[int]) -> None:
        """Append the entries of these turns again."""
        for number in sorted(numbers):
            for entry in self._entries.get(number, ()):
                if self._document.index(entry) is None:
                    self._document.append(entry)

    def clear(self) -> None:
        """Forget all turns."""
        self._entries.clear()
        self._question = None


#: Cells left of every row: the block cursor and the entry's mark.
GUTTER = 3
#: Free cells right of every row.
MARGIN = 1
