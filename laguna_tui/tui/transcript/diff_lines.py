"""Diffs as rows of a transcript: line numbers, signs, highlighted code, and the changed part of each line emphasised.

Takes the sanitised hunks of an edit proposal.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from laguna_tui.base.hunks import Hunk, Sign
from laguna_tui.base.units import count
from laguna_tui.tui.markdown.highlight import MAX_HIGHLIGHT, highlight
from laguna_tui.tui.markdown.layout import code_reach
from laguna_tui.tui.text_lines import MIN_WIDTH, TextLine, TextRun, TextRuns, cut, fold, plain

# Emphasise the changed part only if at least one character in this many is unchanged.
_UNCHANGED_ONE_IN = 3


def replaced_lines(signs: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Indices of each removed line and the added line that replaces it, in blocks with equally many of both."""
    at = 0
    while at < len(signs):
        dropped = _run(signs, at, "-")
        added = _run(signs, dropped, "+")
        if dropped - at == added - dropped:
            yield from zip(range(at, dropped), range(dropped, added), strict=True)
        at = max(added, at + 1)


def _run(signs: Sequence[str], at: int, sign: str) -> int:
    """The end of the run of `sign` that starts at `at`."""
    while at < len(signs) and signs[at] == sign:
        at += 1
    return at


def emphasised(one: TextRuns, other: TextRuns, tones: tuple[str, str]) -> tuple[TextRuns, TextRuns]:
    """Both lines with `tones` added to the part that differs; unchanged if too little is common to both."""
    before, after = plain(one), plain(other)
    start, end = _common(before, after)
    common = len(before[:start].strip()) + end
    if not common or common * _UNCHANGED_ONE_IN < max(len(before.strip()), len(after.strip())):
        return one, other
    return _toned(one, start, len(before) - end, tones[0]), _toned(other, start, len(after) - end, tones[1])


def _common(one: str, other: str) -> tuple[int, int]:
    """Lengths of the common prefix and suffix; a name is never cut in two."""
    shorter = min(len(one), len(other))
    start = next((at for at in range(shorter) if one[at] != other[at]), shorter)
    most, end = shorter - start, 0
    while end < most and one[-1 - end] == other[-1 - end]:
        end += 1
    if any(_is_word(text[start : start + 1]) for text in (one, other)):
        while start and _is_word(one[start - 1]):
            start -= 1
    if any(_is_word(text[: len(text) - end][-1:]) for text in (one, other)):
        while end and _is_word(one[len(one) - end]):
            end -= 1
    return start, end


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _toned(runs: TextRuns, start: int, end: int, tone: str) -> TextRuns:
    before, inside, after = cut(runs, [(0, start), (start, end), (end, len(plain(runs)))])
    marked = (TextRun(text, f"{old} {tone}") for text, old in inside)
    return tuple(run for run in (*before, *marked, *after) if run.text)


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


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a diff.

    Attributes:
        sign: kept, removed or added.
        number: its line number; for kept lines, the one after the change.
        runs: its text.
    """

    sign: Sign
    number: int
    runs: TextRuns


@dataclass(frozen=True, slots=True)
class Diff:
    """A highlighted diff.

    Attributes:
        hunks: the lines that are shown.
        added: number of added lines, shown or not.
        dropped: number of removed lines, shown or not.
        left_out: number of lines that are not shown.
    """

    hunks: tuple[tuple[DiffLine, ...], ...]
    added: int
    dropped: int
    left_out: int

    def lay(self, width: int) -> list[TextLine]:
        """The rows for a width."""
        digits = max((len(str(line.number)) for hunk in self.hunks for line in hunk), default=0)
        digits = digits if width >= NUMBERS_FROM else 0
        reach = code_reach(tuple(line.runs for hunk in self.hunks for line in hunk), width - digits - 1) + digits + 1
        rows: list[TextLine] = []
        for hunk in self.hunks:
            rows.extend([_BETWEEN] if rows else [])
            rows.extend(row for line in hunk for row in _rows(line, digits, reach))
        more = f"… {count(self.left_out)} more lines are not shown"
        return [*rows, TextLine((TextRun(more, "warning"),))] if self.left_out else rows


def tinted_diff(hunks: Sequence[Hunk], path: str) -> Diff:
    """The diff of a file, highlighted by the language of its suffix."""
    shown = list(_first(hunks, MAX_LINES))
    chars = sum(len(line.text) for hunk in shown for line in hunk.lines)
    language = PurePosixPath(path).suffix[1:] if chars <= MAX_HIGHLIGHT else ""
    signs = Counter(line.sign for hunk in hunks for line in hunk.lines)
    left_out = signs.total() - sum(len(hunk.lines) for hunk in shown)
    tinted = tuple(_highlighted(hunk, language) for hunk in shown)
    return Diff(tinted, signs[Sign.ADDED], signs[Sign.REMOVED], left_out)


def _first(hunks: Sequence[Hunk], room: int) -> Iterator[Hunk]:
    """The hunks that fit into `room` rows, one of them for each gap between hunks."""
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
    for number, line in hunk.numbered():
        sign_tone = _TONES[line.sign]
        dropped = next(before) if line.sign is not Sign.ADDED else ()
        runs = next(after) if line.sign is not Sign.REMOVED else dropped
        out.append(DiffLine(line.sign, number, tuple(TextRun(text, tone + sign_tone) for text, tone in runs)))
    return _emphasised(out)


def _emphasised(lines: list[DiffLine]) -> tuple[DiffLine, ...]:
    """Emphasise the changed part of each replaced line."""
    for at, other in replaced_lines([line.sign for line in lines]):
        pair = emphasised(lines[at].runs, lines[other].runs, ("dropped-part", "added-part"))
        lines[at], lines[other] = (replace(lines[n], runs=runs) for n, runs in zip((at, other), pair, strict=True))
    return tuple(lines)


def _side(hunk: Hunk, without: Sign, language: str) -> tuple[TextRuns, ...]:
    lines = [line.text for line in hunk.lines if line.sign is not without]
    return highlight("\n".join(lines), language)


def _rows(line: DiffLine, digits: int, reach: int) -> list[TextLine]:
    """The rows of a line; only the first has the number and the sign."""
    tone = f"code{_TONES[line.sign]}"
    rows: list[TextLine] = []
    lead = f"{line.number:>{digits}} " if digits else ""
    for index, runs in enumerate(fold(line.runs, max(MIN_WIDTH, reach - len(lead) - 2))):
        numbered = " " * len(lead) if index else lead
        sign = TextRun("  ", tone) if index else _SHOWN[line.sign]
        shown = (TextRun(numbered, f"{tone} code-label"), sign, *runs)
        rows.append(TextLine(shown, "" if index else None, len(lead) + (2 if index else 0), tone, reach))
    return rows
