"""What leads to an answer: thinking and tool calls, one row each until they are opened."""

from collections.abc import Sequence

from laguna_engine.events import Source
from laguna_tui.base.units import plural
from laguna_tui.tui.markdown.code import TAB
from laguna_tui.tui.markdown.flow import Line, Run, Runs
from laguna_tui.tui.markdown.layout import MAX_PROSE
from laguna_tui.tui.markdown.tint import Heat, Said, Walk
from laguna_tui.tui.markdown.wrap import cells, crop, wrap
from laguna_tui.tui.transcript.pieces import Headed

OPEN, CLOSED, RUNNING = "▾ ", "▸ ", "◌ "
# While the model thinks, its last lines are shown; when it is done they fold away.
PEEK = 4


class Thought(Headed):
    """The model's thinking."""

    def __init__(self, heat: Heat) -> None:
        super().__init__()
        self._said = Said()
        self._heat = heat
        self.seconds: float | None = None

    def extend(self, text: str, source: Source) -> None:
        """More thinking, and who proposed it."""
        self._said.add(text, source)
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
        runs: Runs = (Run(self.source().expandtabs(TAB), "thinking-text"),)
        return barred(Walk(self._said).runs(runs) if self._heat.on else runs, width)

    def peek(self, width: int) -> Sequence[Line]:
        if self.seconds is not None:
            return ()
        # Only the end of the text is wrapped: the peek must not cost more as the thinking grows.
        return bar(self.source()[-width * (PEEK + 1) :], width, "thinking-text")[-PEEK:]

    def source(self) -> str:
        return self._said.text.strip("\n")


class Called(Headed):
    """A tool call and its result."""

    def __init__(self, call: str, *, gap: bool) -> None:
        super().__init__(gap=gap)
        self.call = call
        self.output: str | None = None
        self.ok = True
        self.seconds = 0.0
        self.stopped = self.declined = False

    def stop_waiting(self) -> None:
        """The turn ended before the tool did."""
        self.stopped = True
        self.finish("", 0.0, ok=False)

    def finish(self, output: str, seconds: float, *, ok: bool, declined: bool = False) -> None:
        """The tool ran; `declined`: not to its end, because the user did not want it."""
        self.output, self.seconds, self.ok, self.declined = output, seconds, ok, declined
        self.changed()

    def mark(self) -> Run:
        if self.output is None:
            return Run(RUNNING, "tool")
        return Run(OPEN if self.is_open else CLOSED, self._tone())

    def headline(self, width: int) -> Runs:
        summary = self._summary()
        call = crop(self.call, max(width - cells(summary) - 2, width // 2))
        name, paren, rest = call.partition("(")
        tone = self._tone()
        shown = crop(f"  {summary}", width - cells(call))
        return (Run(name, f"{tone} strong"), Run(paren + rest, tone), Run(shown, "muted" if tone == "tool" else tone))

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
            # How long it took says only how long somebody thought.
            return "declined"
        count = self.output.count("\n") + 1 if self.output else 0
        what = f"{count} {plural(count, 'line')}" if self.ok else "failed"
        return f"{what}  {self.seconds:.2f} s"

    def body(self, width: int) -> Sequence[Line]:
        return bar(self.output or "", width, "tool-text")

    def source(self) -> str:
        return f"{self.call}\n{self.output or ''}"


def bar(text: str, width: int, tone: str) -> list[Line]:
    """Text beside a thin bar: what belongs to the headline above it."""
    return barred((Run(text.expandtabs(TAB), tone),), width)


def barred(runs: Runs, width: int) -> list[Line]:
    """The same for runs."""
    lead = (Run("│ ", "rule"),)
    return wrap(runs, min(width, MAX_PROSE), lead, lead)


def spent(seconds: float) -> str:
    """A duration as people say it."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60} s"
