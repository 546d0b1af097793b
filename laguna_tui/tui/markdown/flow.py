"""The values between Markdown and the screen: runs of toned text, the flows of a block, and laid-out lines.

A tone is a list of words from the transcript's palette, separated by blanks; later words win. Nothing here knows a
colour or a width: a block becomes flows once, flows become lines once per width.
"""

from dataclasses import dataclass
from typing import NamedTuple


class Run(NamedTuple):
    """A piece of text in one tone."""

    text: str
    tone: str = "text"


Runs = tuple[Run, ...]


class Line(NamedTuple):
    """One row of the screen, without the gutter.

    `glue` is what stood in the source between this row and the one before: None for a real line break, else the
    blank (or nothing) at which a long line was broken, so that copying can join it again. The first `lead` cells
    are decoration that copying leaves out. `fill` is the tone that paints the row on to cell `reach`, if any.
    """

    runs: Runs
    glue: str | None = None
    lead: int = 0
    fill: str = ""
    reach: int = 0


BLANK = Line(())


@dataclass(frozen=True, slots=True)
class Indent:
    """What stands before a flow: `first` before its first row (a bullet), `rest` before the others."""

    first: Runs = ()
    rest: Runs = ()


@dataclass(frozen=True, slots=True)
class Prose:
    """Wrapped text. `gap`: a blank row comes before it."""

    runs: Runs
    indent: Indent = Indent()
    gap: bool = True


@dataclass(frozen=True, slots=True)
class Code:
    """Lines of code, highlighted, folded rather than wrapped."""

    lines: tuple[Runs, ...]
    language: str = ""
    indent: Indent = Indent()
    gap: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """A table; `align` holds "left", "right" or "center" for each column, and every row has as many cells."""

    head: tuple[Runs, ...]
    rows: tuple[tuple[Runs, ...], ...]
    align: tuple[str, ...]
    indent: Indent = Indent()
    gap: bool = True


@dataclass(frozen=True, slots=True)
class Rule:
    """A horizontal line."""

    indent: Indent = Indent()
    gap: bool = True


Flow = Prose | Code | Table | Rule
Flows = tuple[Flow, ...]


def plain(runs: Runs) -> str:
    """The text of the runs."""
    return "".join(run.text for run in runs)
