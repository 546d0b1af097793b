"""The diff of two texts: which lines and which parts of a line differ, as hunks and in the unified format.

Format: https://www.gnu.org/software/diffutils/manual/html_node/Detailed-Unified.html, without the two lines of names.
Lines come without their line breaks; a final line break that is added or removed shows as an empty line.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise, zip_longest
from typing import NamedTuple

# Context lines, as in git.
CONTEXT_LINES = 3
# Characters shown of a longer line: around the first difference, if there is one.
LINE_CHARS = 4_000
_BEFORE_CHARS = 200
# Comparing takes up to the product of the lines; longer regions are first divided at lines that occur once in both.
_COMPARED_LINES = 1_000
_CUT = "…"


class Sign(StrEnum):
    """Which of the two texts a line is in."""

    KEPT = " "
    REMOVED = "-"
    ADDED = "+"


@dataclass(frozen=True, slots=True)
class HunkLine:
    """A line without its line break."""

    sign: Sign
    text: str

    def __str__(self) -> str:
        return f"{self.sign}{self.text}"


@dataclass(frozen=True, slots=True)
class Hunk:
    """Changed lines that lie together, with some of those around them.

    Attributes:
        before: the number of its first line in the text before, from 1; where it has no line there, of the next one.
        after: the same in the text after.
    """

    before: int
    after: int
    lines: tuple[HunkLine, ...]

    @property
    def header(self) -> str:
        """Its position in the unified format: `@@ -5,2 +5,3 @@`."""
        added, removed = (count_lines((self,), sign) for sign in (Sign.ADDED, Sign.REMOVED))
        before, after = _range(self.before, len(self.lines) - added), _range(self.after, len(self.lines) - removed)
        return f"@@ -{before} +{after} @@"

    def numbered(self) -> Iterator[tuple[int, HunkLine]]:
        """Yield each line with its number in the text that it is in: the one after, if in both."""
        before, after = self.before, self.after
        for line in self.lines:
            yield before if line.sign is Sign.REMOVED else after, line
            before, after = before + (line.sign is not Sign.ADDED), after + (line.sign is not Sign.REMOVED)


class LineRun(NamedTuple):
    """Lines `a` to `b` (exclusive) of one text and `c` to `d` of another: the same, or those that replace them."""

    a: int
    b: int
    c: int
    d: int
    same: bool


def diff_texts(before: str, after: str) -> tuple[Hunk, ...]:
    """Return the hunks of two texts, of which one may be empty; none where they are the same.

    A line's carriage return counts only where nothing else differs.
    """
    texts = _ComparedTexts(before, after)
    return tuple(_hunk(texts.old, texts.new, runs) for runs in _by_hunk(texts.runs))


def accept_hunks(before: str, after: str, accepted: Collection[int]) -> str:
    """Return the text before with some of the changes.

    Args:
        before: the text before.
        after: the text after.
        accepted: indices of the hunks in `diff_texts` that are applied.
    """
    texts = _ComparedTexts(before, after)
    chosen = {run for index, runs in enumerate(_by_hunk(texts.runs)) if index in accepted for run in runs}
    lines: list[str] = []
    for run, following in zip_longest(texts.runs, texts.runs[1:]):
        lines += texts.raw_new[run.c : run.d] if run in chosen else texts.raw_old[run.a : run.b]
        if run.same and following in chosen:
            # Its carriage return belongs to the line break, which it has only because of what follows, or has no more.
            lines[-1] = texts.raw_new[run.d - 1]
    end = texts.newline if texts.ends_in_newline and lines else ""
    return texts.newline.join(lines) + end


class _ComparedTexts:
    """Two texts as lines.

    Attributes:
        newline: what divides the lines.
        raw_old, raw_new: the lines, with the carriage return before the newline.
        old, new: the lines as they are compared.
        ends_in_newline: whether both texts do; there is no line after it.
        runs: the runs of equal and of different lines.
    """

    def __init__(self, before: str, after: str) -> None:
        self.newline = "\n" if "\n" in before or "\n" in after else "\r"
        self.raw_old, self.raw_new = (text.split(self.newline) if text else [] for text in (before, after))
        self.ends_in_newline = all(lines[-1:] in ([], [""]) for lines in (self.raw_old, self.raw_new))
        if self.ends_in_newline:
            del self.raw_old[-1:], self.raw_new[-1:]
        self.old, self.new = ([line.removesuffix("\r") for line in lines] for lines in (self.raw_old, self.raw_new))
        if self.old == self.new:
            self.old, self.new = self.raw_old, self.raw_new
        self.runs = list(line_runs(self.old, self.new))


def _by_hunk(all_runs: Iterable[LineRun]) -> list[list[LineRun]]:
    """Return the runs that differ, those of a hunk together."""
    hunks: list[list[LineRun]] = []
    for run in all_runs:
        if not run.same and hunks and run.a - hunks[-1][-1].b <= 2 * CONTEXT_LINES:
            hunks[-1].append(run)
        elif not run.same:
            hunks.append([run])
    return hunks


def line_runs(before: Sequence[str], after: Sequence[str]) -> Iterator[LineRun]:
    """Yield the runs of lines that are the same and those that differ, in order; together they are both texts."""
    a = c = 0
    for b, d, size in (*_matches(before, after), (len(before), len(after), 0)):
        if b > a or d > c:
            yield LineRun(a, b, c, d, same=False)
        a, c = b + size, d + size
        if size:
            yield LineRun(b, a, d, c, same=True)


def changed_part(before: str, after: str) -> tuple[slice, slice]:
    """Return what differs between two lines; a name is never cut in two."""
    start, end = _common_ends(before, after)
    if any(_is_word(text[start : start + 1]) for text in (before, after)):
        while start and _is_word(before[start - 1]):
            start -= 1
    if any(_is_word(text[: len(text) - end][-1:]) for text in (before, after)):
        while end and _is_word(before[len(before) - end]):
            end -= 1
    return slice(start, len(before) - end), slice(start, len(after) - end)


def replaced_lines(signs: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the indices of each removed line and the added line replacing it, in blocks with equally many of both."""
    for block in re.finditer("(-+)(\\++)", "".join(signs)):
        if len(block[1]) == len(block[2]):
            yield from zip(range(*block.span(1)), range(*block.span(2)), strict=True)


