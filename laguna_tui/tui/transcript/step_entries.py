"""Entries of the steps before an answer: thinking and tool calls, one row each while closed."""

from collections.abc import Sequence

from laguna_engine.events import Source
from laguna_tui.base.units import plural
from laguna_tui.tui.markdown.attributed_text import AttributedText, Tinter, TintSwitch
from laguna_tui.tui.markdown.highlight import TAB
from laguna_tui.tui.markdown.layout import MAX_PROSE
from laguna_tui.tui.text_lines import TextLine, TextRun, TextRuns, cells, crop, wrap
from laguna_tui.tui.transcript.entries import HeadlineEntry

OPEN, CLOSED, RUNNING = "▾ ", "▸ ", "◌ "
REPORT = "Full report: {path}"
# Rows of thinking that show while the model thinks.
PEEK = 4


class ThinkingEntry(HeadlineEntry):
    """The model's thinking."""

    def __init__(self, tint: TintSwitch) -> None:
        super().__init__()
        self._attributed = AttributedText()
        self._tint = tint
        self.seconds: float | None = None

    def extend(self, text: str, source: Source) -> None:
        """Append text proposed by `source`."""
        self._attributed.add(text, source)
        self.changed()

    def finish(self, seconds: float) -> None:
        """End the thinking after `seconds`."""
        self.seconds = seconds
        self.changed()

    def mark(self) -> TextRun:
        return TextRun(OPEN if self.is_open else CLOSED, "thinking")

    def headline(self, width: int) -> TextRuns:
        words = "thinking …" if self.seconds is None else f"thought for {spent(self.seconds)}"
        return (TextRun(crop(words, width), "thinking"),)

    def body(self, width: int) -> Sequence[TextLine]:
        runs: TextRuns = (TextRun(self.source().expandtabs(TAB), "thinking-text"),)
        return barred(Tinter(self._attributed).runs(runs) if self._tint.on else runs, width)

    def peek(self, width: int) -> Sequence[TextLine]:
        if self.seconds is not None:
            return ()
        # Only the end of the text is wrapped, so that the cost does not grow with it.
        return bar(self.source()[-width * (PEEK + 1) :], width, "thinking-text")[-PEEK:]

    def source(self) -> str:
        return self._attributed.text.strip("\n")


class ToolCallEntry(HeadlineEntry):
    """A tool call and its result."""

    def __init__(self, call: str, *, gap: bool) -> None:
        super().__init__(gap=gap)
        self.call = call
        self.output: str | None = None
        self.ok = True
        self.seconds = 0.0
        self.stopped = self.declined = False
        self.report = ""

    def stop_waiting(self) -> None:
        """The turn ended before the tool did."""
        self.stopped = True
        self.finish("", 0.0, ok=False)

    def finish(self, output: str, seconds: float, *, ok: bool, declined: bool = False, report: str = "") -> None:
        """The tool ran.

        declined: not to its end, because the user did not want it. report: path of the file with all about its failure.
        """
        self.output, self.seconds, self.ok, self.declined, self.report = output, seconds, ok, declined, report
        self.changed()

    def mark(self) -> TextRun:
        if self.output is None:
            return TextRun(RUNNING, "tool")
        return TextRun(OPEN if self.is_open else CLOSED, self._tone())

    def headline(self, width: int) -> TextRuns:
        summary = self._summary()
        call = crop(self.call, max(width - cells(summary) - 2, width // 2))
        name, paren, rest = call.partition("(")
        tone = self._tone()
        shown = crop(f"  {summary}", width - cells(call))
        return (
            TextRun(name, f"{tone} strong"),
            TextRun(paren + rest, tone),
            TextRun(shown, "muted" if tone == "tool" else tone),
        )

    def _tone(self) -> str:
        if self.declined:
            return "muted"
        return "tool" if self.ok else "error"

    def _summary(self) -> str:
        if self.output is None:
            return "running …"
        if self.stopped:
            return "stopped"
        if self.declined:
            # The time is only how long the user took to decide.
            return "declined"
        count = self.output.count("\n") + 1 if self.output else 0
        what = f"{count} {plural(count, 'line')}" if self.ok else "failed"
        return f"{what}  {self.seconds:.2f} s"

    def body(self, width: int) -> Sequence[TextLine]:
        return bar(self._text(), width, "tool-text")

    def source(self) -> str:
        return f"{self.call}\n{self._text()}"

    def _text(self) -> str:
        """What the tool answered and, if it failed, where to read on."""
        lines = (self.output or "", REPORT.format(path=self.report) if self.report else "")
        return "\n".join(filter(None, lines))


def bar(text: str, width: int, tone: str) -> list[TextLine]:
    """Text beside a thin bar, as the body of a headline."""
    return barred((TextRun(text.expandtabs(TAB), tone),), width)


def barred(runs: TextRuns, width: int) -> list[TextLine]:
    """Runs beside a thin bar."""
    lead = (TextRun("│ ", "rule"),)
    return wrap(runs, min(width, MAX_PROSE), lead, lead)


def spent(seconds: float) -> str:
    """A duration: `4.2 s` or `1 min 5 s`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60} s"
