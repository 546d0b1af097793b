"""Progress bars and small columns, as plain text."""

from collections.abc import Sequence

FULL, HALF, EMPTY = "━", "╸", "─"
NONE, COLUMNS = "·", "▁▂▃▄▅▆▇█"


def progress(fraction: float, width: int) -> str:
    """A bar of exactly `width` cells."""
    halves = round(max(0.0, min(1.0, fraction)) * width * 2)
    return (FULL * (halves // 2) + HALF * (halves % 2)).ljust(width, EMPTY)


def columns(values: Sequence[float], top: float) -> str:
    """A column for each value, one cell wide, full at `top`; a dot where there is nothing."""
    last = len(COLUMNS) - 1
    return "".join(COLUMNS[min(last, round(value / top * last))] if value > 0 else NONE for value in values)
