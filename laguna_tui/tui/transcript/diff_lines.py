"""Diffs as rows of a transcript: line numbers, signs, highlighted code, and the changed part of each line emphasised.

Takes the sanitised hunks of an edit proposal. On wide screens the lines before and after stand side by side.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import PurePosixPath

from laguna_tui.base.text_diff import Hunk, Sign, changed_part, replaced_lines
from laguna_tui.base.units import count
from laguna_tui.tui.markdown.highlight import MAX_HIGHLIGHT, highlight
from laguna_tui.tui.markdown.layout import MAX_PROSE, code_reach
from laguna_tui.tui.text_lines import MIN_WIDTH, TextLine, TextRun, TextRuns, cut, fold, plain, width_of_runs

# Emphasise the changed part only if at least one character in this many is unchanged.
_UNCHANGED_ONE_IN = 3
# Laying out more holds up the screen. The number of lines left out is shown.
MAX_LINES = 10_000
# Line numbers are shown from this width on; below it the code needs their cells.
NUMBERS_FROM = 60
_TONES = {Sign.KEPT: "", Sign.REMOVED: " dropped", Sign.ADDED: " added"}
_SHOWN = {
    Sign.KEPT: TextRun("  ", "code"),
    Sign.REMOVED: TextRun("− ", "code dropped code-deleted strong"),
    Sign.ADDED: TextRun("+ ", "code added code-inserted strong"),
}
_BETWEEN = TextLine((TextRun("⋯", "muted"),), lead=1)
_DIVIDER = TextRun("│", "rule")


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a diff.

    Attributes:
        sign: kept, removed or added.
        number: its line number; for kept lines, the one after the change.
        old_number: of kept lines, the one before the change.
        new_number: of removed lines, that of the next line after the change.
        runs: its text.
    """

    sign: Sign
    number: int
    old_number: int
    new_number: int
    runs: TextRuns


