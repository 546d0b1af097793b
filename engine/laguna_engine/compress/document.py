"""A text as the spans that may be left out of it, and the units (definitions, paragraphs) that they belong to.

Values only: who makes a document knows its language, nobody here does. Offsets count characters of the decoded text
from 0, `stop` excluded; lines count from 1, both ends included, and end where the app's `read` tool ends them.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple


class SpanRole(Enum):
    """What a span is of its unit.

    OUTLINE: imports, signatures, class headers, first docstring lines. BODY: what a definition holds. TEXT: prose,
    data and everything else.
    """

    OUTLINE = "outline"
    BODY = "body"
    TEXT = "text"


class Span(NamedTuple):
    """A piece of text that is kept or left out as a whole; `unit` counts in the document's units."""

    start: int
    stop: int
    role: SpanRole
    unit: int


class Unit(NamedTuple):
    """A definition, or a group of paragraphs.

    Attributes:
        name: the definition's qualified name, a heading, or nothing.
        defines: the names that can be asked for to get this unit.
        refers: the names of other definitions that it calls, inherits from or mentions.
        line: its first line.
        end: its last line; other units may lie between the two.
    """

    name: str
    defines: frozenset[str]
    refers: frozenset[str]
    line: int
    end: int


@dataclass(frozen=True)
class Document:
    """One text, cut up.

    Attributes:
        path: as the `read` tool takes it.
        spans: sorted, disjoint; every character that is not blank lies in one.
        protected: must stay as it is (a file that is being edited, the user's own words).

    Raises:
        ValueError: spans that overlap, leave the text, miss a character or name no unit.
    """

    path: str
    text: str
    spans: tuple[Span, ...]
    units: tuple[Unit, ...]
    protected: bool = False

    def __post_init__(self) -> None:
        ends = [0, *(place for span in self.spans for place in span[:2]), len(self.text)]
        if any(left > right for left, right in pairwise(ends)):
            raise ValueError(f"{self.path}: the spans overlap or leave the text")
        if any(self.text[left:right].strip() for left, right in zip(ends[::2], ends[1::2], strict=True)):
            raise ValueError(f"{self.path}: the spans miss a character")
        if any(not 0 <= span.unit < len(self.units) for span in self.spans):
            raise ValueError(f"{self.path}: a span names no unit")

    def line(self, offset: int) -> int:
        """The line that a character lies on; a newline is the last character of its line."""
        return bisect_right(self.line_starts, offset)

    def lines(self, start: int, stop: int) -> tuple[int, int]:
        """The first and the last line that the characters `start` to `stop` (not empty) lie on."""
        return self.line(start), self.line(stop - 1)

    @cached_property
    def line_starts(self) -> Sequence[int]:
        r"""Where each line begins. "\r" ends lines only in a text without "\n"."""
        newline = "\n" if "\n" in self.text else "\r"
        starts = [0]
        while (at := self.text.find(newline, starts[-1])) >= 0:
            starts.append(at + 1)
        return starts

    @cached_property
    def outlined(self) -> frozenset[int]:
        """The units that have a span which shows that they exist."""
        return frozenset(span.unit for span in self.spans if span.role is SpanRole.OUTLINE)

    @cached_property
    def outer(self) -> Sequence[int | None]:
        """For each unit the one that its lines lie in, such as a method's class, or None."""
        found: list[int | None] = [None] * len(self.units)
        around: list[int] = []
        definitions = [index for index, unit in enumerate(self.units) if unit.defines]
        for index in sorted(definitions, key=lambda i: (self.units[i].line, -self.units[i].end)):
            while around and self.units[around[-1]].end < self.units[index].end:
                around.pop()
            found[index] = around[-1] if around else None
            around.append(index)
        return found
