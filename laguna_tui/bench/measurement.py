"""What a benchmark gives to its report: samples, rows and notes, and a Markdown table of them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from laguna_tui.base.progress import ProgressLine
from laguna_tui.bench.answer_runs import AnswerSample, BenchEngine
from laguna_tui.bench.workload import BenchOptions


@dataclass(slots=True)
class MarkdownTable:
    """A table of text; the first column is left-aligned, the others right-aligned."""

    columns: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)

    def lines(self) -> list[str]:
        """Return the table's lines, its cells padded to equal width."""
        cells = [[_safe(cell) for cell in row] for row in (self.columns, *self.rows)]
        widths = [max(3, *(len(row[column]) for row in cells)) for column in range(len(self.columns))]
        rule = [":" + "-" * (widths[0] - 1), *("-" * (width - 1) + ":" for width in widths[1:])]
        head, *body = [_padded(row, widths) for row in cells]
        return [_line(head), _line(rule), *map(_line, body)]


def number(value: float | None, digits: int = 2) -> str:
    """Return a figure as text; a dash for None."""
    return "–" if value is None else f"{value:,.{digits}f}"


def percent(value: float | None) -> str:
    """Return a share as percent; a dash for None."""
    return "–" if value is None else f"{value:.0%}"


def _padded(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    first, *others = row
    return [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _safe(cell: str) -> str:
    return cell.replace("|", "\\|").replace("\n", " ")


@dataclass(frozen=True, slots=True)
class BenchResult:
    """Result of a benchmark.

    Attributes:
        table: The table to print.
        rows: Its figures as JSON-able values.
        notes: Sentences below the table.
    """

    table: MarkdownTable
    rows: Sequence[Mapping[str, object]]
    notes: Sequence[str] = field(default=())


@dataclass(slots=True)
class Measurement(ABC):
    """A benchmark. `samples` grow while it measures, so that an interruption keeps what there is."""

    options: BenchOptions
    samples: list[AnswerSample] = field(default_factory=list)
    engine: BenchEngine = field(default_factory=BenchEngine)

    @abstractmethod
    def measure(self, progress: ProgressLine) -> None:
        """Measure; KeyboardInterrupt may interrupt it anywhere."""

    @abstractmethod
    def outcome(self) -> BenchResult:
        """Return the result so far; may be called at any time."""
