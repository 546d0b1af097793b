"""Which lines define a name, and which definition a line lies in: by line patterns and indentation.

Deals in lines of text. Never parses: a definition reaches as far as the lines indented deeper than it, which holds
for Python by the language and for the others by the way they are formatted.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from laguna_tui.repo.language_patterns import Kind, Language, language_of

# A definition's name stands near the start of its line; the rest of a minified line is not worth matching.
DEFINITION_COLUMNS = 400
# A tab counts as this many columns, as in most editors' defaults.
TAB_COLUMNS = 4
# Lines at a definition's own indentation that still belong to it: closing brackets, Ruby's and Lua's end, a C brace.
_CLOSING = re.compile(r"[)\]}{]|end\b|end$")


class Defined(NamedTuple):
    """What one line seems to define; `start` is the name's column, from 0."""

    name: str
    kind: Kind
    start: int


@dataclass(frozen=True, slots=True)
class Definition:
    """One defined name: lines `line` to `end`, both counted from 1 and included; `indent` in columns."""

    name: str
    kind: Kind
    line: int
    end: int
    indent: int


@dataclass(frozen=True, slots=True)
class Outline:
    """The definitions of one file, in line order."""

    definitions: tuple[Definition, ...]

    def enclosing(self, line: int) -> Definition | None:
        """The innermost definition whose lines include the given one (from 1), or None."""
        inside = (d for d in self.definitions if d.line <= line <= d.end)
        return max(inside, key=lambda d: d.line, default=None)

    def at(self, line: int) -> Definition | None:
        """The definition whose first line is the given one, or None."""
        return next((d for d in self.definitions if d.line == line), None)

    def top_level(self) -> list[Definition]:
        """Functions and types that lie in no other definition."""
        outer: list[Definition] = []
        reach = 0
        for definition in self.definitions:
            if definition.line > reach:
                reach = definition.end
                outer.append(definition)
        return [definition for definition in outer if definition.kind is not Kind.VARIABLE]


def outline(path: str, lines: Sequence[str]) -> Outline:
    """The outline of a file's lines; empty when its language is not known."""
    language = language_of(path)
    if language is None:
        return Outline(())
    inner = _inner_lines(language, lines)
    begins = {
        number: found
        for number, line in enumerate(lines, 1)
        if number not in inner and (found := defined(language, line))
    }
    return Outline(_with_ends(language, lines, inner, begins))


def defined(language: Language | None, line: str) -> Defined | None:
    """What a line defines, by its look alone, or None."""
    if language is None:
        return None
    head = line[:DEFINITION_COLUMNS]
    for kind, pattern in language.forms:
        match = pattern.match(head)
        if match and match["name"] not in language.reserved:
            return Defined(match["name"], kind, match.start("name"))
    return None


def _inner_lines(language: Language, lines: Sequence[str]) -> set[int]:
    """Numbers of the lines that begin inside a string or comment."""
    text = "\n".join(lines)
    inner: set[int] = set()
    number, seen = 1, 0
    for match in language.opaque.finditer(text):
        inside = match.group().count("\n")
        if inside:
            number += text.count("\n", seen, match.start())
            inner.update(range(number + 1, number + inside + 1))
            number, seen = number + inside, match.end()
    return inner


def _with_ends(
    language: Language, lines: Sequence[str], inner: set[int], begins: Mapping[int, Defined]
) -> tuple[Definition, ...]:
    """Close each open definition at the first line that is indented no deeper; one pass over the lines."""
    open_: list[Definition] = []
    closed: list[Definition] = []
    last = 0
    for number, line in enumerate(lines, 1):
        if number in inner:
            last = number
            continue
        if not line.strip() or (language.skipped.match(line) and number not in begins):
            continue
        columns = _indent(line)
        closes = _CLOSING.match(line.lstrip())
        while open_ and (columns < open_[-1].indent or (columns == open_[-1].indent and not closes)):
            closed.append(_ended(open_.pop(), last))
        if number in begins:
            open_.append(Definition(begins[number].name, begins[number].kind, number, number, columns))
        last = number
    closed.extend(_ended(definition, last) for definition in open_)
    return tuple(sorted(closed, key=lambda d: d.line))


def _ended(definition: Definition, last: int) -> Definition:
    return Definition(definition.name, definition.kind, definition.line, max(last, definition.line), definition.indent)


def _indent(line: str) -> int:
    expanded = line[:DEFINITION_COLUMNS].expandtabs(TAB_COLUMNS)
    return len(expanded) - len(expanded.lstrip())
