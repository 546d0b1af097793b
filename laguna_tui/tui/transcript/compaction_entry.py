"""Compaction in the transcript: that room is being made, then how much, and the summary. Its texts are sanitised."""

from collections.abc import Sequence

from laguna_tui.base.events import Compacted, Compacting
from laguna_tui.tui.markdown.layout import MAX_PROSE
from laguna_tui.tui.text_lines import TextLine, TextRun, TextRuns, crop, plain, wrap
from laguna_tui.tui.transcript.entries import FoldingEntry
from laguna_tui.tui.transcript.step_entries import CLOSED, OPEN, RUNNING, bar

_RUNNING = "compacting the context: {used:,} of {size:,} tokens are used …"
_STOPPED = "Compaction was stopped. The context is unchanged."
_SHORTENED = "/context shows what was left out and can restore it."
_REPLACED = "/context shows what is in the context now."
_RECOMPUTED = "{tokens:,} tokens are computed again with the next message."


class CompactionEntry(FoldingEntry):
    """One compaction; opened, it shows the summary."""

    def __init__(self, begun: Compacting) -> None:
        super().__init__()
        self._begun = begun
        self.result: Compacted | None = None
        self._stopped = False

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self.result is None and not self._stopped

    def finish(self, result: Compacted | None) -> None:
        """It ended; None: it was stopped before it changed anything."""
        self.result, self._stopped = result, result is None
        self.changed()

    def mark(self) -> TextRun:
        if self.running:
            return TextRun(RUNNING, "muted")
        return TextRun(OPEN if self.is_open else CLOSED, "info") if self._details() else TextRun("· ", "info")

    def lay(self, width: int) -> Sequence[TextLine]:
        if self.running:
            words = _RUNNING.format(used=self._begun.used, size=self._begun.size)
            return [TextLine((TextRun(crop(words, width), "muted"),))]
        rows = wrap(self._sentence(), min(width, MAX_PROSE))
        return [*rows, *bar(self._details(), width, "tool-text")] if self.is_open and self._details() else rows

    def source(self) -> str:
        return "\n\n".join(filter(None, (plain(self._sentence()), self.result.summary if self.result else "")))

    def _sentence(self) -> TextRuns:
        if self.result is None:
            return (TextRun(_STOPPED, "info"),)
        more = _SHORTENED if self.result.shortened else _REPLACED if self.result.replaced else ""
        return (TextRun(" ".join(filter(None, (self.result.sentence, more))), "info"),)

    def _details(self) -> str:
        if self.result is None or not (self.result.shortened or self.result.replaced):
            return ""
        recomputed = _RECOMPUTED.format(tokens=self.result.recomputed)
        return "\n".join(filter(None, (recomputed, self.result.summary)))
