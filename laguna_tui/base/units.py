"""Sizes, times, rates and counts for people to read."""

from collections.abc import Sequence

GIB = 1 << 30
_MINUTE = 60


def size(count: float) -> str:
    """Return the size of a file or a download, in decimal units: 20.3 GB."""
    if count < 1000:
        return f"{count:.0f} B"
    if count < 1_000_000:
        return f"{count / 1e3:.0f} kB"
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"


def memory(count: float, digits: int = 1) -> str:
    """Return an amount of memory: 23.6 GiB."""
    return f"{count / GIB:.{digits}f} GiB"


def duration(seconds: float) -> str:
    """Return a time, at least 0.1 s: 0.3 s, 45 s, 12 min, 2 h 5 min."""
    if seconds < 2:
        return f"{max(0.1, seconds):.1f} s"
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / _MINUTE), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def rate(per_second: float) -> str:
    """Return a speed in tokens per second: one decimal below ten, where it matters."""
    return f"{per_second:.1f} tok/s" if per_second < 10 else f"{per_second:,.0f} tok/s"


def share(part: int, whole: int) -> str:
    """Return a part of a whole: 15 %."""
    return f"{round(100 * part / whole)} %" if whole else "–"


def count(number: int) -> str:
    """1234 -> "1,234"."""
    return f"{number:,}"


def plural(number: int, one: str, many: str = "") -> str:
    """Return a noun for a number: "line" for 1, else "lines", or `many` if that is not `one` with an s."""
    return one if number == 1 else many or f"{one}s"


def some_of(names: Sequence[str], most: int) -> str:
    """Return the first names and how many more there are: "a, b and 3 more"."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def clipped(text: str, most: int) -> str:
    """Return the beginning of a text, with an ellipsis if it has more than `most` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def either(names: Sequence[str], most: int) -> str:
    """Return the first names as alternatives, and how many more there are: "a", "a or b", "a, b or 3 more"."""
    shown = [*names[:most], *([f"{len(names) - most:,} more"] if len(names) > most else [])]
    return f"{', '.join(shown[:-1])} or {shown[-1]}" if len(shown) > 1 else "".join(shown)
