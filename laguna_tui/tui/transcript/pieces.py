"""The pieces a transcript is made of. Each turns itself into lines for a width, and says what copying it gives.

Pieces hold sanitised text only. They know no widget and no colour. A change in a piece raises its `version` and is
told to whoever listens (the document it stands in).
"""

from collections.abc import Callable, Sequence

from laguna_tui.tui.markdown.code import TAB
from laguna_tui.tui.markdown.flow import Code, Flows, Line, Run, Runs
from laguna_tui.tui.markdown.layout import MAX_PROSE, lay_out
from laguna_tui.tui.markdown.tail import Tail
from laguna_tui.tui.markdown.wrap import cells, crop, wrap

OPEN, CLOSED = "▾ ", "▸ "
# While the model thinks, its last lines are shown; when it is done they fold away.
PEEK = 4
# Rows of a question that show before it is opened.
ASKED_ROWS = 12
NOTICE_MARKS = {"error": "✕ ", "warning": "! ", "info": "· "}


class Piece:
    """Something in the transcript. `gap`: a blank row stands above it."""

    #: The text that Tab and the arrow keys can stop at; an answer is one stop, made of many pieces.
    stop = True

    def __init__(self, *, gap: bool = True) -> None:
        self.gap = gap
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


class Answered(Piece):
    """One closed block of an answer: converted once, when it was made."""

    def __init__(self, source: str, flows: Flows, *, gap: bool) -> None:
        super().__init__(gap=gap)
        self._source = source
        self.flows = flows

    @property
    def stop(self) -> bool:  # type: ignore[override]
        return len(self.flows) == 1 and isinstance(self.flows[0], Code)

    def lay(self, width: int) -> Sequence[Line]:
        return lay_out(self.flows, width)

    def source(self) -> str:
        return self._source

    def code(self) -> str | None:
        """The code, when the piece is a code block and nothing else."""
        flow = self.flows[0] if len(self.flows) == 1 else None
        if not isinstance(flow, Code):
            return None
        return "\n".join("".join(run.text for run in line) for line in flow.lines)


class Answering(Piece):
    """The open block of an answer."""

    stop = False

    def __init__(self, tail: Tail, *, gap: bool) -> None:
        super().__init__(gap=gap)
        self._tail = tail

    def lay(self, width: int) -> Sequence[Line]:
        return self._tail.lines(width)

    def source(self) -> str:
        return ""


class Folding(Piece):
    """A piece that opens and closes."""

    def __init__(self, *, is_open: bool = False, gap: bool = True) -> None:
        super().__init__(gap=gap)
        self.is_open = is_open

    def toggle(self) -> None:
        """Open it, or close it."""
        self.is_open = not self.is_open
        self.changed()


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


class Thought(Headed):
    """The model's thinking."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[str] = []
        self.seconds: float | None = None

    def extend(self, text: str) -> None:
        """More thinking."""
        self._parts.append(text)
        self.changed()

    def finish(self, seconds: float) -> None:
        """The thinking ended after so long."""
        self.seconds = seconds
        self.changed()

    def mark(self) -> Run:
        return Run(OPEN if self.is_open else CLOSED, "thinking")

    def headline(self, width: int) -> Runs:
        said = "thinking …" if self.seconds is None else f"thought for {spent(self.seconds)}"
        return (Run(crop(said, width), "thinking"),)

    def body(self, width: int) -> Sequence[Line]:
        return bar(self.source(), width, "thinking-text")

    def peek(self, width: int) -> Sequence[Line]:
        if self.seconds is not None:
            return ()
        # Only the end of the text is wrapped: the peek must not cost more as the thinking grows.
        return bar(self.source()[-width * (PEEK + 1) :], width, "thinking-text")[-PEEK:]

    def source(self) -> str:
        text = "".join(self._parts)
        self._parts = [text]
        return text.strip("\n")


class Called(Headed):
    """A tool call and its result."""

    def __init__(self, call: str, *, gap: bool) -> None:
        super().__init__(gap=gap)
        self.call = call
        self.output: str | None = None
        self.ok = True
        self.seconds = 0.0

    def finish(self, output: str, seconds: float, *, ok: bool) -> None:
        """The tool ran."""
        self.output, self.seconds, self.ok = output, seconds, ok
        self.changed()

    def mark(self) -> Run:
        if self.output is None:
            return Run("◌ ", "tool")
        return Run(OPEN if self.is_open else CLOSED, "tool" if self.ok else "error")

    def headline(self, width: int) -> Runs:
        summary = self._summary()
        call = crop(self.call, max(width - cells(summary) - 2, width // 2))
        name, paren, rest = call.partition("(")
        tone = "tool" if self.ok else "error"
        shown = crop(f"  {summary}", width - cells(call))
        return (Run(name, f"{tone} strong"), Run(paren + rest, tone), Run(shown, "muted" if self.ok else "error"))

    def _summary(self) -> str:
        if self.output is None:
            return "running …"
        count = self.output.count("\n") + 1 if self.output else 0
        what = f"{count} line{'' if count == 1 else 's'}" if self.ok else "failed"
        return f"{what}  {self.seconds:.2f} s"

    def body(self, width: int) -> Sequence[Line]:
        return bar(self.output or "", width, "tool-text")

    def source(self) -> str:
        return f"{self.call}\n{self.output or ''}"


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


def bar(text: str, width: int, tone: str) -> list[Line]:
    """Text beside a thin bar: what belongs to the headline above it."""
    lead = (Run("│ ", "rule"),)
    return wrap((Run(text.expandtabs(TAB), tone),), min(width, MAX_PROSE), lead, lead)


def spent(seconds: float) -> str:
    """A duration as people say it."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60} s"
