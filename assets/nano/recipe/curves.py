"""Draw training logs: one line of an SVG for each column of each CSV file that `train.py` and `drafter_train.py` wrote.

    python curves.py OUT.svg LOG.csv [LOG.csv ...] --x tokens --y loss [--y ...] [--log]

Needs nothing but Python. Both axes begin at the smallest number and are linear, the upright one logarithmic with
`--log`; rows without the number are left out.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

WIDTH, HEIGHT = 760, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 50, 20, 70
COLOURS = ("#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#475569")
TICKS = 5
COLUMNS = 4  # of names below the picture, at least
Line = tuple[str, list[tuple[float, float]]]


def lines_of(path: Path, x: str, columns: Sequence[str]) -> Iterator[Line]:
    """The points of each column; SystemExit for a column that is not there."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for column in columns:
        if rows and not {x, column} <= rows[0].keys():
            raise SystemExit(f"{path}: no column {x!r} or {column!r}; there are {', '.join(rows[0])}")
        points = [(float(row[x]), float(row[column])) for row in rows if row[x] and row[column]]
        yield f"{path.stem} {column}", points


class Axes:
    """Where a number stands in the picture."""

    def __init__(self, points: Sequence[tuple[float, float]], *, log: bool = False) -> None:
        xs, ys = zip(*points, strict=True)
        self.log = log
        self.x, self.y = (min(xs), max(xs)), (self._height(min(ys)), self._height(max(ys)))

    def _height(self, y: float) -> float:
        return math.log(y) if self.log else y

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Pixels from the left and from the top."""
        across = (x - self.x[0]) / ((self.x[1] - self.x[0]) or 1)
        up = (self._height(y) - self.y[0]) / ((self.y[1] - self.y[0]) or 1)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    def ticks(self) -> Iterator[str]:
        """Numbers and thin lines along both axes."""
        for step in range(TICKS + 1):
            x, y = (low + (high - low) * step / TICKS for low, high in (self.x, self.y))
            y = math.exp(y) if self.log else y
            left, top = self.place(x, y)
            yield f'<path d="M{LEFT} {top:.1f}H{WIDTH - RIGHT}" stroke="#e5e7eb"/>'
            yield f'<text x="{LEFT - 8}" y="{top + 4:.1f}" text-anchor="end">{y:.3g}</text>'
            yield f'<text x="{left:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{x:,.0f}</text>'


def picture(lines: Sequence[Line], x: str, *, log: bool = False) -> str:
    """The SVG of some lines with at least one point together."""
    axes = Axes([point for _, points in lines for point in points], log=log)
    parts = list(axes.ticks())
    for index, (name, points) in enumerate(lines):
        colour = COLOURS[index % len(COLOURS)]
        path = " ".join(f"{left:.1f},{height:.1f}" for left, height in (axes.place(*point) for point in points))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        left = LEFT + index * (WIDTH - LEFT) / max(len(lines), COLUMNS)
        parts.append(f'<text x="{left:.0f}" y="{HEIGHT - 8}" fill="{colour}">{escape(name)}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 30}" text-anchor="middle">{escape(x)}</text>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif"'
    return "\n".join([f'{head} font-size="12">', '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>\n"])


def main() -> None:
    """Read the command line and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("logs", type=Path, nargs="+")
    parser.add_argument("--x", default="tokens")
    parser.add_argument("--y", action="append", help="a column; loss without any")
    parser.add_argument("--log", action="store_true", help="a logarithmic upright axis")
    options = parser.parse_args()
    lines = [line for log in options.logs for line in lines_of(log, options.x, options.y or ["loss"])]
    if not any(points for _, points in lines):
        raise SystemExit("the logs have no rows; train for longer")
    if options.log and min(y for _, points in lines for _, y in points) <= 0:
        raise SystemExit("there are numbers below or at zero, which have no logarithm; leave --log out")
    options.out.write_text(picture(lines, options.x, log=options.log), encoding="utf-8")


if __name__ == "__main__":
    main()
