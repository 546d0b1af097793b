"""What every measurement shares: the protocol between measuring and reporting, variants in turns, Markdown tables."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from laguna_tui.base.progress import ProgressLine
from laguna_tui.bench.runner import BenchEngine, Sample, Variant
from laguna_tui.bench.workload import BenchOptions


@dataclass(slots=True)
class MarkdownTable:
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


@dataclass(frozen=True, slots=True)
class BenchResult:
    """What to report. rows: the table's figures as JSON-able values. notes: sentences below the table."""

    table: MarkdownTable
    rows: Sequence[Mapping[str, object]]
    notes: Sequence[str] = field(default=())


class Measurement(Protocol):
    """One thing to measure. `outcome` can be asked for at any time, and says what is known so far."""

    samples: list[Sample]
    opened: BenchEngine

    def measure(self, progress: ProgressLine) -> None:
        """Measure; may be interrupted anywhere by KeyboardInterrupt."""
        ...

    def outcome(self) -> BenchResult:
        """What was found."""
        ...


@dataclass(slots=True)
class VariantMeasurement(ABC):
    """`samples` grow while it measures, so that an early end leaves what there is."""

    options: BenchOptions
    samples: list[Sample] = field(default_factory=list)
    opened: BenchEngine = field(default_factory=BenchEngine)

    @abstractmethod
    def ways(self) -> list[Variant]:
        """In which ways every prompt is answered."""

    def measure(self, progress: ProgressLine) -> None:
        """Answer everything in every way."""
        with self.opened.stage(self.options, progress) as stage:
            stage.run(self.ways(), self.samples)
