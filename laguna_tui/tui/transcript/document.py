"""The stack of pieces: which rows belong to which piece, at the width of the moment.

Laying out is lazy: after a resize only the rows that are looked at are wrapped again, the others keep their old
height until `settle` has been there. `laid` counts layouts, so that a test can see how little is done.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from laguna_tui.tui.text_lines import BLANK, TextLine
from laguna_tui.tui.transcript.entries import Entry


@dataclass(slots=True)
class _Slot:
    piece: Entry
    lines: Sequence[TextLine] = ()
    version: int = -1
    look: int = -1

    @property
    def height(self) -> int:
        return len(self.lines) + self.piece.gap


class Document:
    """Pieces from top to bottom and the rows they take."""

    def __init__(self, width: int = 80) -> None:
        self.width = width
        self.laid = 0
        self._look = 0  # counts the changes that make every row look different
        self._slots: list[_Slot] = []
        self._index: dict[Entry, int] = {}
        self._tops = [0]  # one more than slots; right up to index `_known`
        self._known = 0
        self._unsettled = 0  # slots below this index may still have the rows of another look
        self._touched: set[Entry] = set()
        self._changed_at: int | None = None

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def pieces(self) -> list[Entry]:
        """All pieces, top first."""
        return [slot.piece for slot in self._slots]

    @property
    def last(self) -> Entry | None:
        """The lowest piece."""
        return self._slots[-1].piece if self._slots else None

    @property
    def height(self) -> int:
        """All rows."""
        return self.top(len(self._slots))

    def piece(self, index: int) -> Entry:
        """The piece at this place in the stack."""
        return self._slots[index].piece

    def index(self, piece: Entry) -> int | None:
        """Where in the stack the piece is, None when it has left."""
        return self._index.get(piece)

    def append(self, piece: Entry) -> None:
        """Put a piece at the end."""
        index = len(self._slots)
        self._slots.append(_Slot(piece))
        self._index[piece] = index
        self._tops.append(0)
        piece.listener = self._touched.add
        self._touched.add(piece)
        self._change(index)

    def remove(self, piece: Entry) -> None:
        """Take a piece away. Only the open block and the activity ever leave, and they are near the end."""
        index = self._index.pop(piece)
        del self._slots[index]
        self._tops.pop()
        for later in range(index, len(self._slots)):
            self._index[self._slots[later].piece] = later
        self._touched.discard(piece)
        piece.listener = None
        self._change(index)

    def clear(self) -> None:
        """Forget every piece."""
        for piece in self._index:
            piece.listener = None
        self._slots.clear()
        self._index.clear()
        self._touched.clear()
        self._tops, self._known, self._unsettled, self._changed_at = [0], 0, 0, 0

    def _change(self, index: int) -> None:
        self._known = min(self._known, index)
        self._changed_at = index if self._changed_at is None else min(index, self._changed_at)

    def flush(self) -> int | None:
        """Lay out what changed since the last time; the first row that may look different now, None if none does."""
        for piece in self._touched:
            self.refresh(self._index[piece])
        self._touched.clear()
        if self._changed_at is None:
            return None
        row, self._changed_at = self.top(self._changed_at), None
        return row

    def resize(self, width: int) -> None:
        """Another width: rows are laid out again when they are looked at."""
        if width != self.width:
            self.width = width
            self.restyle()

    def restyle(self) -> None:
        """Every row may look different now: rows are laid out again when they are looked at."""
        self._look += 1
        self._unsettled = len(self._slots)
        self._changed_at = 0

    def refresh(self, index: int) -> bool:
        """Lay the piece out again if it changed or the look did; whether it did."""
        slot = self._slots[index]
        if slot.version == slot.piece.version and slot.look == self._look:
            return False
        slot.lines = slot.piece.lay(self.width)
        slot.version, slot.look = slot.piece.version, self._look
        self.laid += 1
        self._change(index)
        return True

    def settle(self, count: int) -> bool:
        """Lay out up to `count` pieces that still have another look, lowest first; whether any may be left."""
        self._unsettled = min(self._unsettled, len(self._slots))
        while self._unsettled and count:
            self._unsettled -= 1
            count -= self.refresh(self._unsettled)
        return self._unsettled > 0

    def top(self, index: int) -> int:
        """The first row of the piece, its gap included; for the number of pieces, the row after the last."""
        for at in range(self._known, index):
            self._tops[at + 1] = self._tops[at] + self._slots[at].height
        self._known = max(self._known, index)
        return self._tops[index]

    def at(self, row: int) -> tuple[int, int]:
        """The piece that row belongs to, and the row within it: 0 is the gap, if it has one."""
        self.top(len(self._slots))
        index = max(0, bisect_right(self._tops, row, 0, len(self._slots)) - 1)
        return index, row - self._tops[index]

    def line(self, index: int, inner: int) -> TextLine:
        """One row of a piece, `BLANK` for its gap and for rows it does not have."""
        slot = self._slots[index]
        inner -= slot.piece.gap
        return slot.lines[inner] if 0 <= inner < len(slot.lines) else BLANK


#: Cells left of every row: the cursor's bar, and the piece's mark.
GUTTER = 3
#: Cells kept free right of every row.
MARGIN = 1
