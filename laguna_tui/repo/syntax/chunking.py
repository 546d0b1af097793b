"""A file's text cut into the units that search ranks: every character is in exactly one, blank ones in none."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from laguna_tui.repo.syntax.languages import DefinitionKind
from laguna_tui.repo.syntax.symbols import Span, Symbol, Unit

# Text outside definitions is cut into pieces of about this many lines.
PIECE_LINES = 60
_PIECES_PER_FILE = 2_000
_HEADED = (".md", ".markdown", ".rst", ".adoc")
_HEADING = re.compile(
    r"^#{1,6}[ \t]+(?P<hash>[^\n]{1,120})|^(?P<line>[^\s#][^\n]{1,120})\n[=\-~^]{3,}[ \t]*$", re.MULTILINE
)


def make_units(path: str, text: str, symbols: Sequence[Symbol]) -> tuple[Unit, ...]:
    """Return the units of a text in the order of their first character."""
    newlines = [match.start() for match in re.finditer("\n", text)]

    def line(offset: int) -> int:
        return bisect_right(newlines, offset - 1) + 1

    own = list(_units_of_definitions(symbols))
    units = [
        Unit(index, symbols[index].qualified, symbols[index].line, symbols[index].end, spans)
        for index, spans in own
        if any(text[start:stop].strip() for start, stop in spans)
    ]
    covered = sorted((symbols[index].start, symbols[index].stop) for index, _ in own)
    headings = _HEADING.finditer(text) if path.lower().endswith(_HEADED) else ()
    titled = [(match.start(), match["hash"] or match["line"]) for match in headings]
    for title, spans in _outside(text, _gaps(covered, len(text)), titled):
        units.append(Unit(None, title, line(spans[0][0]), line(max(spans[-1][1] - 1, 0)), spans))
    return tuple(sorted(units, key=lambda unit: unit.spans[0][0]))


def _units_of_definitions(symbols: Sequence[Symbol]) -> Iterator[tuple[int, tuple[Span, ...]]]:
    """Yield the index and spans of each outermost function, and of each type without what its units cover."""
    chosen: list[int] = []
    reach = 0
    for index, symbol in enumerate(symbols):
        if symbol.kind is DefinitionKind.VARIABLE or symbol.start < reach:
            continue
        chosen.append(index)
        if symbol.kind is DefinitionKind.FUNCTION:
            reach = symbol.stop
    for place, index in enumerate(chosen):
        symbol = symbols[index]
        inner: list[Span] = []
        for other in chosen[place + 1 :]:
            if symbols[other].start >= symbol.stop:
                break
            inner.append((symbols[other].start, min(symbols[other].stop, symbol.stop)))
        spans = tuple(
            (symbol.start + a, symbol.start + b)
            for a, b in _gaps([(a - symbol.start, b - symbol.start) for a, b in inner], symbol.stop - symbol.start)
        )
        if spans:
            yield index, spans


def _gaps(covered: Sequence[Span], length: int) -> Iterator[Span]:
    """Yield the spans of [0, length) that no covered span (sorted by start) touches."""
    at = 0
    for start, stop in covered:
        if start > at:
            yield at, start
        at = max(at, stop)
    if at < length:
        yield at, length


def _outside(
    text: str, gaps: Iterator[Span], headings: Sequence[tuple[int, str]]
) -> Iterator[tuple[str, tuple[Span, ...]]]:
    """Yield the gaps gathered into pieces of some lines; a heading begins a new piece and is its title."""
    held: list[Span] = []
    title, lines, made = "", 0, 0
    for start, stop, heading in _cut(text, gaps, headings):
        if held and (heading or lines >= PIECE_LINES):
            yield title, tuple(held)
            made += 1
            held, lines = [], 0
            if made >= _PIECES_PER_FILE:
                return
        title = heading or title
        if text[start:stop].strip():
            held.append((start, stop))
            lines += text.count("\n", start, stop) + 1
    if held:
        yield title, tuple(held)


def _cut(text: str, gaps: Iterator[Span], headings: Sequence[tuple[int, str]]) -> Iterator[tuple[int, int, str]]:
    """Yield the gaps cut at headings and after every `PIECE_LINES` lines."""
    titles = dict(headings)
    for start, stop in gaps:
        at = start
        for begin in [*(place for place in titles if start < place < stop), stop]:
            first = titles.get(at, "")
            while at < begin:
                end = _after_lines(text, at, begin)
                yield at, end, first
                at, first = end, ""


def _after_lines(text: str, start: int, stop: int) -> int:
    """Return the offset `PIECE_LINES` lines after `start`, at most `stop`."""
    at = start
    for _ in range(PIECE_LINES):
        at = text.find("\n", at, stop) + 1
        if at <= 0:
            return stop
    return at
