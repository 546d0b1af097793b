"""A unified diff as rows of a transcript: line numbers, signs, highlighted code on the ground of its sign.

Takes lines as a proposal holds them (`@@`, a blank, `-` or `+` first), once they are safe to show.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from laguna_tui.base.units import count
from laguna_tui.tui.edits.emphasis import emphasised, partners
from laguna_tui.tui.markdown.code import MAX_HIGHLIGHT, highlight
from laguna_tui.tui.markdown.flow import Line, Run, Runs
from laguna_tui.tui.markdown.layout import code_reach
from laguna_tui.tui.markdown.wrap import MIN_WIDTH, fold

# Laying out more holds up the screen, and nobody reads it; what is left out is said.
MOST_LINES = 10_000
# Narrower than this, the cells of the line numbers are better used for the code.
NUMBERS_FROM = 60
_KEPT, _DROPPED, _ADDED = " ", "-", "+"
_TONES = {_KEPT: "", _DROPPED: " dropped", _ADDED: " added"}
_SHOWN = {
    _KEPT: Run("  ", "code"),
    _DROPPED: Run("− ", "code dropped code-deleted strong"),
    _ADDED: Run("+ ", "code added code-inserted strong"),
}
_BETWEEN = Line((Run("⋯", "muted"),), lead=1)
_HEAD = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line: its sign, its number in the file it stands in (the one after, if in both), its text in tones."""

    sign: str
    number: int
    runs: Runs


Hunks = tuple[tuple[DiffLine, ...], ...]


@dataclass(frozen=True, slots=True)
class Diff:
    """What can be shown of a diff. `left_out` lines more are in it; `added` and `dropped` count all."""

    hunks: Hunks
    added: int
    dropped: int
    left_out: int

    def lay(self, width: int) -> list[Line]:
        """The rows at a width."""
        digits = max((len(str(line.number)) for hunk in self.hunks for line in hunk), default=0)
        digits = digits if width >= NUMBERS_FROM else 0
        reach = code_reach(tuple(line.runs for hunk in self.hunks for line in hunk), width - digits - 1) + digits + 1
        rows: list[Line] = []
        for hunk in self.hunks:
            rows.extend([_BETWEEN] if rows else [])
            rows.extend(row for line in hunk for row in _rows(line, digits, reach))
        more = f"… {count(self.left_out)} more lines are not shown"
        return [*rows, Line((Run(more, "warning"),))] if self.left_out else rows


def read_diff(lines: Sequence[str], path: str) -> Diff:
    """The diff of a file, whose name says how to highlight it."""
    shown = lines[:MOST_LINES]
    language = PurePosixPath(path).suffix[1:] if sum(map(len, shown)) <= MAX_HIGHLIGHT else ""
    hunks = tuple(_highlighted(hunk, language) for hunk in _hunks(shown))
    signs = [line[:1] for line in lines]
    return Diff(hunks, signs.count(_ADDED), signs.count(_DROPPED), len(lines) - len(shown))


def _hunks(lines: Iterable[str]) -> list[list[DiffLine]]:
    """The lines with their numbers; not in tones yet."""
    hunks: list[list[DiffLine]] = []
    before = after = 1
    for line in lines:
        sign, text = line[:1], line[1:]
        if sign not in _TONES:
            head = _HEAD.match(line)
            before, after = map(int, head.groups()) if head else (before, after)
            hunks.append([])
            continue
        hunks = hunks or [[]]
        number = before if sign == _DROPPED else after
        hunks[-1].append(DiffLine(sign, number, (Run(text),)))
        before, after = before + (sign != _ADDED), after + (sign != _DROPPED)
    return hunks


def _highlighted(hunk: Sequence[DiffLine], language: str) -> tuple[DiffLine, ...]:
    """The hunk in tones: each side is read as the code it is, so that a string over many lines is one."""
    before = iter(_side(hunk, _ADDED, language))
    after = iter(_side(hunk, _DROPPED, language))
    out: list[DiffLine] = []
    for line in hunk:
        ground = _TONES[line.sign]
        dropped = next(before) if line.sign != _ADDED else ()
        runs = next(after) if line.sign != _DROPPED else dropped
        out.append(DiffLine(line.sign, line.number, tuple(Run(text, tone + ground) for text, tone in runs)))
    return _emphasised(out)


def _emphasised(lines: list[DiffLine]) -> tuple[DiffLine, ...]:
    """The lines with what is new in them set off from what stayed."""
    for at, other in partners([line.sign for line in lines]):
        pair = emphasised(lines[at].runs, lines[other].runs, ("dropped-part", "added-part"))
        lines[at], lines[other] = (replace(lines[n], runs=runs) for n, runs in zip((at, other), pair, strict=True))
    return tuple(lines)


def _side(hunk: Sequence[DiffLine], without: str, language: str) -> tuple[Runs, ...]:
    lines = [line.runs[0].text for line in hunk if line.sign != without]
    return highlight("\n".join(lines), language)


def _rows(line: DiffLine, digits: int, reach: int) -> list[Line]:
    """One line, folded; only the first row has the number and the sign."""
    ground = f"code{_TONES[line.sign]}"
    rows: list[Line] = []
    lead = f"{line.number:>{digits}} " if digits else ""
    for index, runs in enumerate(fold(line.runs, max(MIN_WIDTH, reach - len(lead) - 2))):
        numbered = " " * len(lead) if index else lead
        sign = Run("  ", ground) if index else _SHOWN[line.sign]
        shown = (Run(numbered, f"{ground} code-label"), sign, *runs)
        rows.append(Line(shown, "" if index else None, len(lead) + (2 if index else 0), ground, reach))
    return rows
