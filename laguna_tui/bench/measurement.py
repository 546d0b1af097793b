"""What a benchmark gives to its report: samples, a table, its figures and notes."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from laguna_tui.base.progress import ProgressLine
from laguna_tui.bench.answer_runs import AnswerSample, BenchEngine
from laguna_tui.bench.workload import BenchOptions


def number(value: float | None, digits: int = 2) -> str:
    """Return a figure as text; a dash for None."""
    return "–" if value is None else f"{value:,.{digits}f}"


def percent(value: float | None) -> str:
    """Return a share as percent; a dash for None."""
    return "–" if value is None else f"{value:.0%}"


@dataclass(frozen=True, slots=True)
class BenchResult:
    """Result of a benchmark.

    Attributes:
        columns: Head of the table to print.
        cells: Its rows.
        rows: Its figures as JSON-able values.
        notes: Sentences below the table.
    """

    columns: Sequence[str]
    cells: Sequence[Sequence[str]] = ()
    rows: Sequence[Mapping[str, object]] = ()
    notes: Sequence[str] = ()


@dataclass(slots=True)
class Measurement(ABC):
    """A benchmark. `samples` grow while it measures, so that an interruption keeps what there is."""

    options: BenchOptions
    samples: list[AnswerSample] = field(default_factory=list)
    engine: BenchEngine = field(default_factory=BenchEngine)

    @abstractmethod
    def measure(self, progress: ProgressLine) -> None:
        """Run the benchmark; KeyboardInterrupt may interrupt it anywhere."""

    @abstractmethod
    def outcome(self) -> BenchResult:
        """Return the result so far; may be called at any time."""
