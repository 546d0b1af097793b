"""A command of the user's in the transcript: its output while it runs, and how it ended."""

from collections.abc import Sequence

from laguna_tui.tui.text_lines import TextLine, TextRun, TextRuns, crop
from laguna_tui.tui.transcript.entries import HeadlineEntry
from laguna_tui.tui.transcript.live_output import LiveOutput
from laguna_tui.tui.transcript.step_entries import bar

# Rows of the output that show while it is closed.
PEEK = 12


class ShellEntry(HeadlineEntry):
    """A command and its output. It stays when the turn is undone in which it ran. All texts are sanitised."""

    of_turn = False

    def __init__(self, command: str) -> None:
        super().__init__()
        self.command = command
        self._output = LiveOutput()
        self._sentence = ""
        self._failed = False

    def add(self, text: str) -> None:
        """Show more output."""
        self._output.add(text)
        self.changed()

    def finish(self, sentence: str, *, failed: bool) -> None:
        """The command has ended."""
        self._sentence, self._failed = sentence, failed
        self.changed()

    def mark(self) -> TextRun:
        return TextRun("$ ", "error" if self._failed else "tool")

    def headline(self, width: int) -> TextRuns:
        return (TextRun(crop(self.command.replace("\n", " ⏎ "), width), "tool strong"),)

    def body(self, width: int) -> Sequence[TextLine]:
        dropped = self._output.dropped
        before = [f"… {dropped:,} lines before"] if dropped else []
        rows = bar("\n".join([*before, *self._output.lines]), width, "tool-text") if self._output.lines else []
        return [*rows, *self._end(width)]

    def peek(self, width: int) -> Sequence[TextLine]:
        # Only the end is wrapped, so that the cost does not grow with the output.
        lines = self._output.lines
        rows = bar("\n".join(lines[-PEEK:]), width, "tool-text")[-PEEK:] if lines else []
        hidden = self._output.dropped + max(0, len(lines) - PEEK)
        more = [TextLine((TextRun(f"… {hidden:,} lines before", "muted"),))] if hidden else []
        return [*more, *rows, *self._end(width)]

    def _end(self, width: int) -> Sequence[TextLine]:
        if not self._sentence:
            return [TextLine((TextRun("running … Esc stops it", "muted"),))]
        return bar(self._sentence, width, "error" if self._failed else "muted")

    def source(self) -> str:
        return "\n".join(filter(None, (f"$ {self.command}", *self._output.lines, self._sentence)))
