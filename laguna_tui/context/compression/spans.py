"""A document: a text divided into spans, which belong to units (definitions, paragraphs).

Values only; the caller divides the text by its language. Offsets count characters of the decoded text from 0, `stop`
exclusive; lines count from 1, both ends inclusive, with the line ends of the app's `read` tool.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from laguna_tui.repo.files.text_files import line_starts


class SpanRole(Enum):
    """The part of its unit that a span is.

    Attributes:
        OUTLINE: imports, signatures, class headers, first docstring lines.
        BODY: the inside of a definition.
        TEXT: prose, data and everything else.
    """

    OUTLINE = "outline"
    BODY = "body"
    TEXT = "text"


class Span(NamedTuple):
    """A piece of text that is kept or dropped as a whole.

    Attributes:
        start: first character.
        stop: past the last character.
        role: the part of its unit.
        unit: index into the document's units.
    """

    start: int
    stop: int
    role: SpanRole
    unit: int


class SpanUnit(NamedTuple):
    """A definition, or a group of paragraphs.

    Attributes:
        name: the definition's qualified name, a heading, or empty.
        defines: names by which a question can refer to the unit.
        refers: names of other definitions that it calls, inherits from or mentions.
        line: first line.
        end: last line; other units may lie in between.
    """

    name: str
    defines: frozenset[str]
    refers: frozenset[str]
    line: int
    end: int


@dataclass(frozen=True)
class Document:
    """One text with its spans.

    Attributes:
        path: as the `read` tool takes it.
        text: the decoded contents.
        spans: sorted and disjoint; they cover every character that is not blank.
        units: the units of the spans.
        protected: must not be shortened (a file being edited, the user's own words).

    Raises:
        ValueError: spans overlap, leave the text, miss a character or have no unit.
    """

    path: str
    text: str
    spans: tuple[Span, ...]
    units: tuple[SpanUnit, ...]
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
        """Return the line of a character; a newline is the last character of its line."""
        return bisect_right(self.line_starts, offset)

    def lines(self, start: int, stop: int) -> tuple[int, int]:
        """Return the first and last line of the characters `start` to `stop` (not empty)."""
        return self.line(start), self.line(stop - 1)

    @cached_property
    def line_starts(self) -> Sequence[int]:
        return line_starts(self.text)

    @cached_property
    def unit_spans(self) -> Sequence[Sequence[int]]:
        found: list[list[int]] = [[] for _ in self.units]
        for index, span in enumerate(self.spans):
            found[span.unit].append(index)
        return found

    @cached_property
    def outlines(self) -> Mapping[int, Sequence[int]]:
        """Return the indices of the OUTLINE spans of each unit that has any."""
        found: dict[int, list[int]] = {}
        for index, span in enumerate(self.spans):
            if span.role is SpanRole.OUTLINE:
                found.setdefault(span.unit, []).append(index)
        return found

    def span_text(self, index: int) -> str:
        return self.text[self.spans[index].start : self.spans[index].stop]

    def unit_text(self, unit: int) -> str:
        return "".join(map(self.span_text, self.unit_spans[unit]))

    @cached_property
    def outer(self) -> Sequence[int | None]:
        """Return the enclosing unit of each unit, such as a method's class, or None."""
        found: list[int | None] = [None] * len(self.units)
        around: list[int] = []
        definitions = [index for index, unit in enumerate(self.units) if unit.defines]
        for index in sorted(definitions, key=lambda i: (self.units[i].line, -self.units[i].end)):
            unit = self.units[index]
            # Definitions of the same lines, such as those of one minified line, lie beside each other.
            while around and (
                self.units[around[-1]].end < unit.end
                or (self.units[around[-1]].line, self.units[around[-1]].end) == (unit.line, unit.end)
            ):
                around.pop()
            found[index] = around[-1] if around else None
            around.append(index)
        return found
