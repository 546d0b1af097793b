"""Values of a compression: kept and dropped spans with their reasons."""

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from laguna_tui.context.compression.elision import Copies
from laguna_tui.context.compression.spans import Document, Span


class Why(Enum):
    """Why a span was kept or dropped; the value is a sentence fragment to show."""

    FITS = "there is room for everything"
    PROTECTED = "is being edited, or is the user's own text"
    UNTOUCHED = "is a diff or an error message"
    NAMED = "defines a name of the question"
    ANSWER = "contains what the question asks for"
    CALLED = "is used by what the question names"
    EDITED = "is used by a file that is being edited"
    OUTLINE = "outlines the file"
    SCORE = "is among the most relevant for its size"
    HEAD = "belongs to a part that is kept"
    CHEAP = "is shorter than a note about leaving it out"
    BUDGET = "is less relevant for its size"


class SpanResult(NamedTuple):
    """A span that was kept or dropped.

    Attributes:
        span: the span.
        why: the reason.
        score: of its unit, 0 to 1, relative to the best one.
    """

    span: Span
    why: Why
    score: float


@dataclass(frozen=True)
class ShortenedDocument:
    """One document after compression.

    Attributes:
        document: the original.
        text: the kept spans in order, with a marker line at every gap.
        kept: spans in `text`.
        dropped: spans that are not.
        tokens_before: tokens of the original.
        tokens_after: tokens of `text`.
        copies: the pieces of the document that were copied to `text`.
    """

    document: Document
    text: str
    kept: tuple[SpanResult, ...]
    dropped: tuple[SpanResult, ...]
    tokens_before: int
    tokens_after: int
    copies: Copies


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

    parts: tuple[ShortenedDocument, ...]
    budget: int
    tokens_before: int
    tokens_after: int
    scored_by: str
    seconds: float
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts)
