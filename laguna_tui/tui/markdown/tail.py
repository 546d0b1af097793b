"""The open block of a stream as lines, cheap enough to redraw at every tick.

A fence and a table grow by whole lines, each converted once; any other block is short (lists are cut into items) and
is converted again for each draft, but never more than a small share of the time.
"""

import time
from collections.abc import Callable
from dataclasses import replace

from laguna_tui.tui.markdown.code import TAB, highlight, language_of
from laguna_tui.tui.markdown.convert import convert
from laguna_tui.tui.markdown.flow import Flows, Line, Run, Table
from laguna_tui.tui.markdown.layout import MAX_PROSE, language_row, lay_code, lay_out
from laguna_tui.tui.markdown.split import Kind, Splitter

# Drafting may take one part in five of the time: a long open table is redrawn less often instead of stalling.
REST_PER_WORK = 4.0
# The header and the line of dashes under it.
TABLE_HEAD = 2


class Tail:
    """Draws the block that a splitter holds open."""

    def __init__(self, splitter: Splitter, clock: Callable[[], float] = time.perf_counter) -> None:
        self._splitter = splitter
        self._clock = clock
        self._next_draft = 0.0
        self._flows: Flows = ()
        self._rows: list[Line] = []
        self._width = 0
        self._fence = _FenceTail()
        self._table = _TableTail()

    def lines(self, width: int) -> list[Line]:
        """The rows of the open block as they are now (or were a moment ago)."""
        if self._splitter.kind is Kind.FENCE:
            return self._fence.lines(self._splitter, width)
        now = self._clock()
        if now >= self._next_draft:
            self._flows = self._table.flows(self._splitter.lines) or convert(self._splitter.tail)
            self._rows = lay_out(self._flows, width)
            ended = self._clock()
            self._next_draft = ended + REST_PER_WORK * (ended - now)
            self._width = width
        elif width != self._width:
            self._rows, self._width = lay_out(self._flows, width), width
        return self._rows

    def restart(self) -> None:
        """A block closed and another may be open: forget the drafts."""
        self._flows, self._rows, self._next_draft = (), [], 0.0
        self._fence, self._table = _FenceTail(), _TableTail()


class _FenceTail:
    """The rows of a fence that is still open: those of whole lines are kept, the last line is laid out anew."""

    def __init__(self) -> None:
        self._rows: list[Line] = []
        self._done = 1  # how many of the splitter's lines are in `_rows`; the first is the fence itself
        self._width = 0

    def lines(self, splitter: Splitter, width: int) -> list[Line]:
        language = language_of(splitter.lines[0].lstrip(" `~"))
        reach = min(width, MAX_PROSE)
        if width != self._width:
            self._rows, self._done, self._width = language_row(language, reach), 1, width
        for line in splitter.lines[self._done :]:
            self._rows.extend(lay_code(highlight(line, language), width, reach))
        self._done = len(splitter.lines)
        # What may become the closing fence is not shown as code first.
        if not splitter.partial.strip(" `~"):
            return self._rows
        return self._rows + lay_code(((Run(splitter.partial.expandtabs(TAB), "code"),),), width, reach)


class _TableTail:
    """The rows of a table that is still open; a row shows when it is whole, so that columns do not tremble."""

    def __init__(self) -> None:
        self._table: Table | None = None
        self._done = TABLE_HEAD

    def flows(self, lines: list[str]) -> Flows:
        """The table so far, or nothing when these lines are not a table alone."""
        if len(lines) < TABLE_HEAD or not lines[0].lstrip().startswith("|"):
            return ()
        if self._table is None or self._done < len(lines):
            flows = convert("\n".join([*lines[:TABLE_HEAD], *lines[self._done :]]))
            new = flows[0] if len(flows) == 1 else None
            if not isinstance(new, Table):
                return ()
            rows = self._table.rows if self._table is not None else ()
            self._table, self._done = replace(new, rows=rows + new.rows), len(lines)
        return (self._table,)
