"""The open block of a stream as lines, cheap enough to redraw at every tick.

A fence and a table grow by whole lines, each converted once; any other block is short (lists are cut into items) and
is converted again for each draft, but never more than a small share of the time.
"""

import time
from collections.abc import Callable
from dataclasses import replace

from laguna_tui.tui.markdown.attributed_text import AttributedText, Tinter, TintSwitch, tinted
from laguna_tui.tui.markdown.flow import Flows, TableFlow
from laguna_tui.tui.markdown.highlight import TAB, highlight, language_of
from laguna_tui.tui.markdown.layout import MAX_PROSE, language_row, lay_code, lay_out
from laguna_tui.tui.markdown.markdown_parser import to_flows
from laguna_tui.tui.markdown.splitter import BlockType, Splitter
from laguna_tui.tui.text_lines import TextLine, TextRun, TextRuns

# Drafting may take one part in five of the time: a long open table is redrawn less often instead of stalling.
REST_PER_WORK = 4.0
# The header and the line of dashes under it.
TABLE_HEAD = 2


class OpenBlock:
    """Draws the block that a splitter holds open; `said` is its source, and who proposed it."""

    def __init__(
        self, splitter: Splitter, said: AttributedText, tint: TintSwitch, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._splitter = splitter
        self._said = said
        self._tint = tint
        self._clock = clock
        self._next_draft = 0.0
        self._flows: Flows = ()
        self._rows: list[TextLine] = []
        self._look = (0, False)
        self._fence = self._new_fence()
        self._table = _OpenTable()

    def lines(self, width: int) -> list[TextLine]:
        """The rows of the open block as they are now (or were a moment ago)."""
        look = (width, self._tint.on)
        if self._splitter.kind is BlockType.FENCE:
            self._fence = self._fence if look == self._look else self._new_fence()
            self._look = look
            return self._fence.lines(self._splitter, width)
        now = self._clock()
        if now >= self._next_draft:
            self._flows = self._table.flows(self._splitter.lines) or to_flows(self._splitter.tail)
            self._rows, self._look = self._lay(width), look
            ended = self._clock()
            self._next_draft = ended + REST_PER_WORK * (ended - now)
        elif look != self._look:
            self._rows, self._look = self._lay(width), look
        return self._rows

    def restart(self) -> None:
        """A block closed and another may be open: forget the drafts."""
        self._flows, self._rows, self._next_draft = (), [], 0.0
        self._fence, self._table = self._new_fence(), _OpenTable()

    def _lay(self, width: int) -> list[TextLine]:
        return lay_out(tinted(self._flows, self._said) if self._tint.on else self._flows, width)

    def _new_fence(self) -> "_OpenFence":
        return _OpenFence(self._said if self._tint.on else None)


class _OpenFence:
    """The rows of a fence that is still open: those of whole lines are kept, the last line is laid out anew."""

    def __init__(self, said: AttributedText | None) -> None:
        """With `said`, the code is tinted."""
        self._said = said
        self._walk = Tinter(said) if said is not None else None
        self._rows: list[TextLine] = []
        self._done = 0  # how many of the splitter's lines are in `_rows`

    def lines(self, splitter: Splitter, width: int) -> list[TextLine]:
        language = language_of(splitter.lines[0].lstrip(" `~"))
        reach = min(width, MAX_PROSE)
        if not self._done:
            self._begin(language, reach)
        for line in splitter.lines[self._done :]:
            code = highlight(line, language)
            self._rows.extend(lay_code(tuple(map(self._walk.runs, code)) if self._walk else code, width, reach))
        self._done = len(splitter.lines)
        # What may become the closing fence is not shown as code first.
        if not splitter.partial.strip(" `~"):
            return self._rows
        return self._rows + lay_code((self._last(splitter.partial),), width, reach)

    def _begin(self, language: str, reach: int) -> None:
        self._rows, self._done = language_row(language, reach), 1
        if self._walk is not None:
            self._walk.past_fence()

    def _last(self, partial: str) -> TextRuns:
        runs: TextRuns = (TextRun(partial.expandtabs(TAB), "code"),)
        if self._said is None or self._walk is None:
            return runs
        return Tinter(self._said, self._walk.at).runs(runs)


class _OpenTable:
    """The rows of a table that is still open; a row shows when it is whole, so that columns do not tremble."""

    def __init__(self) -> None:
        self._table: TableFlow | None = None
        self._done = TABLE_HEAD

    def flows(self, lines: list[str]) -> Flows:
        """The table so far, or nothing when these lines are not a table alone."""
        if len(lines) < TABLE_HEAD or not lines[0].lstrip().startswith("|"):
            return ()
        if self._table is None or self._done < len(lines):
            flows = to_flows("\n".join([*lines[:TABLE_HEAD], *lines[self._done :]]))
            new = flows[0] if len(flows) == 1 else None
            if not isinstance(new, TableFlow):
                return ()
            rows = self._table.rows if self._table is not None else ()
            self._table, self._done = replace(new, rows=rows + new.rows), len(lines)
        return (self._table,)
