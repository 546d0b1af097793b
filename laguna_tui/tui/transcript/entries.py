"""The entries of a transcript: each lays itself out for a width and has a source for copying.

Entries hold sanitised text only and know no widget and no colour. A change raises the entry's `version` and is reported
to its listener, the document.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from laguna_engine.events import Prefill
from laguna_tui.base import units
from laguna_tui.base.events import Choosing
from laguna_tui.tui.markdown.layout import MAX_PROSE
from laguna_tui.tui.text_lines import TextLine, TextRun, TextRuns, cells, crop, progress_bar, wrap

# Rows of a question that show while it is closed.
ASKED_ROWS = 12
_SERIALS = itertools.count()
NOTICE_MARKS = {"error": "✕ ", "warning": "! ", "info": "· "}


class FilePlace(NamedTuple):
    """A file as the transcript names it, and a line of it, from 1; 0 for none."""

    path: str
    line: int = 0


class Entry:
    """A block of rows in the transcript.

    Attributes:
        stop: whether the block cursor stops here; an answer is one stop made of many entries.
        streams: whether its text is still being written, so that its last word may be half of one.
        of_turn: whether it goes when the turn is undone in which it was appended.
        gap: whether a blank row precedes it.
        side_by_side: whether a diff in it has two columns; set by the document before it is laid out.
        serial: a unique number.
        version: raised with every change.
        listener: called with the entry after every change.
    """

    stop = True
    of_turn = True
    streams = False
    side_by_side = False

    def __init__(self, *, gap: bool = True) -> None:
        self.gap = gap
        self.serial = next(_SERIALS)
        self.version = 0
        self.listener: Callable[[Entry], None] | None = None

    def place(self) -> FilePlace | None:
        """Return the file that it is about, and the line to begin at; None if it is about none."""
        return None

    def mark(self) -> TextRun:
        """Return the mark in the gutter beside the first row."""
        return TextRun("")

    def lay(self, width: int) -> Sequence[TextLine]:
        """Return the rows for a width."""
        raise NotImplementedError

    def source(self) -> str:
        """Return the text that is copied."""
        raise NotImplementedError

    def changed(self) -> None:
        """Mark the entry as changed: its rows are laid out again."""
        self.version += 1
        if self.listener is not None:
            self.listener(self)


class FoldingEntry(Entry):
    """An entry that opens and closes."""

    def __init__(self, *, gap: bool = True) -> None:
        super().__init__(gap=gap)
        self.is_open = False

    def toggle(self) -> None:
        """Open or close it."""
        self.is_open = not self.is_open
        self.changed()


class HeadlineEntry(FoldingEntry):
    """An entry with a headline and a body that opens and closes."""

    def lay(self, width: int) -> Sequence[TextLine]:
        under = self.body(width) if self.is_open else self.peek(width)
        return [TextLine(self.headline(width)), *under]

    def headline(self, width: int) -> TextRuns:
        """Return the row that always shows."""
        raise NotImplementedError

    def body(self, width: int) -> Sequence[TextLine]:
        """Return the rows that show while it is open."""
        raise NotImplementedError

    def peek(self, width: int) -> Sequence[TextLine]:
        """Return the rows that show while it is closed; none by default."""
        del width
        return ()


class QuestionEntry(FoldingEntry):
    """A message of the user. Only the beginning of a long one shows until it is opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def mark(self) -> TextRun:
        return TextRun("❯ ", "user-mark")

    def lay(self, width: int) -> Sequence[TextLine]:
        width = min(width, MAX_PROSE)
        rows = wrap((TextRun(self.text, "user"),), width, fill="user")
        hidden = len(rows) - ASKED_ROWS
        if self.is_open or hidden <= 0:
            return rows
        more = TextLine((TextRun(f"… {hidden} more rows", "user muted"),), fill="user", reach=width)
        return [*rows[:ASKED_ROWS], more]

    def source(self) -> str:
        return self.text


class WaitingEntry(Entry):
    """A message that waits to go into the turn that runs."""

    stop = of_turn = False

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def mark(self) -> TextRun:
        return TextRun("❯ ", "muted")

    def lay(self, width: int) -> Sequence[TextLine]:
        runs = (TextRun(self.text, "muted"), TextRun("  waiting for the next step", "muted em"))
        return wrap(runs, min(width, MAX_PROSE))[:ASKED_ROWS]

    def source(self) -> str:
        return self.text