def count_lines(hunks: Iterable[Hunk], sign: Sign) -> int:
    """Return the number of lines with this sign."""
    return sum(line.sign is sign for hunk in hunks for line in hunk.lines)


def unified(hunks: Iterable[Hunk]) -> tuple[str, ...]:
    """Return the lines of a unified diff: each begins with `@@`, a blank, `-` or `+`."""
    return tuple(line for hunk in hunks for line in (hunk.header, *map(str, hunk.lines)))


def _range(first: int, count: int) -> str:
    """Line numbers as the format has them: the first and how many; the line before where there are none."""
    return f"{first if count else first - 1},{count}" if count != 1 else f"{first}"


def _hunk(before: Sequence[str], after: Sequence[str], runs: Sequence[LineRun]) -> Hunk:
    begin = at = max(runs[0].a - CONTEXT_LINES, 0)
    lines: list[HunkLine] = []
    for run in runs:
        lines += [HunkLine(Sign.KEPT, _cut(line)) for line in before[at : run.a]]
        removed, added = before[run.a : run.b], after[run.c : run.d]
        starts = [_shown_from(*pair) for pair in zip_longest(removed, added, fillvalue="")]
        for sign, texts in ((Sign.REMOVED, removed), (Sign.ADDED, added)):
            lines += [HunkLine(sign, _cut(line, start)) for line, start in zip(texts, starts, strict=False)]
        at = run.b
    lines += [HunkLine(Sign.KEPT, _cut(line)) for line in before[at : at + CONTEXT_LINES]]
    return Hunk(begin + 1, begin + 1 + runs[0].c - runs[0].a, tuple(lines))


def _shown_from(one: str, other: str) -> int:
    """Return where to start showing two lines so that their first difference is visible."""
    long = max(len(one), len(other)) > LINE_CHARS
    return max(_common_start(one, other) - _BEFORE_CHARS, 0) if long else 0


def _cut(line: str, start: int = 0) -> str:
    if len(line) <= LINE_CHARS:
        return line
    end = start + LINE_CHARS
    return f"{_CUT if start else ''}{line[start:end]}{_CUT if end < len(line) else ''}"


def _matches(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Yield the runs of equal lines: the first index in each text, and the length."""
    from difflib import SequenceMatcher  # the screen's first frame needs the values of this module only

    head, tail = _common_ends(before, after)
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    yield 0, 0, head
    anchors = _anchors(old, new) if len(old) + len(new) > _COMPARED_LINES else ()
    for (a, c), (b, d) in pairwise([(0, 0), *anchors, (len(old), len(new))]):
        left, right = old[a:b], new[c:d]
        if len(left) + len(right) <= _COMPARED_LINES:
            found: Iterable[tuple[int, int, int]] = SequenceMatcher(None, left, right, False).get_matching_blocks()
        elif len(left) == len(right):
            found = ((at, at, 1) for at, (one, other) in enumerate(zip(left, right, strict=True)) if one == other)
        else:
            found = [(0, 0, _common_start(left, right))]
        yield from ((head + a + one, head + c + other, size) for one, other, size in found)
    yield len(before) - tail, len(after) - tail, tail


class _Series(NamedTuple):
    before: int
    after: int
    shorter: "_Series | None"


def _anchors(before: Sequence[str], after: Sequence[str]) -> Sequence[tuple[int, int]]:
    """Return the indices of lines that occur once in each text: the longest series in the same order in both."""
    once, places = ({line for line, times in Counter(lines).items() if times == 1} for lines in (before, after))
    place = {line: at for at, line in enumerate(after) if line in once and line in places}
    # Patience sorting: the lowest end of a series of each length, and each series as its last pair and the one before.
    ends: list[int] = []
    series: list[_Series] = []
    for at, line in enumerate(before):
        if line in place:
            length = bisect_left(ends, place[line])
            longer = _Series(at, place[line], series[length - 1] if length else None)
            ends[length : length + 1], series[length : length + 1] = [longer.after], [longer]
    found: list[tuple[int, int]] = []
    last = series[-1] if series else None
    while last is not None:
        found.append((last.before, last.after))
        last = last.shorter
    return found[::-1]


def _common_start(one: Sequence[str], other: Sequence[str]) -> int:
    differing = (at for at, (left, right) in enumerate(zip(one, other, strict=False)) if left != right)
    return next(differing, min(len(one), len(other)))


def _common_ends(one: Sequence[str], other: Sequence[str]) -> tuple[int, int]:
    """Return the lengths of the common start and of the common end after it."""
    start = _common_start(one, other)
    return start, min(_common_start(one[::-1], other[::-1]), len(one) - start, len(other) - start)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"
