"""A training run's numbers as CSV, a row at a time, so that `curves.py` can draw a run that was cut short too."""

from __future__ import annotations

import csv
from pathlib import Path


class Log:
    """A file with one row of named numbers after the other; columns without a number stay empty."""

    def __init__(self, path: Path, columns: tuple[str, ...]) -> None:
        self.file = path.open("w", newline="", encoding="utf-8")
        self.rows = csv.DictWriter(self.file, columns)
        self.rows.writeheader()

    def add(self, **numbers: float) -> None:
        """Write a row, at once."""
        self.rows.writerow({name: f"{number:.6g}" for name, number in numbers.items()})
        self.file.flush()
