"""Markdown tables that are also readable as they are."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Table:
    """Columns of text; the first is set to the left, the others to the right."""

    columns: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)

    def lines(self) -> list[str]:
        """The table, its cells padded to equal width."""
        cells = [[_safe(cell) for cell in row] for row in (self.columns, *self.rows)]
        widths = [max(3, *(len(row[column]) for row in cells)) for column in range(len(self.columns))]
        rule = [":" + "-" * (widths[0] - 1), *("-" * (width - 1) + ":" for width in widths[1:])]
        head, *body = [_padded(row, widths) for row in cells]
        return [_line(head), _line(rule), *map(_line, body)]


def number(value: float | None, digits: int = 2) -> str:
    """A figure; a dash for none."""
    return "–" if value is None else f"{value:,.{digits}f}"


def percent(value: float | None) -> str:
    """A share; a dash for none."""
    return "–" if value is None else f"{value:.0%}"


def _padded(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    first, *others = row
    return [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _safe(cell: str) -> str:
    return cell.replace("|", "\\|").replace("\n", " ")
