"""The entries of a transcript. Each turns itself into lines for a width, and says what copying it gives.

Entries hold sanitised text only. They know no widget and no colour. A change in an entry raises its `version` and is
reported to its listener, the document that holds it.
"""

import itertools
from collections.abc import Callable, Sequence

from laguna_engine.events import Prefill
from laguna_tui.base import units
from laguna_tui.tui import formatting
from laguna_tui.tui.markdown.highlight import TAB
from laguna_tui.tui.markdown.layout import MAX_PROSE
from laguna_tui.tui.text_lines import BLANK, TextLine, TextRun, TextRuns, crop, wrap

# Rows of a question that show before it is opened.
ASKED_ROWS = 12
_SERIALS = itertools.count()
NOTICE_MARKS = {"error": "✕ ", "warning": "! ", "info": "· "}


class Entry:
    """Something in the transcript. `gap`: a blank row stands above it. `serial` is never used twice.

    `stop` says whether the block cursor stops here; an answer is one stop, made of many pieces.
    """

    stop = True

    def __init__(self, *, gap: bool = True) -> None:
        self.gap = gap
        self.serial = next(_SERIALS)
        self.version = 0
        self.listener: Callable[[Entry], None] | None = None

    def mark(self) -> TextRun:
        """What stands in the gutter beside the first row."""
        return TextRun("")

    def lay(self, width: int) -> Sequence[TextLine]:
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


class FoldingEntry(Entry):
    """A piece that opens and closes."""

    def __init__(self, *, gap: bool = True) -> None:
        super().__init__(gap=gap)
        self.is_open = False

    def toggle(self) -> None:
        """Open it, or close it."""
        self.is_open = not self.is_open
        self.changed()


class HeadlineEntry(FoldingEntry):
    """A headline that opens and closes what is under it."""

    def lay(self, width: int) -> Sequence[TextLine]:
        under = self.body(width) if self.is_open else self.peek(width)
        return [TextLine(self.headline(width)), *under]

    def headline(self, width: int) -> TextRuns:
        """The one row that always shows."""
        raise NotImplementedError

    def body(self, width: int) -> Sequence[TextLine]:
        """The rows that show while it is open."""
        raise NotImplementedError

    def peek(self, width: int) -> Sequence[TextLine]:
        """The rows that show while it is closed; most have none."""
        del width
        return ()


class QuestionEntry(FoldingEntry):
    """What the user asked. A long paste shows its beginning until it is opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def mark(self) -> TextRun:
        return TextRun("❯ ", "user-mark")

    def lay(self, width: int) -> Sequence[TextLine]:
        width = min(width, MAX_PROSE)
        rows = wrap((TextRun(self.text.expandtabs(TAB), "user"),), width, fill="user")
        hidden = len(rows) - ASKED_ROWS
        if self.is_open or hidden <= 0:
            return rows
        more = TextLine((TextRun(f"… {hidden} more rows", "user muted"),), fill="user", reach=width)
        return [*rows[:ASKED_ROWS], more]

    def source(self) -> str:
        return self.text


class NoticeEntry(Entry):
    """Something the app says: an error, a warning, a note. `kind` is a key of `NOTICE_MARKS`."""

    def __init__(self, text: str, kind: str = "info", *, gap: bool = True) -> None:
        super().__init__(gap=gap)
        self.text = text
        self.kind = kind

    def mark(self) -> TextRun:
        return TextRun(NOTICE_MARKS[self.kind], self.kind)

    def lay(self, width: int) -> Sequence[TextLine]:
        return wrap((TextRun(self.text.expandtabs(TAB), self.kind),), min(width, MAX_PROSE))

    def source(self) -> str:
        return self.text


HINTS = (("Enter", "send"), ("Ctrl+J", "new line"), ("@", "mention a file"), ("F1", "all keys"))


class WelcomeEntry(Entry):
    """The model and folder by name, and what is known of the model once it is loaded. All texts are sanitised."""

    stop = False

    def __init__(self, model: str, folder: str) -> None:
        super().__init__()
        self._model = model
        self._folder = folder
        self._details = ""

    def tell(self, details: str) -> None:
        """The model is loaded, and this is what it is."""
        self._details = details
        self.changed()

    def mark(self) -> TextRun:
        return TextRun("≈ ", "bar")

    def lay(self, width: int) -> Sequence[TextLine]:
        width = min(width, MAX_PROSE)
        details = (TextRun(f"  {self._details}", "muted"),) if self._details else ()
        name = (TextRun("laguna", "heading heading-h2"), TextRun(f"  {self._model}", "text"), *details)
        about = (TextRun("Ask about the code in "), TextRun(self._folder, "inline-code"))
        hints: list[TextRun] = []
        for key, what in HINTS:
            hints.extend([TextRun("   ", "muted")] if hints else [])
            hints.extend([TextRun(key, "bullet"), TextRun(f"\u00a0{what.replace(' ', chr(0xA0))}", "muted")])
        return [*wrap(name, width), *wrap(about, width), BLANK, *wrap(tuple(hints), width)]

    def source(self) -> str:
        return ""


BAR_CELLS = 16


class ProgressEntry(Entry):
    """Reading the prompt, with a bar when it takes long enough to have one; else a quiet waiting line."""

    stop = False

    def __init__(self) -> None:
        super().__init__()
        self._prefill: Prefill | None = None

    def tell(self, prefill: Prefill | None) -> None:
        """How far reading has come; None when there is nothing to read."""
        self._prefill = prefill
        self.changed()

    def mark(self) -> TextRun:
        return TextRun("◌ ", "muted")

    def lay(self, width: int) -> Sequence[TextLine]:
        prefill = self._prefill
        if prefill is None or prefill.done >= prefill.total:
            return [TextLine((TextRun("working …", "muted"),))]
        done = prefill.done / prefill.total
        said = f" {units.count(prefill.done)} of {units.count(prefill.total)} tokens"
        bar = formatting.progress_bar(done, min(BAR_CELLS, width // 3))
        return [
            TextLine(
                (TextRun("reading ", "muted"), TextRun(bar, "bar"), TextRun(crop(said, width - 8 - len(bar)), "muted"))
            )
        ]

    def source(self) -> str:
        return ""
