"""Lines of a file cut into pieces that make sense alone: statements, paragraphs, entries of a table.

By indentation, blank lines and round brackets only, so it works for languages without a parser. Lines count from 0,
`stop` excluded. A block's head is a piece of its own when the block is long, so that a part of it can be dropped.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

# A piece of this many lines is small enough to be kept or left out as one.
PIECE_LINES = 8
# Deeper blocks are cut into pieces of `PIECE_LINES` lines, wherever that is.
_MAX_DEPTH = 8
_TAB_COLUMNS = 4
# Brackets that close more lines further down hold data, not a condition or call that only makes sense whole.
_HEAD_LINES = 40
_CONTINUES = re.compile(r"[)\]}]|(?:else|elif|except|finally|catch|end|then|do|done|fi|esac)\b")


class LineLooks(NamedTuple):
    """The look of a file's lines.

    Attributes:
        indents: indentation in columns, None of a blank line.
        begins: whether a piece may begin here.
        opens: whether the line ends in a bracket.
        closes: whether the line begins by closing one.
    """

    indents: Sequence[int | None]
    begins: Sequence[bool]
    opens: Sequence[bool]
    closes: Sequence[bool]


def read_lines(lines: Sequence[str], inner: Collection[int]) -> LineLooks:
    """Return the look of each line; `inner` are the lines, from 0, that begin inside a string or comment."""
    indents: list[int | None] = []
    begins: list[bool] = []
    opens: list[bool] = []
    closes: list[bool] = []
    for number, line in enumerate(lines):
        stripped = line.lstrip(" \t")
        blanks = line[: len(line) - len(stripped)]
        blank = not stripped.strip()
        indents.append(None if blank else len(blanks.expandtabs(_TAB_COLUMNS)))
        begins.append(not blank and number not in inner and not _CONTINUES.match(stripped))
        opens.append(line.rstrip().endswith("("))
        closes.append(stripped.startswith(")") and number not in inner)
    return LineLooks(indents, begins, opens, closes)


def pieces(look: LineLooks, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield the lines `start` to `stop` in pieces, in order and without a gap; small neighbours stay together."""
    held: tuple[int, int] | None = None
    for first, last in _cut(look, start, stop, 0):
        if held is None:
            held = first, last
        elif last - held[0] <= PIECE_LINES and not (look.indents[first - 1] is None and held[1] - held[0] > 2):
            # A blank line ends a piece of more than two lines.
            held = held[0], last
        else:
            yield held
            held = first, last
    if held is not None:
        yield held


def _cut(look: LineLooks, start: int, stop: int, depth: int) -> Iterator[tuple[int, int]]:
    begins = _statements(look, start, stop)
    for first, last in zip(begins, [*begins[1:], stop], strict=True):
        if last - first <= PIECE_LINES:
            yield first, last
        elif depth < _MAX_DEPTH:
            inside = _head_end(look, first, last)
            yield first, inside
            if inside < last:
                yield from _cut(look, inside, last, depth + 1)
        else:
            for at in range(first, last, PIECE_LINES):
                yield at, min(at + PIECE_LINES, last)


def _head_end(look: LineLooks, first: int, last: int) -> int:
    """Return the line after a block's head, which is one line or ends where its bracket is closed."""
    if look.opens[first]:
        for number in range(first + 1, min(last, first + _HEAD_LINES)):
            if look.closes[number] and (look.indents[number] or 0) <= (look.indents[first] or 0):
                return number + 1
    return first + 1


def _statements(look: LineLooks, start: int, stop: int) -> list[int]:
    """Return the first lines of the statements of the outermost level; the first one is `start`."""
    level = min((look.indents[n] or 0 for n in range(start, stop) if look.begins[n]), default=None)
    if level is None:
        return [start]
    found = [n for n in range(start + 1, stop) if look.begins[n] and (look.indents[n] or 0) <= level]
    return [start, *found]