class NoticeEntry(Entry):
    """A message of the app: an error, a warning, a note. `kind` is a key of `NOTICE_MARKS`."""

    def __init__(self, text: str, kind: str = "info", *, gap: bool = True) -> None:
        super().__init__(gap=gap)
        self.text = text
        self.kind = kind

    def mark(self) -> TextRun:
        return TextRun(NOTICE_MARKS[self.kind], self.kind)

    def lay(self, width: int) -> Sequence[TextLine]:
        return wrap((TextRun(self.text, self.kind),), min(width, MAX_PROSE))

    def source(self) -> str:
        return self.text


class FiguresEntry(Entry):
    """The last row of a turn: its figures. `lines` are variants, the most detailed first."""

    stop = False

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__()
        self.lines = lines

    def lay(self, width: int) -> Sequence[TextLine]:
        shown = next((line for line in self.lines if cells(line) <= width), crop(self.lines[-1], width))
        return [TextLine((TextRun(shown, "muted"),))]

    def source(self) -> str:
        return self.lines[0]


class WelcomeEntry(Entry):
    """The first entry: the model, what it can do, and the folder. All texts are sanitised."""

    stop = False

    def __init__(self, model: str, folder: str) -> None:
        super().__init__()
        self._model = model
        self._folder = folder
        self._details = self._abilities = ""

    def set_details(self, details: str, abilities: str) -> None:
        """Set the details of the loaded model, and what it can do, as a sentence."""
        self._details, self._abilities = details, abilities
        self.changed()

    def mark(self) -> TextRun:
        return TextRun("≈ ", "bar")

    def lay(self, width: int) -> Sequence[TextLine]:
        width = min(width, MAX_PROSE)
        details = (TextRun(f"  {self._details}", "muted"),) if self._details else ()
        name = (TextRun("laguna", "heading heading-h2"), TextRun(f"  {self._model}", "text"), *details)
        about = (TextRun("Ask about the code in "), TextRun(self._folder, "inline-code"))
        abilities = wrap((TextRun(self._abilities),), width) if self._abilities else []
        return [*wrap(name, width), *abilities, *wrap(about, width)]

    def source(self) -> str:
        return ""


class CaptionEntry(Entry):
    """A line of the app above offers, or in their place."""

    stop = False

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def lay(self, width: int) -> Sequence[TextLine]:
        return wrap((TextRun(self.text, "muted"),), min(width, MAX_PROSE))

    def source(self) -> str:
        return ""


class OfferEntry(Entry):
    """A line that Enter or a click takes: an example question, or a command of the app.

    Attributes:
        text: the line, sanitised.
        command: the command that it stands for; empty for a question.
    """

    of_turn = False

    def __init__(self, text: str, command: str = "", *, gap: bool = False) -> None:
        super().__init__(gap=gap)
        self.text = text
        self.command = command

    @property
    def verb(self) -> str:
        """What taking it does, in a word or two."""
        return "set up" if self.command else "ask this"

    def mark(self) -> TextRun:
        return TextRun("› ", "bullet")

    def lay(self, width: int) -> Sequence[TextLine]:
        return wrap((TextRun(self.text, "muted" if self.command else "link"),), min(width, MAX_PROSE))

    def source(self) -> str:
        return ""


BAR_CELLS = 16
SKIP_SCORING = "Enter: skip the scorer"


class ProgressEntry(Entry):
    """The progress before an answer as a bar: choosing what to keep of files, then the prefill; else “working …”."""

    stop = False

    def __init__(self) -> None:
        super().__init__()
        self._progress: Prefill | Choosing | None = None

    def update(self, progress: Prefill | Choosing | None) -> None:
        """Set the progress; None when there is nothing to read."""
        self._progress = progress
        self.changed()

    def mark(self) -> TextRun:
        return TextRun("◌ ", "muted")

    def lay(self, width: int) -> Sequence[TextLine]:
        match self._progress:
            case Choosing(limit_s=limit_s) as choosing:
                line = TextLine((TextRun(crop(choosing.doing + choosing.how_far, width), "muted"),))
                skip = TextLine((TextRun(crop(SKIP_SCORING, width), "muted"),))
                return [line] if limit_s is None else [line, skip]
            case Prefill(done, total) if done < total:
                tokens = f" {units.count(done)} of {units.count(total)} tokens"
                bar = progress_bar(done / total, min(BAR_CELLS, width // 3))
                shown = crop(tokens, width - 8 - len(bar))
                return [TextLine((TextRun("reading ", "muted"), TextRun(bar, "bar"), TextRun(shown, "muted")))]
            case _:
                return [TextLine((TextRun("working …", "muted"),))]

    def source(self) -> str:
        return ""
