"""What came of a compression: what is kept, what is left out, why, and where each kept character stood. Values only."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import NamedTuple

from laguna_engine.compress.document import Document, Span


class Scores(NamedTuple):
    """What a scorer model says of one text, more is better.

    Attributes:
        attention: how much the query's last tokens look at the text; the maximum over layers, heads and tokens.
        gain: nats that the text takes off each token of the query.
    """

    attention: float
    gain: float


SpanScorer = Callable[[Sequence[str], str], Sequence[Scores]]
"""The texts of units and the query to scores, one for each text."""


class Why(Enum):
    """Why a span was kept, or left out; the value is a sentence fragment to show."""

    FITS = "there is room for everything"
    PROTECTED = "is being edited or was said by the user"
    UNTOUCHED = "is a diff or an error message"
    NAMED = "defines a name of the question"
    ANSWER = "holds what the question asks for"
    CALLED = "is used by what the question names"
    EDITED = "is used by a file that is being edited"
    OUTLINE = "shows what there is"
    SCORE = "is among the best for its size"
    HEAD = "belongs to something that is kept"
    CHEAP = "is shorter than a note that it is left out"
    BUDGET = "others say more for their size"


class Kept(NamedTuple):
    """A span that is in the result; its text begins at `place` there. score: 0 to 1, relative to the best unit."""

    span: Span
    why: Why
    score: float
    place: int


class Dropped(NamedTuple):
    """A span that was left out."""

    span: Span
    why: Why
    score: float


@dataclass(frozen=True)
class Part:
    """What is left of one document. `text`: the kept spans in their order, and a line wherever something is missing.

    copies: (place in `text`, start in the document, characters), sorted: what was copied as it stood.
    """

    document: Document
    text: str
    kept: tuple[Kept, ...]
    dropped: tuple[Dropped, ...]
    tokens_before: int
    tokens_after: int
    copies: tuple[tuple[int, int, int], ...]

    def source(self, place: int) -> int | None:
        """The document's offset of the character at `place` of `text`, or None for one that was put in."""
        index = bisect_right(self._places, place) - 1
        if index < 0:
            return None
        at, start, length = self.copies[index]
        return start + place - at if place - at < length else None

    def line(self, place: int) -> int | None:
        """The document's line of the character at `place` of `text`, or None for one that was put in."""
        offset = self.source(place)
        return None if offset is None else self.document.line(offset)

    @cached_property
    def _places(self) -> Sequence[int]:
        return [copy[0] for copy in self.copies]


@dataclass(frozen=True, slots=True)
class Compression:
    """The parts in the order of the documents.

    budget: tokens that were asked for. scored_by: "words", or "words, gain and attention" when a scorer was used.
    seconds: what it took, scoring included. notes: sentences about what could not be done as asked.
    """

    parts: tuple[Part, ...]
    budget: int
    tokens_before: int
    tokens_after: int
    scored_by: str
    seconds: float
    notes: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether the result is within the budget; only what must not be touched can make it larger."""
        return self.tokens_after <= self.budget

    @property
    def text(self) -> str:
        """All parts, one after the other."""
        return "".join(part.text for part in self.parts)
