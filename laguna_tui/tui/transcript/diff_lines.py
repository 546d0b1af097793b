"""Which part of a changed line is another one: what two lines have in common at both ends is set back.

A diff as rows of a transcript: line numbers, signs, highlighted code on the ground of its sign.

Takes hunks as a proposal holds them, once they are safe to show.
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

# Where less of a line than one in so many characters stayed, all of it is another one.
_STAYED = 3


def partners(signs: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where a dropped line stands that an added one replaces, for blocks that have as many of both."""
    at = 0
    while at < len(signs):
        dropped = _run(signs, at, "-")
        added = _run(signs, dropped, "+")
        if dropped - at == added - dropped:
            yield from zip(range(at, dropped), range(dropped, added), strict=True)
        at = max(added, at + 1)


def _run(signs: Sequence[str], at: int, sign: str) -> int:
    """The end of the signs of a kind that begin here."""
    while at < len(signs) and signs[at] == sign:
        at += 1
    return at


def emphasised(one: TextRuns, other: TextRuns, tones: tuple[str, str]) -> tuple[TextRuns, TextRuns]:
    """Both lines, with these tones on the part that differs; unchanged where too little stayed the same."""
    before, after = plain(one), plain(other)
    start, end = _common(before, after)
    stayed = len(before[:start].strip()) + end
    if not stayed or stayed * _STAYED < max(len(before.strip()), len(after.strip())):
        return one, other
    return _toned(one, start, len(before) - end, tones[0]), _toned(other, start, len(after) - end, tones[1])


def _common(one: str, other: str) -> tuple[int, int]:
    """How many characters are the same at the start and at the end; a name is never cut in two."""
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


# Laying out more holds up the screen, and nobody reads it; what is left out is said.
MOST_LINES = 10_000
# Narrower than this, the cells of the line numbers are better used for the code.
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
    """One line: its sign, its number in the file it stands in (the one after, if in both), its text in tones."""

    sign: Sign
    number: int
    runs: TextRuns


@dataclass(frozen=True, slots=True)
class Diff:
    """What can be shown of a diff. `left_out` lines more are in it; `added` and `dropped` count all."""

    hunks: tuple[tuple[DiffLine, ...], ...]
    added: int
    dropped: int
    left_out: int

    def lay(self, width: int) -> list[TextLine]:
        """The rows at a width."""
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
    """The diff of a file, whose name says how to highlight it."""
    shown = list(_first(hunks, MOST_LINES))
    chars = sum(len(line.text) for hunk in shown for line in hunk.lines)
    language = PurePosixPath(path).suffix[1:] if chars <= MAX_HIGHLIGHT else ""
    signs = Counter(line.sign for hunk in hunks for line in hunk.lines)
    left_out = signs.total() - sum(len(hunk.lines) for hunk in shown)
    tinted = tuple(_highlighted(hunk, language) for hunk in shown)
    return Diff(tinted, signs[Sign.ADDED], signs[Sign.REMOVED], left_out)


def _first(hunks: Sequence[Hunk], room: int) -> Iterator[Hunk]:
    """The first of the hunks, in so many rows; one is for what stands between two of them."""
    for hunk in hunks:
        if room <= 1:
            return
        yield replace(hunk, lines=hunk.lines[: room - 1])
        room -= len(hunk.lines) + 1


def _highlighted(hunk: Hunk, language: str) -> tuple[DiffLine, ...]:
    """The hunk in tones: each side is read as the code it is, so that a string over many lines is one."""
    before = iter(_side(hunk, Sign.ADDED, language))
    after = iter(_side(hunk, Sign.REMOVED, language))
    out: list[DiffLine] = []
    for number, line in hunk.numbered():
        ground = _TONES[line.sign]
        dropped = next(before) if line.sign is not Sign.ADDED else ()
        runs = next(after) if line.sign is not Sign.REMOVED else dropped
        out.append(DiffLine(line.sign, number, tuple(TextRun(text, tone + ground) for text, tone in runs)))
    return _emphasised(out)


def _emphasised(lines: list[DiffLine]) -> tuple[DiffLine, ...]:
    """The lines with what is new in them set off from what stayed."""
    for at, other in partners([line.sign for line in lines]):
        pair = emphasised(lines[at].runs, lines[other].runs, ("dropped-part", "added-part"))
        lines[at], lines[other] = (replace(lines[n], runs=runs) for n, runs in zip((at, other), pair, strict=True))
    return tuple(lines)


def _side(hunk: Hunk, without: Sign, language: str) -> tuple[TextRuns, ...]:
    lines = [line.text for line in hunk.lines if line.sign is not without]
    return highlight("\n".join(lines), language)


def _rows(line: DiffLine, digits: int, reach: int) -> list[TextLine]:
    """One line, folded; only the first row has the number and the sign."""
    ground = f"code{_TONES[line.sign]}"
    rows: list[TextLine] = []
    lead = f"{line.number:>{digits}} " if digits else ""
    for index, runs in enumerate(fold(line.runs, max(MIN_WIDTH, reach - len(lead) - 2))):
        numbered = " " * len(lead) if index else lead
        sign = TextRun("  ", ground) if index else _SHOWN[line.sign]
        shown = (TextRun(numbered, f"{ground} code-label"), sign, *runs)
        rows.append(TextLine(shown, "" if index else None, len(lead) + (2 if index else 0), ground, reach))
    return rows
