"""Numbers as people read them: counts, shares, rates, progress bars and small columns, as plain text."""

from collections.abc import Sequence

FULL, HALF, EMPTY = "━", "╸", "─"
NONE, COLUMNS = "·", "▁▂▃▄▅▆▇█"


def count(number: int) -> str:
    """1234 -> "1,234"."""
    return f"{number:,}"


def share(used: int, size: int) -> str:
    """How much of `size` is used, such as "15 %"."""
    return f"{round(100 * used / size)} %" if size else "–"


def rate(per_second: float) -> str:
    """A speed in tokens per second: one decimal below ten, where it matters."""
    return f"{per_second:.1f} tok/s" if per_second < 10 else f"{per_second:,.0f} tok/s"


def progress(fraction: float, width: int) -> str:
    """A bar of exactly `width` cells."""
    halves = round(max(0.0, min(1.0, fraction)) * width * 2)
    return (FULL * (halves // 2) + HALF * (halves % 2)).ljust(width, EMPTY)


def columns(values: Sequence[float], top: float) -> str:
    """A column for each value, one cell wide, full at `top`; a dot where there is nothing."""
    last = len(COLUMNS) - 1
    return "".join(COLUMNS[min(last, round(value / top * last))] if value > 0 else NONE for value in values)


def seconds(number: float) -> str:
    """A time to wait: 0.3 s, 4 s, 2 min. Nothing is said to take no time at all."""
    if number < 2:
        return f"{max(0.1, number):.1f} s"
    return f"{number:.0f} s" if number < 90 else f"{number / 60:.0f} min"
