"""A diff of a text computed from the changes' positions: as fast for a large file as for a small one.

Lines come without their line breaks; a final line break that is added or removed shows as an empty line.
"""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import NamedTuple

from laguna_tui.base.hunks import Hunk, HunkLine, Sign
from laguna_tui.repo.edits.text_replacement import Replacement, replace_text
from laguna_tui.repo.files.text_files import split_lines

# Context lines, as in git.
CONTEXT_LINES = 3
# Characters shown of a longer line: around the first difference, if there is one.
LINE_CHARS = 4_000
_BEFORE_CHARS = 200
# Comparing takes up to the product of the lines; longer regions are shown as removed and added.
_COMPARED_LINES = 1_000
_CUT = "…"


class _Piece(NamedTuple):
    """Lines `a` to `b` (exclusive) of the text, and the lines `c` to `d` of the changed text that replace them."""

    a: int
    b: int
    c: int
    d: int


def diff(text: str, changes: Sequence[Replacement]) -> tuple[Hunk, ...]:
    """Return the diff's hunks; the changes are sorted and do not overlap."""
    newline = "\n" if "\n" in text or "\r" not in text else "\r"
    before, after = (_lines(each, newline) for each in (text, replace_text(text, changes)))
    if before and after and before[-1] == after[-1] == "":
        # There is no line after the final line break.
        del before[-1], after[-1]
    pieces = [piece for region in _regions(text, changes, newline) for piece in _compared(before, after, region)]
    return tuple(_hunk(before, after, near) for near in _near(pieces))


def whole_diff(before: str, after: str) -> tuple[Hunk, ...]:
    """Return the diff of two texts, of which one may be empty; no hunks where they are the same."""
    if before == after:
        return ()
    if not before or not after:
        sign = Sign.REMOVED if before else Sign.ADDED
        return (Hunk(1, 1, tuple(HunkLine(sign, _cut(line)) for line in split_lines(before or after))),)
    start = _same(before, after)
    start = max(before.rfind("\n", 0, start), before.rfind("\r", 0, start)) + 1
    most = min(len(before), len(after)) - start
    end = _same(before[: -most - 1 : -1], after[: -most - 1 : -1])
    return diff(before, [Replacement(start, len(before) - end, after[start : len(after) - end])])


def _same(one: str, other: str) -> int:
    """How many characters at the beginning are the same."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one.startswith(other[:middle]) else (low, middle - 1)
    return low


def _lines(text: str, newline: str) -> list[str]:
    return [line.removesuffix("\r") for line in text.split(newline)]


def _regions(text: str, changes: Sequence[Replacement], newline: str) -> Iterator[_Piece]:
    """The changed lines; changes that touch the same line are one region."""
    region: _Piece | None = None
    line = at = grown = 0
    for change in changes:
        line += text.count(newline, at, change.start)
        lost = text.count(newline, change.start, change.stop)
        gained = change.new.count(newline)
        first, last, at = line, line + lost + 1, change.stop
        line, shift = line + lost, grown + gained - lost
        if region is not None and first < region.b:
            region = region._replace(b=last, d=last + shift)
        else:
            if region is not None:
                yield region
            region = _Piece(first, last, first + grown, last + shift)
        grown = shift
    if region is not None:
        yield region


def _compared(before: Sequence[str], after: Sequence[str], region: _Piece) -> Iterator[_Piece]:
    """The parts of a region that differ."""
    old, new = before[region.a : region.b], after[region.c : region.d]
    if len(old) + len(new) > _COMPARED_LINES:
        yield region
        return
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield _Piece(region.a + a, region.a + b, region.c + c, region.c + d)


def _near(pieces: Sequence[_Piece]) -> Iterator[list[_Piece]]:
    """Groups of pieces so close that their context lines meet."""
    hunk: list[_Piece] = []
    for piece in pieces:
        if hunk and piece.a - hunk[-1].b > 2 * CONTEXT_LINES:
            yield hunk
            hunk = []
        hunk.append(piece)
    if hunk:
        yield hunk


def _hunk(before: Sequence[str], after: Sequence[str], pieces: Sequence[_Piece]) -> Hunk:
    begin = max(pieces[0].a - CONTEXT_LINES, 0)
    end = min(pieces[-1].b + CONTEXT_LINES, len(before))
    lines: list[HunkLine] = []
    at = begin
    for piece in pieces:
        lines += [HunkLine(Sign.KEPT, _cut(line)) for line in before[at : piece.a]]
        removed, added = before[piece.a : piece.b], after[piece.c : piece.d]
        starts = [_difference(*pair) for pair in zip_longest(removed, added, fillvalue="")]
        for sign, texts in ((Sign.REMOVED, removed), (Sign.ADDED, added)):
            lines += [HunkLine(sign, _cut(line, start)) for line, start in zip(texts, starts, strict=False)]
        at = piece.b
    lines += [HunkLine(Sign.KEPT, _cut(line)) for line in before[at:end]]
    return Hunk(begin + 1, begin + 1 + pieces[0].c - pieces[0].a, tuple(lines))


def _difference(one: str, other: str) -> int:
    """Where to start showing two long lines so that their first difference is visible."""
    if max(len(one), len(other)) <= LINE_CHARS:
        return 0
    same = next((at for at, (left, right) in enumerate(zip(one, other, strict=False)) if left != right), None)
    return max((min(len(one), len(other)) if same is None else same) - _BEFORE_CHARS, 0)


def _cut(line: str, start: int = 0) -> str:
    if len(line) <= LINE_CHARS:
        return line
    end = start + LINE_CHARS
    return f"{_CUT if start else ''}{line[start:end]}{_CUT if end < len(line) else ''}"
