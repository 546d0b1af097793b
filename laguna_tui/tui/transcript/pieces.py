"""The pieces a transcript is made of. Each turns itself into lines for a width, and says what copying it gives.

Pieces hold sanitised text only. They know no widget and no colour. A change in a piece raises its `version` and is
told to whoever listens (the document it stands in).
"""

import itertools
from collections.abc import Callable, Sequence

from laguna_tui.tui.markdown.code import TAB
from laguna_tui.tui.markdown.flow import Line, Run, Runs
from laguna_tui.tui.markdown.layout import MAX_PROSE
from laguna_tui.tui.markdown.wrap import wrap

# Rows of a question that show before it is opened.
ASKED_ROWS = 12
_SERIALS = itertools.count()
NOTICE_MARKS = {"error": "✕ ", "warning": "! ", "info": "· "}


class Piece:
    """Something in the transcript. `gap`: a blank row stands above it. `serial` is never used twice.

    `stop` says whether the block cursor stops here; an answer is one stop, made of many pieces.
    """

    stop = True

    def __init__(self, *, gap: bool = True) -> None:
        self.gap = gap
        self.serial = next(_SERIALS)
        self.version = 0
        self.listener: Callable[[Piece], None] | None = None

    def mark(self) -> Run:
        """What stands in the gutter beside the first row."""
        return Run("")

    def lay(self, width: int) -> Sequence[Line]:
        """The rows at this width."""
        raise NotImplementedError

    def source(self) -> str:
        """The text that copying the piece gives."""
        raise NotImplementedError

    def changed(self) -> None:
        """Say that the rows must be laid out again."""
        self.version += 1
        if self.listener is not None:
            self.listener(self)


class Folding(Piece):
    """A piece that opens and closes."""

    def __init__(self, *, gap: bool = True) -> None:
        super().__init__(gap=gap)
        self.is_open = False

    def toggle(self) -> None:
        """Open it, or close it."""
        self.is_open = not self.is_open
        self.changed()


class Headed(Folding):
    """A headline that opens and closes what is under it."""

    def lay(self, width: int) -> Sequence[Line]:
        under = self.body(width) if self.is_open else self.peek(width)
        return [Line(self.headline(width)), *under]

    def headline(self, width: int) -> Runs:
        """The one row that always shows."""
        raise NotImplementedError

    def body(self, width: int) -> Sequence[Line]:
        """The rows that show while it is open."""
        raise NotImplementedError

    def peek(self, width: int) -> Sequence[Line]:
        """The rows that show while it is closed; most have none."""
        del width
        return ()


class Asked(Folding):
    """What the user asked. A long paste shows its beginning until it is opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def mark(self) -> Run:
        return Run("❯ ", "user-mark")

    def lay(self, width: int) -> Sequence[Line]:
        width = min(width, MAX_PROSE)
        rows = wrap((Run(self.text.expandtabs(TAB), "user"),), width, fill="user")
        hidden = len(rows) - ASKED_ROWS
        if self.is_open or hidden <= 0:
            return rows
        more = Line((Run(f"… {hidden} more rows", "user muted"),), fill="user", reach=width)
        return [*rows[:ASKED_ROWS], more]

    def source(self) -> str:
        return self.text


class Notice(Piece):
    """Something the app says: an error, a warning, a note. `kind` is a key of `NOTICE_MARKS`."""

    def __init__(self, text: str, kind: str = "info", *, gap: bool = True) -> None:
        super().__init__(gap=gap)
        self.text = text
        self.kind = kind

    def mark(self) -> Run:
        return Run(NOTICE_MARKS[self.kind], self.kind)

    def lay(self, width: int) -> Sequence[Line]:
        return wrap((Run(self.text.expandtabs(TAB), self.kind),), min(width, MAX_PROSE))

    def source(self) -> str:
        return self.text
