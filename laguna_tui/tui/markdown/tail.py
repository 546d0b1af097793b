"""The open block of a stream as lines, cheap enough to redraw at every tick.

A fence grows by whole lines, each coloured and laid out once; any other block is short (lists are cut into items)
and is converted again for each draft, but never more than a small share of the time.
"""

import time
from collections.abc import Callable

from laguna_tui.tui.markdown.code import TAB, highlight
from laguna_tui.tui.markdown.convert import convert
from laguna_tui.tui.markdown.flow import Flows, Line, Run
from laguna_tui.tui.markdown.layout import MAX_PROSE, language_row, lay_code, lay_out
from laguna_tui.tui.markdown.split import Kind, Splitter

# Drafting may take one part in five of the time: a long open table is redrawn less often instead of stalling.
REST_PER_WORK = 4.0


class Tail:
    """Draws the block that a splitter holds open."""

    def __init__(self, splitter: Splitter, clock: Callable[[], float] = time.perf_counter) -> None:
        self._splitter = splitter
        self._clock = clock
        self._next_draft = 0.0
        self._flows: Flows = ()
        self._fence = _FenceTail()

    def lines(self, width: int) -> list[Line]:
        """The rows of the open block as they are now (or were a moment ago)."""
        if self._splitter.kind is Kind.FENCE:
            return self._fence.lines(self._splitter, width)
        now = self._clock()
        if now >= self._next_draft:
            self._flows = convert(self._splitter.tail)
            ended = self._clock()
            self._next_draft = ended + REST_PER_WORK * (ended - now)
        return lay_out(self._flows, width)

    def restart(self) -> None:
        """A block closed and another may be open: forget the drafts."""
        self._flows, self._next_draft, self._fence = (), 0.0, _FenceTail()


class _FenceTail:
    """The rows of a fence that is still open: those of whole lines are kept, the last line is laid out anew."""

    def __init__(self) -> None:
        self._rows: list[Line] = []
        self._done = 1  # how many of the splitter's lines are in `_rows`; the first is the fence itself
        self._width = 0

    def lines(self, splitter: Splitter, width: int) -> list[Line]:
        language = splitter.lines[0].lstrip(" `~").split(" ")[0]
        reach = min(width, MAX_PROSE)
        if width != self._width:
            self._rows, self._done, self._width = language_row(language, reach), 1, width
        for line in splitter.lines[self._done :]:
            self._rows.extend(lay_code(highlight(line, language), width, reach))
        self._done = len(splitter.lines)
        if not splitter.partial:
            return self._rows
        return self._rows + lay_code(((Run(splitter.partial.expandtabs(TAB), "code"),),), width, reach)
