"""Entries of the steps before an answer: thinking and tool calls, one row each while closed."""

from collections.abc import Sequence

from laguna_engine.events import Source
from laguna_tui.base.units import plural
from laguna_tui.tui.markdown.attributed_text import AttributedText, Tinter, TintSwitch
from laguna_tui.tui.markdown.highlight import highlight
from laguna_tui.tui.markdown.layout import MAX_PROSE
from laguna_tui.tui.text_lines import (
    MIN_WIDTH,
    TextLine,
    TextRun,
    TextRuns,
    cells,
    crop,
    crop_front,
    expand_tabs,
    plain,
    wrap,
)
from laguna_tui.tui.transcript.entries import HeadlineEntry
from laguna_tui.tui.transcript.live_output import LiveOutput

OPEN, CLOSED, RUNNING = "▾ ", "▸ ", "◌ "
REPORT = "Full report: {path}"
WHOLE_OUTPUT = "The whole output: {path}"
NO_OUTPUT = "no output"
# Rows of thinking that show while the model thinks.
PEEK = 4
ANSWER_NOW = "Enter: answer now"
# Lines of a running tool's output that show while it is closed.
LIVE_ROWS = 6


class ThinkingEntry(HeadlineEntry):
    """The model's thinking."""

    def __init__(self, tint: TintSwitch, hint: str = "") -> None:
        """hint: the key that ends the thinking; empty where nothing can."""
        super().__init__()
        self._attributed = AttributedText()
        self._tint, self._hint = tint, hint
        self.seconds: float | None = None
        self.is_over = False

    def extend(self, text: str, source: Source) -> None:
        """Append text proposed by `source`."""
        self._attributed.add(text, source)
        self.changed()

    def finish(self, seconds: float | None) -> None:
        """End the thinking after `seconds`; None if nobody knows how long it took."""
        self.seconds, self.is_over = seconds, True
        self.changed()

    def mark(self) -> TextRun:
        return TextRun(OPEN if self.is_open else CLOSED, "thinking")

    def headline(self, width: int) -> TextRuns:
        took = f"thought for {spent(self.seconds)}" if self.seconds is not None else "thought"
        if self.is_over:
            return (TextRun(crop(took, width), "thinking"),)
        shown = crop("thinking …", width)
        hint = f"  {self._hint}" if self._hint else ""
        return (TextRun(shown, "thinking"), TextRun(hint if cells(shown + hint) <= width else "", "muted"))

    def body(self, width: int) -> Sequence[TextLine]:
        runs: TextRuns = (TextRun(self.source(), "thinking-text"),)
        return barred(Tinter(self._attributed).runs(runs) if self._tint.on else runs, width)

    def peek(self, width: int) -> Sequence[TextLine]:
        if self.is_over:
            return ()
        # Only the end of the text is wrapped, so that the cost does not grow with it.
        return bar(self.source()[-width * (PEEK + 1) :], width, "thinking-text")[-PEEK:]

    def source(self) -> str:
        return self._attributed.text.strip("\n")


