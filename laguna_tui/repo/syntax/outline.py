"""The lines of a file that define a name, and the definition around a line; by line patterns where there is no grammar.

`analysis.file_outline` makes the outline of any file. `line_outline` is for languages without a grammar: a definition
extends over the lines indented deeper than it, which holds for formatted code.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from laguna_tui.repo.syntax.language_patterns import Language, language_of
from laguna_tui.repo.syntax.languages import DefinitionKind

# A definition's name is near the start of its line; the rest of a minified line is not matched.
DEFINITION_COLUMNS = 400
# A tab counts as this many columns, as in most editors' defaults.
TAB_COLUMNS = 4
# Lines at a definition's own indentation that still belong to it: closing brackets, Ruby's and Lua's end, a C brace.
_CLOSING = re.compile(r"[)\]}{]|end\b|end$")


class Defined(NamedTuple):
    """What one line seems to define; `start` is the name's column, from 0."""

    name: str
    kind: DefinitionKind
    start: int


@dataclass(frozen=True, slots=True)
class Definition:
    """One defined name: lines `line`, that of the name, to `end`, both counted from 1 and included.

    Attributes:
        prototype: whether only its head is here, as in C's headers.
    """

    name: str
    kind: DefinitionKind
    line: int
    end: int
    prototype: bool = False


@dataclass(frozen=True, slots=True)
class Outline:
    """The definitions of one file, in line order."""

    definitions: tuple[Definition, ...]

    def enclosing(self, lines: Iterable[int]) -> Iterator[list[Definition]]:
        """Yield the definitions around each of some ascending lines (from 1), the innermost last."""
        around: list[Definition] = []
        seen = 0
        for line in lines:
            while seen < len(self.definitions) and self.definitions[seen].line <= line:
                around.append(self.definitions[seen])
                seen += 1
            around = [definition for definition in around if definition.end >= line]
            yield around

    def top_level(self) -> list[Definition]:
        """Return the functions and types in no other definition."""
        outer: list[Definition] = []
        reach = 0
        for definition in self.definitions:
            if definition.line > reach:
                reach = definition.end
                outer.append(definition)
        return [definition for definition in outer if definition.kind is not DefinitionKind.VARIABLE]


def line_outline(path: str, lines: Sequence[str]) -> Outline:
    """Return the outline of a file's lines by their look; empty when the language is unknown."""
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
    """Return what a line defines, by its look alone, or None."""
    if language is None:
        return None
    head = line[:DEFINITION_COLUMNS]
    for kind, pattern in language.forms:
        match = pattern.match(head)
        if match and match["name"] not in language.reserved:
            return Defined(match["name"], kind, match.start("name"))
    return None


def _inner_lines(language: Language, lines: Sequence[str]) -> set[int]:
    """Return the numbers of the lines that begin inside a string or comment."""
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
    open_: list[tuple[int, int]] = []  # the columns that each is indented by, and its line
    ends: dict[int, int] = {}
    last = 0
    for number, line in enumerate(lines, 1):
        if number in inner:
            last = number
            continue
        if not line.strip() or (language.skipped.match(line) and number not in begins):
            continue
        columns = _indent(line)
        closes = _CLOSING.match(line.lstrip())
        while open_ and (columns < open_[-1][0] or (columns == open_[-1][0] and not closes)):
            ends[open_.pop()[1]] = last
        if number in begins:
            open_.append((columns, number))
        last = number
    ends.update((begin, last) for _, begin in open_)
    return tuple(
        Definition(found.name, found.kind, begin, max(ends[begin], begin)) for begin, found in sorted(begins.items())
    )


def _indent(line: str) -> int:
    expanded = line[:DEFINITION_COLUMNS].expandtabs(TAB_COLUMNS)
    return len(expanded) - len(expanded.lstrip())