@dataclass(frozen=True, slots=True)
class Diff:
    """A highlighted diff.

    Attributes:
        hunks: the lines that are shown.
        left_out: number of lines that are not shown.
    """

    hunks: tuple[tuple[DiffLine, ...], ...]
    left_out: int

    @property
    def first_line(self) -> int:
        """The first changed line; 0 if there is none."""
        changed = (line.new_number for hunk in self.hunks for line in hunk if line.sign is not Sign.KEPT)
        return next(changed, 0)

    def lay(self, width: int, *, side_by_side: bool = False, heads: Sequence[TextLine] = ()) -> list[TextLine]:
        """Return the rows for a width.

        Args:
            width: cells of a row.
            side_by_side: show the lines before and after side by side, unless the diff has only one of both.
            heads: a row above each hunk; mostly none.
        """
        lines = [line for hunk in self.hunks for line in hunk]
        digits = max((len(str(max(line.number, line.old_number))) for line in lines), default=0)
        digits = digits if width >= NUMBERS_FROM else 0
        if side_by_side and {Sign.REMOVED, Sign.ADDED} <= {line.sign for line in lines}:
            longest = max(width_of_runs(line.runs) for line in lines) + digits + 3
            half = min((width - 1) // 2, max(MAX_PROSE // 2, longest))
            laid = [list(_side_by_side(hunk, digits, half)) for hunk in self.hunks]
        else:
            reach = code_reach(tuple(line.runs for line in lines), width - digits - 1) + digits + 1
            laid = [[row for line in hunk for row in _rows(line, digits, reach)] for hunk in self.hunks]
        rows: list[TextLine] = []
        for number, hunk in enumerate(laid):
            rows += [heads[number]] if number < len(heads) else [_BETWEEN] if rows else []
            rows += hunk
        more = f"… {count(self.left_out)} more lines are not shown"
        return [*rows, TextLine((TextRun(more, "warning"),))] if self.left_out else rows


def tinted_diff(hunks: Sequence[Hunk], path: str) -> Diff:
    """Return the diff of a file, highlighted by the language of its suffix."""
    shown = list(_first(hunks, MAX_LINES))
    chars = sum(len(line.text) for hunk in shown for line in hunk.lines)
    language = PurePosixPath(path).suffix[1:] if chars <= MAX_HIGHLIGHT else ""
    left_out = sum(len(hunk.lines) for hunk in hunks) - sum(len(hunk.lines) for hunk in shown)
    tinted = tuple(_highlighted(hunk, language) for hunk in shown)
    return Diff(tinted, left_out)


def _first(hunks: Sequence[Hunk], room: int) -> Iterator[Hunk]:
    """Return the hunks that fit into `room` rows, one of them for each gap between hunks."""
    for hunk in hunks:
        if room <= 1:
            return
        yield replace(hunk, lines=hunk.lines[: room - 1])
        room -= len(hunk.lines) + 1


def _highlighted(hunk: Hunk, language: str) -> tuple[DiffLine, ...]:
    """Highlight a hunk. Each side is lexed as a whole, so that multi-line strings are recognised."""
    before = iter(_side(hunk, Sign.ADDED, language))
    after = iter(_side(hunk, Sign.REMOVED, language))
    out: list[DiffLine] = []
    old_number, new_number = hunk.before, hunk.after
    for number, line in hunk.numbered():
        sign_tone = _TONES[line.sign]
        dropped = next(before) if line.sign is not Sign.ADDED else ()
        runs = next(after) if line.sign is not Sign.REMOVED else dropped
        shown = tuple(TextRun(text, tone + sign_tone) for text, tone in runs)
        out.append(DiffLine(line.sign, number, old_number, new_number, shown))
        old_number += line.sign is not Sign.ADDED
        new_number += line.sign is not Sign.REMOVED
    return _emphasised(out)


def _emphasised(lines: list[DiffLine]) -> tuple[DiffLine, ...]:
    """Emphasise the changed part of each replaced line, unless too little is common to both."""
    for pair in replaced_lines([line.sign for line in lines]):
        texts = [plain(lines[at].runs) for at in pair]
        parts = changed_part(*texts)
        common = len(texts[0][: parts[0].start].strip()) + len(texts[0]) - parts[0].stop
        if common and common * _UNCHANGED_ONE_IN >= max(len(text.strip()) for text in texts):
            for at, part, tone in zip(pair, parts, ("dropped-part", "added-part"), strict=True):
                lines[at] = replace(lines[at], runs=_toned(lines[at].runs, part, tone))
    return tuple(lines)


def _toned(runs: TextRuns, part: slice, tone: str) -> TextRuns:
    before, inside, after = cut(runs, [(0, part.start), (part.start, part.stop), (part.stop, len(plain(runs)))])
    marked = (TextRun(text, f"{old} {tone}") for text, old in inside)
    return tuple(run for run in (*before, *marked, *after) if run.text)


def _side(hunk: Hunk, without: Sign, language: str) -> tuple[TextRuns, ...]:
    lines = [line.text for line in hunk.lines if line.sign is not without]
    return highlight("\n".join(lines), language)


def _rows(line: DiffLine, digits: int, reach: int) -> list[TextLine]:
    """Return the rows of a line; only the first has the number and the sign."""
    tone = f"code{_TONES[line.sign]}"
    rows: list[TextLine] = []
    lead = f"{line.number:>{digits}} " if digits else ""
    for index, runs in enumerate(fold(line.runs, max(MIN_WIDTH, reach - len(lead) - 2))):
        numbered = " " * len(lead) if index else lead
        sign = TextRun("  ", tone) if index else _SHOWN[line.sign]
        shown = (TextRun(numbered, f"{tone} code-label"), sign, *runs)
        rows.append(TextLine(shown, "" if index else None, len(lead) + len(sign.text), tone, reach, line.new_number))
    return rows


def _side_by_side(hunk: Sequence[DiffLine], digits: int, half: int) -> Iterator[TextLine]:
    """Yield the rows of a hunk in two columns of `half` cells."""
    for before, after in _pairs(hunk):
        left = _rows(replace(before, number=before.old_number), digits, half) if before is not None else []
        right = _rows(after, digits, half) if after is not None else []
        for one, other in zip_longest(left, right):
            yield _beside(one, other, left[0].fill if left else "text", half, is_alone=after is None)


def _pairs(hunk: Sequence[DiffLine]) -> Iterator[tuple[DiffLine | None, DiffLine | None]]:
    """Yield the lines that stand side by side; None where one side has no line."""
    removed: list[DiffLine] = []
    added: list[DiffLine] = []
    for line in hunk:
        if line.sign is Sign.KEPT:
            yield from zip_longest(removed, added)
            removed, added = [], []
            yield line, line
        else:
            (removed if line.sign is Sign.REMOVED else added).append(line)
    yield from zip_longest(removed, added)


def _beside(left: TextLine | None, right: TextLine | None, fill: str, half: int, *, is_alone: bool) -> TextLine:
    """Return two rows as one. Of a removed line that nothing replaces there is the left one alone."""
    if left is not None and right is None:
        return left if is_alone else left._replace(glue="", lead=half + 1 + left.lead, left=half)
    assert right is not None, "a pair has at least one line"
    runs = left.runs if left is not None else ()
    runs = (*runs, TextRun(" " * (half - width_of_runs(runs)), fill), _DIVIDER)
    before = len(plain(runs))
    lead, reach = before + right.lead, 2 * half + 1
    return right._replace(runs=(*runs, *right.runs), lead=lead, reach=reach, left=before - 1)
