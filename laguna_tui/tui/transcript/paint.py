"""A laid-out line to a strip: the gutter in front, tones made colours, the rest of the row filled."""

from collections.abc import Callable

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from laguna_tui.tui.markdown.flow import Line, Run
from laguna_tui.tui.markdown.wrap import cells

#: Cells left of every row: the cursor's bar, and the piece's mark.
GUTTER = 3
#: Cells kept free right of every row.
MARGIN = 1
CURSOR = "▌"
NO_MARK = Run("")

Palette = Callable[[str], Style]


def paint(line: Line, mark: Run, width: int, palette: Palette, *, focused: bool = False) -> Strip:
    """The row as a strip of exactly `width` cells: bar, `mark` (two cells, or none), text."""
    base = palette("text")
    bar = Segment(CURSOR, palette("cursor")) if focused else Segment(" ", base)
    gutter = mark.text or " " * (GUTTER - 1)
    segments = [bar, Segment(gutter, palette(mark.tone))]
    segments.extend(Segment(run.text, palette(run.tone)) for run in line.runs)
    if line.fill:
        rest = line.reach - sum(cells(run.text) for run in line.runs)
        segments.append(Segment(" " * max(0, rest), palette(line.fill)))
    strip = Strip(segments)
    return strip.crop_extend(0, width - MARGIN, base).extend_cell_length(width, base)
