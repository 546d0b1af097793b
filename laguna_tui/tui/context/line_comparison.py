"""A text and what became of it, line by line, side by side. Values only, no widget."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import Enum
from itertools import zip_longest

from laguna_tui.base.text import sanitize
from laguna_tui.context.blocks import BlockText
from laguna_tui.tui.text_lines import break_words

TAB = 4
# Columns of a line that anyone looks at; minified files have lines of megabytes.
LONGEST = 1000


class LineState(Enum):
    """What became of a line."""

    KEPT = "kept"
    DROPPED = "dropped"
    ADDED = "added"
    GAP = "gap"


@dataclass(frozen=True, slots=True)
class ComparedLine:
    """One line of one side, safe to show. A GAP stands where only the other side has a line."""

    text: str
    fate: LineState


@dataclass(frozen=True, slots=True)
class LinePair:
    """Two lines that stand beside each other; at most one of them is a gap."""

    before: ComparedLine
    after: ComparedLine


_GAP = ComparedLine("", LineState.GAP)


def compare(text: BlockText) -> list[LinePair]:
    """The two texts in step: what was kept stands beside itself."""
    before, after = _lines(text.before), _lines(text.after)
    pairs: list[LinePair] = []
    for tag, left, left_end, right, right_end in SequenceMatcher(None, before, after).get_opcodes():
        if tag == "equal":
            pairs += [LinePair(line, line) for line in _told(before[left:left_end], LineState.KEPT)]
            continue
        dropped, added = _told(before[left:left_end], LineState.DROPPED), _told(after[right:right_end], LineState.ADDED)
        pairs += [LinePair(one, other) for one, other in zip_longest(dropped, added, fillvalue=_GAP)]
    return pairs


def folded(pairs: Iterable[LinePair], width: int) -> list[LinePair]:
    """The same with every line in rows of at most `width` cells, still in step."""
    return [
        LinePair(before, after)
        for pair in pairs
        for before, after in zip_longest(_rows(pair.before, width), _rows(pair.after, width), fillvalue=_GAP)
    ]


def places(pairs: Iterable[LinePair]) -> tuple[list[int], list[int]]:
    """For each line of one side, gaps left out, the line of the other side that stands beside it or follows."""
    to_after: list[int] = []
    to_before: list[int] = []
    for pair in pairs:
        before, after = len(to_after), len(to_before)
        if pair.before.fate is not LineState.GAP:
            to_after.append(after)
        if pair.after.fate is not LineState.GAP:
            to_before.append(before)
    return to_after, to_before


def _rows(line: ComparedLine, width: int) -> list[ComparedLine]:
    return [ComparedLine(line.text[start:end], line.fate) for start, end in break_words(line.text, width)]


def _lines(text: str) -> list[str]:
    safe = sanitize(text, tab_columns=TAB)
    return [line[:LONGEST] for line in safe.removesuffix("\n").split("\n")] if safe else []


def _told(lines: Iterable[str], fate: LineState) -> Iterator[ComparedLine]:
    return (ComparedLine(line, fate) for line in lines)
