"""The open block of a stream as lines, cheap enough to redraw at every tick.

A fence and a table grow by whole lines, each converted once; any other block is short (lists are cut into items) and is
converted again at each redraw, within a small share of the time.
"""

import time
from collections.abc import Callable
from dataclasses import replace

from laguna_tui.tui.markdown.attributed_text import AttributedText, Tinter, TintSwitch, tinted
from laguna_tui.tui.markdown.flow import Flows, TableFlow
from laguna_tui.tui.markdown.highlight import highlight, language_of
from laguna_tui.tui.markdown.layout import MAX_PROSE, language_row, lay_code, lay_out
from laguna_tui.tui.markdown.markdown_parser import to_flows
from laguna_tui.tui.markdown.splitter import BlockType, Splitter
from laguna_tui.tui.text_lines import TextLine, TextRun, TextRuns

# Converting may take a fifth of the time: a long open table is redrawn less often instead of stalling.
IDLE_PER_WORK = 4.0
# Lines of a table's head: the header and the delimiter row.
TABLE_HEAD = 2


class OpenBlock:
    """Renders the open block of a splitter; `attributed` is its source with the drafter of each part."""

    def __init__(
        self,
        splitter: Splitter,
        attributed: AttributedText,
        tint: TintSwitch,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._splitter = splitter
        self._attributed = attributed
        self._tint = tint
        self._clock = clock
        self._next_redraw = 0.0
        self._flows: Flows = ()
        self._rows: list[TextLine] = []
        self._style = (0, False)
        self._fence = self._new_fence()
        self._table = _OpenTable()

    def lines(self, width: int) -> list[TextLine]:
        """Return the rows of the open block, current or a moment old."""
        style = (width, self._tint.on)
        if self._splitter.kind is BlockType.FENCE:
            self._fence = self._fence if style == self._style else self._new_fence()
            self._style = style
            return self._fence.lines(self._splitter, width)
        now = self._clock()
        if now >= self._next_redraw:
            self._flows = self._table.flows(self._splitter.lines) or to_flows(self._splitter.tail)
            self._rows, self._style = self._lay(width), style
            ended = self._clock()
            self._next_redraw = ended + IDLE_PER_WORK * (ended - now)
        elif style != self._style:
            self._rows, self._style = self._lay(width), style
        return self._rows

    def restart(self) -> None:
        """Drop the cached rows: a block closed, and another may be open."""
        self._flows, self._rows, self._next_redraw = (), [], 0.0
        self._fence, self._table = self._new_fence(), _OpenTable()

    def _lay(self, width: int) -> list[TextLine]:
        return lay_out(tinted(self._flows, self._attributed) if self._tint.on else self._flows, width)

    def _new_fence(self) -> "_OpenFence":
        return _OpenFence(self._attributed if self._tint.on else None)


class _OpenFence:
    """The rows of an open fence: complete lines are laid out once, the last line every time."""

    def __init__(self, attributed: AttributedText | None) -> None:
        """With `attributed`, the code is tinted."""
        self._attributed = attributed
        self._tinter = Tinter(attributed) if attributed is not None else None
        self._rows: list[TextLine] = []
        self._done = 0  # number of the splitter's lines in `_rows`

    def lines(self, splitter: Splitter, width: int) -> list[TextLine]:
        language = language_of(splitter.lines[0].lstrip(" `~"))
        reach = min(width, MAX_PROSE)
        if not self._done:
            self._begin(language, reach)
        for line in splitter.lines[self._done :]:
            code = highlight(line, language)
            self._rows.extend(lay_code(tuple(map(self._tinter.runs, code)) if self._tinter else code, width, reach))
        self._done = len(splitter.lines)
        # A partial line that may become the closing fence is not shown as code.
        if not splitter.partial.strip(" `~"):
            return self._rows
        return self._rows + lay_code((self._last(splitter.partial),), width, reach)

    def _begin(self, language: str, reach: int) -> None:
        self._rows, self._done = language_row(language, reach), 1
        if self._tinter is not None:
            self._tinter.past_fence()

    def _last(self, partial: str) -> TextRuns:
        runs: TextRuns = (TextRun(partial, "code"),)
        if self._attributed is None or self._tinter is None:
            return runs
        return Tinter(self._attributed, self._tinter.at).runs(runs)


class _OpenTable:
    """The rows of an open table; a row shows when it is complete, so that columns do not jump."""

    def __init__(self) -> None:
        self._table: TableFlow | None = None
        self._done = TABLE_HEAD

    def flows(self, lines: list[str]) -> Flows:
        """Return the table so far, or nothing if the lines are not a single table."""
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
