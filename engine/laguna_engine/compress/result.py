"""Values of a compression: kept and dropped spans with their reasons, and a map from output to source offsets."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import NamedTuple

from laguna_engine.compress.document import Document, Span


class Scores(NamedTuple):
    """A scorer model's scores of one text; higher is better.

    Attributes:
        attention: attention of the query's last tokens to the text; the maximum over layers, heads and tokens.
        gain: reduction of the query's loss by the text, in nats per token.
    """

    attention: float
    gain: float


UNSCORED = Scores(float("-inf"), float("-inf"))
"""Of a text that the scorer had no time for: no opinion."""

SpanScorer = Callable[[Sequence[str], str], Sequence[Scores]]
"""Called with the texts of units, the most promising first, and the query; returns one `Scores` per text."""


class Why(Enum):
    """Why a span was kept or dropped; the value is a sentence fragment to show."""

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
    """A span that is in the result.

    Attributes:
        span: the span.
        why: reason to keep it.
        score: of its unit, 0 to 1, relative to the best one.
        offset: offset of its text in the part's text, in characters.
    """

    span: Span
    why: Why
    score: float
    offset: int


class Dropped(NamedTuple):
    """A span that was dropped; the attributes are those of `Kept`."""

    span: Span
    why: Why
    score: float


@dataclass(frozen=True)
class Part:
    """One document after compression.

    Attributes:
        document: the original.
        text: the kept spans in order, with a marker line at every gap.
        kept: spans in `text`.
        dropped: spans that are not.
        tokens_before: tokens of the original.
        tokens_after: tokens of `text`.
        copies: (offset in `text`, start in the document, length) of each piece copied unchanged, sorted.
    """

    document: Document
    text: str
    kept: tuple[Kept, ...]
    dropped: tuple[Dropped, ...]
    tokens_before: int
    tokens_after: int
    copies: tuple[tuple[int, int, int], ...]

    def source(self, offset: int) -> int | None:
        """Offset in the document of the character at `offset` in `text`; None for one that was inserted."""
        index = bisect_right(self._offsets, offset) - 1
        if index < 0:
            return None
        at, start, length = self.copies[index]
        return start + offset - at if offset - at < length else None

    def line(self, offset: int) -> int | None:
        """Line in the document of the character at `offset` in `text`; None for one that was inserted."""
        source = self.source(offset)
        return None if source is None else self.document.line(source)

    @cached_property
    def _offsets(self) -> Sequence[int]:
        return [copy[0] for copy in self.copies]


@dataclass(frozen=True, slots=True)
class Compression:
    """The result of a compression.

    Attributes:
        parts: one for each document, in order.
        budget: tokens requested.
        tokens_before: tokens of all documents.
        tokens_after: tokens of all parts.
        scored_by: "words", or "words, gain and attention" if a scorer was used.
        seconds: duration, scoring included.
        notes: sentences for the user where the result falls short of the request.
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
        """Whether the result is within the budget; only protected documents can exceed it."""
        return self.tokens_after <= self.budget

    @property
    def text(self) -> str:
        """All parts, joined."""
        return "".join(part.text for part in self.parts)
