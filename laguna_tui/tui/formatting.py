"""Styled text, progress bars, sparklines, and rows of segments that fit a width."""

from collections.abc import Sequence

from laguna_tui.tui.text_lines import cells, crop

FULL, HALF, EMPTY = "━", "╸", "─"
NONE, COLUMNS = "·", "▁▂▃▄▅▆▇█"


def progress_bar(fraction: float, width: int) -> str:
    """A bar of exactly `width` cells."""
    halves = round(max(0.0, min(1.0, fraction)) * width * 2)
    return (FULL * (halves // 2) + HALF * (halves % 2)).ljust(width, EMPTY)


def sparkline(values: Sequence[float], top: float) -> str:
    """One cell per value: a column that is full at `top`, or a dot for zero."""
    last = len(COLUMNS) - 1
    return "".join(COLUMNS[min(last, round(value / top * last))] if value > 0 else NONE for value in values)


StyledText = tuple[str, str]
"""Text and its Textual style."""

MUTED, BUSY, GOOD, BAD = "$foreground 70%", "$primary", "$success", "$error"
GAP: StyledText = ("  ", MUTED)


def fitted(segments: Sequence[list[StyledText]], width: int) -> list[StyledText]:
    """The first segments that fit, with gaps between them; the first is cropped if it alone is too wide."""
    row: list[StyledText] = []
    used = 0
    for segment in segments:
        more = width_of(segment) + (cells(GAP[0]) if row else 0)
        if used + more > width:
            break
        row += [*([GAP] if row else []), *segment]
        used += more
    if not row and segments:
        *before, (text, style) = segments[0]
        return [*before, (crop(text, width - width_of(before)), style)]
    return row


def width_of(segment: Sequence[StyledText]) -> int:
    """Cells of a segment."""
    return sum(cells(text) for text, _ in segment)
