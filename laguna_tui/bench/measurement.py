"""The seam between what is measured and how it is reported."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from laguna_tui.base.progress import ProgressLine
from laguna_tui.bench.runs import Opened, Sample
from laguna_tui.bench.table import Table


@dataclass(frozen=True, slots=True)
class Outcome:
    """What to report. rows: the table's figures as JSON-able values. notes: sentences below the table."""

    table: Table
    rows: Sequence[Mapping[str, object]]
    notes: Sequence[str] = field(default=())


class Measurement(Protocol):
    """One thing to measure. `outcome` can be asked for at any time, and says what is known so far."""

    samples: list[Sample]
    opened: Opened

    def measure(self, progress: ProgressLine) -> None:
        """Measure; may be interrupted anywhere by KeyboardInterrupt."""
        ...

    def outcome(self) -> Outcome:
        """What was found."""
        ...