class ToolCallEntry(HeadlineEntry):
    """A tool call and its result; what it puts out while it runs shows below."""

    report_words = REPORT

    def __init__(self, call: str, *, gap: bool) -> None:
        super().__init__(gap=gap)
        self.call = call
        self.output: str | None = None
        self.ok = True
        self.seconds = 0.0
        self.stopped = self.declined = self._asks = False
        self.report = ""
        self._live: LiveOutput | None = None

    def write(self, text: str) -> None:
        """Show more of what it puts out."""
        if self._live is None:
            self._live = LiveOutput()
        self._live.add(text)
        self.changed()

    def ask(self, *, asks: bool) -> None:
        """It begins to wait for the user's answer, or has it."""
        self._asks = asks
        self.changed()

    def stop_waiting(self) -> None:
        """The turn ended before the tool did; what it has put out stays."""
        self.stopped = True
        self.finish("\n".join(self._live.lines) if self._live else "", 0.0, ok=False)

    def finish(self, output: str, seconds: float, *, ok: bool, declined: bool = False, report: str = "") -> None:
        """The tool ran.

        declined: not to its end, because the user did not want it. report: path of the file with all of its output, or
        with all about its failure.
        """
        self.output, self.seconds, self.ok, self.declined, self.report = output, seconds, ok, declined, report
        self._live = None
        self.changed()

    def mark(self) -> TextRun:
        if self.output is None:
            return TextRun(RUNNING, "tool")
        return TextRun(OPEN if self.is_open else CLOSED, self._tone())

    def headline(self, width: int) -> TextRuns:
        summary = self._summary()
        call = crop(self.call, max(width - cells(summary) - 2, width // 2))
        tone = self._tone()
        shown = crop(f"  {summary}", width - cells(call))
        return (*self._call_runs(call), TextRun(shown, "muted" if tone == "tool" else tone))

    def _call_runs(self, call: str) -> TextRuns:
        name, paren, rest = call.partition("(")
        tone = self._tone()
        return (TextRun(name, f"{tone} strong"), TextRun(paren + rest, tone))

    def _tone(self) -> str:
        if self.declined:
            return "muted"
        return "tool" if self.ok else "error"

    def _summary(self) -> str:
        if self.output is None:
            return "waiting for you" if self._asks else "running …"
        if self.stopped:
            return "stopped"
        if self.declined:
            # The time is only how long the user took to decide.
            return "declined"
        return f"{self._result()}  {self.seconds:.2f} s"

    def _result(self) -> str:
        count = self.output.count("\n") + 1 if self.output else 0
        return f"{count} {plural(count, 'line')}" if self.ok else "failed"

    def body(self, width: int) -> Sequence[TextLine]:
        text = self._text()
        return bar(text, width, "tool-text") if text or self.output is None else bar(NO_OUTPUT, width, "muted")

    def peek(self, width: int) -> Sequence[TextLine]:
        if self._live is None:
            return ()
        lines = self._live.lines[-LIVE_ROWS:]
        hidden = len(self._live.lines) - len(lines) + self._live.dropped
        more = bar(f"… {hidden:,} {plural(hidden, 'line')} above: /expand", width, "muted") if hidden else []
        # Of a long line only the end shows, so that the rows that come do not push the screen about.
        return [*more, *(_last(line, min(width, MAX_PROSE)) for line in lines)]

    def source(self) -> str:
        return f"{self.call}\n{self._text()}"

    def _text(self) -> str:
        """Return what the tool answered and, if it failed, where to read on."""
        if self._live is not None:
            return "\n".join(self._live.lines)
        lines = (self.output or "", self.report_words.format(path=self.report) if self.report else "")
        return "\n".join(filter(None, lines))


class CommandEntry(ToolCallEntry):
    """A shell command and its output. The command is sanitised and may have several lines.

    Attributes:
        exit_code: as the shell says it; None while it runs, in the background too.
        job: its number, if it runs in the background; else None.
    """

    report_words = WHOLE_OUTPUT

    def __init__(self, command: str, *, gap: bool) -> None:
        self._lines = highlight(command, "bash")
        super().__init__(" ".join(command.split()), gap=gap)
        self._command = command
        self.exit_code: int | None = None
        self.job: int | None = None

    def _call_runs(self, call: str) -> TextRuns:
        tone = self._tone()
        return (TextRun("$ ", tone), TextRun(call, f"{tone} strong"))

    def headline(self, width: int) -> TextRuns:
        summary = self._summary()
        call = crop(self.call, max(width - cells(summary) - 4, width // 2 - 2))
        tone = "muted" if self._tone() == "tool" else self._tone()
        return (*self._call_runs(call), TextRun(crop(f"  {summary}", width - cells(call) - 2), tone))

    def _tone(self) -> str:
        failed = self.output is not None and self.exit_code not in (0, None)
        return "error" if failed and not self.declined else super()._tone()

    def _result(self) -> str:
        if self.job is not None:
            return f"runs as job {self.job}: /jobs"
        if self.exit_code:
            return f"exit code {self.exit_code}"
        return super()._result()

    def body(self, width: int) -> Sequence[TextLine]:
        # The headline has one row; a command that takes more is shown whole.
        whole = len(self._lines) > 1 or cells(self.call) > width // 2
        command = [row for line in self._lines for row in barred(line, width)] if whole else []
        return [*command, *super().body(width)]

    def source(self) -> str:
        return f"$ {self._command}\n{self._text()}"


_BAR = TextRun("│ ", "rule")


def _last(line: str, width: int) -> TextLine:
    """Return the end of a line of output, in one row."""
    expanded = plain(expand_tabs((TextRun(line),)))
    end = crop_front(expanded, max(width - cells(_BAR.text), MIN_WIDTH))
    return TextLine((_BAR, TextRun(end, "tool-text")), lead=cells(_BAR.text))


def bar(text: str, width: int, tone: str) -> list[TextLine]:
    """Return text beside a thin bar, as the body of a headline."""
    return barred((TextRun(text, tone),), width)


def barred(runs: TextRuns, width: int) -> list[TextLine]:
    """Runs beside a thin bar."""
    return wrap(runs, min(width, MAX_PROSE), (_BAR,), (_BAR,))


def spent(seconds: float) -> str:
    """Return a duration: `4.2 s` or `1 min 5 s`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60} s"
