"""Compares a block's text before and after shortening, line by line. No widget."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from itertools import zip_longest

from laguna_tui.base.text import sanitize
from laguna_tui.base.text_diff import line_runs
from laguna_tui.context.blocks import BlockText
from laguna_tui.tui.text_lines import break_words

TAB = 4
# Columns of a line that are shown; minified files have lines of megabytes.
MAX_COLUMNS = 1000


class LineState(Enum):
    """The state of a line: in both texts, in one, or a gap beside a line of the other."""

    KEPT = "kept"
    DROPPED = "dropped"
    ADDED = "added"
    GAP = "gap"


@dataclass(frozen=True, slots=True)
class ComparedLine:
    """A line of one side, sanitised. A GAP is a place where only the other side has a line."""

    text: str
    state: LineState


@dataclass(frozen=True, slots=True)
class LinePair:
    """Two lines beside each other; at most one of them is a gap."""

    before: ComparedLine
    after: ComparedLine


_GAP = ComparedLine("", LineState.GAP)


def compare(text: BlockText) -> list[LinePair]:
    """Align the two texts: lines that were kept are beside each other."""
    before, after = _lines(text.before), _lines(text.after)
    pairs: list[LinePair] = []
    for run in line_runs(before, after):
        states = (LineState.KEPT, LineState.KEPT) if run.same else (LineState.DROPPED, LineState.ADDED)
        texts = before[run.a : run.b], after[run.c : run.d]
        sides = ([ComparedLine(line, state) for line in lines] for lines, state in zip(texts, states, strict=True))
        pairs += [LinePair(one, other) for one, other in zip_longest(*sides, fillvalue=_GAP)]
    return pairs


def folded(pairs: Iterable[LinePair], width: int) -> list[LinePair]:
    """Wrap every line into rows of at most `width` cells, keeping both sides aligned."""
    return [
        LinePair(before, after)
        for pair in pairs
        for before, after in zip_longest(_rows(pair.before, width), _rows(pair.after, width), fillvalue=_GAP)
    ]


def counterparts(pairs: Iterable[LinePair]) -> tuple[list[int], list[int]]:
    """For each line of one side, without gaps, the line of the other side beside it or after it."""
    to_after: list[int] = []
    to_before: list[int] = []
    for pair in pairs:
        before, after = len(to_after), len(to_before)
        if pair.before.state is not LineState.GAP:
            to_after.append(after)
        if pair.after.state is not LineState.GAP:
            to_before.append(before)
    return to_after, to_before


def _rows(line: ComparedLine, width: int) -> list[ComparedLine]:
    return [ComparedLine(line.text[start:end], line.state) for start, end in break_words(line.text, width)]


def _lines(text: str) -> list[str]:
    safe = sanitize(text, tab_columns=TAB)
    return [line[:MAX_COLUMNS] for line in safe.removesuffix("\n").split("\n")] if safe else []
