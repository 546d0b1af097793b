"""Restricts an answer to a JSON schema, after thinking, or calls of tools before the answer."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from laguna_engine.chat.call_writing import CallWriting
from laguna_engine.chat.known_markup import LAGUNA_TURN, TurnMarkup
from laguna_engine.constrain.base import FREE, AllowedTokens, Constraint, RowMask, Vocabulary
from laguna_engine.constrain.json_schema import JsonSchema, SchemaConstraint

_RECENT = 64
"""Tokens at the end of a prompt in which the tag that opens thinking is searched."""


@dataclass(frozen=True, slots=True)
class SchemaAnswer:
    """Restricts an answer to a JSON value that a schema accepts. Thinking is free, and so is a turn with calls.

    Attributes:
        schema: the schema.
        calls: whether the model may call tools instead; the value is then the answer of a later turn.
        markup: the tags of thinking and calls.
        thinks: whether the model may open its thinking, if the prompt has not.
    """

    schema: JsonSchema
    calls: bool = False
    markup: TurnMarkup = LAGUNA_TURN
    thinks: bool = False

    @classmethod
    def checked(
        cls, schema: object, *, calls: bool = False, markup: TurnMarkup = LAGUNA_TURN, thinks: bool = False
    ) -> "SchemaAnswer":
        """Return the constraint of a JSON schema, parsed JSON; RequestError with the reason if it cannot be used."""
        return cls(JsonSchema.checked(schema), calls, markup, thinks)

    def begin(self, vocabulary: Vocabulary, prompt: Sequence[int]) -> "AnswerConstraint":
        """Begin after `prompt`, which may have opened thinking."""
        tags, leads = self.markup.thinking, list[tuple[_TagText, _AnswerPart]]()
        if self.calls:
            writings = [CallWriting(form, self.markup.dropped) for form in self.markup.forms]
            leads += [(_TagText(vocabulary, each.opens), _AnswerPart.CALLS) for each in writings if each.opens]
        thinking = False
        if tags is not None:
            recent = b"".join(map(vocabulary.piece, prompt[-_RECENT:])).decode("utf-8", "replace")
            thinking = recent.rfind(tags.opens.strip()) > recent.rfind(tags.closes)
            if self.thinks and not thinking:
                leads.append((_TagText(vocabulary, tags.opens), _AnswerPart.THINKING))
        closes = None if tags is None else _TagText(vocabulary, tags.closes)
        return AnswerConstraint(self.schema.begin(vocabulary, prompt), vocabulary, leads, closes, thinking)


class _AnswerPart(Enum):
    THINKING = "thinking"
    BEGINNING = "beginning"
    VALUE = "value"
    CALLS = "calls"


class _TagText:
    """A tag that leads from one part of an answer to another."""

    def __init__(self, vocabulary: Vocabulary, text: str) -> None:
        """Take the text of a tag, which may be a special token."""
        self._vocabulary, self.token, self.text = vocabulary, vocabulary.id_of(text), text.encode()

    def next(self, written: bytes) -> list[int]:
        """Return the tokens that continue it after `written`."""
        if self.token is not None:
            return [] if written else [self.token]
        if not self.text.startswith(written):
            return []
        rest = self.text[len(written) :].decode("utf-8", "ignore")
        starts = (self._vocabulary.tokenize(rest[:size], special=True) for size in range(1, len(rest) + 1))
        return [tokens[0] for tokens in starts if len(tokens) == 1]


class AnswerConstraint(Constraint):
    """Thinking, then a value to the end of the turn, or calls."""

    def __init__(
        self,
        value: SchemaConstraint,
        vocabulary: Vocabulary,
        leads: Sequence[tuple[_TagText, _AnswerPart]],
        closes: _TagText | None,
        thinking: bool,
    ) -> None:
        """Start after a prompt.

        Args:
            value: the answer.
            vocabulary: the model's.
            leads: the tags that may come instead of the value, and what they begin.
            closes: the tag that ends thinking; None for a model that does not think.
            thinking: whether the prompt has opened thinking.
        """
        self._value, self._vocabulary = value, vocabulary
        self._leads, self._closes = leads, closes
        self._thinking = RowMask(banned=vocabulary.eog)
        self._part = _AnswerPart.THINKING if thinking else _AnswerPart.BEGINNING
        # The beginning of a tag.
        self._written = b""

    def mask(self) -> RowMask:
        match self._part:
            case _AnswerPart.THINKING:
                # A turn that ended in its thinking would have no answer.
                return self._thinking
            case _AnswerPart.CALLS:
                return FREE
            case _AnswerPart.BEGINNING if others := self._others():
                allowed = None if self._written else self._value.mask().allowed
                return RowMask(allowed=_OrTokens(allowed, others))
            case _:
                return self._value.mask()

    def _others(self) -> list[int]:
        """Return the tokens that begin or continue a tag."""
        return [token for lead, _ in self._leads for token in lead.next(self._written)]

    def advance(self, token: int) -> None:
        piece = self._vocabulary.piece(token)
        if self._part is _AnswerPart.THINKING:
            self._think(token, piece)
        elif self._part is _AnswerPart.BEGINNING and token in self._others():
            self._written += piece
            for lead, part in self._leads:
                if token == lead.token or self._written == lead.text:
                    self._part, self._written = part, b""
                    # It thinks once.
                    self._leads = [each for each in self._leads if each[1] is not _AnswerPart.THINKING]
                    break
        elif self._part is not _AnswerPart.CALLS:
            self._value.advance(token)
            self._part = _AnswerPart.VALUE if self._value.begun else _AnswerPart.BEGINNING

    def _think(self, token: int, piece: bytes) -> None:
        assert self._closes is not None, "it thinks"
        ended = token == self._closes.token
        if self._closes.token is None:
            self._written = (self._written + piece)[-len(self._closes.text) - len(piece) :]
            ended = self._closes.text in self._written
        if ended:
            self._part, self._written = _AnswerPart.BEGINNING, b""

    def fork(self) -> "AnswerConstraint":
        forked = copy(self)
        if self._part in (_AnswerPart.BEGINNING, _AnswerPart.VALUE, _AnswerPart.THINKING):
            forked._value = self._value.fork()
        return forked

    def draft(self, most: int) -> list[int]:
        begins_with_value = self._part is _AnswerPart.BEGINNING and not self._leads
        return self._value.draft(most) if self._part is _AnswerPart.VALUE or begins_with_value else []


class _OrTokens:
    """The union of allowed tokens and others."""

    def __init__(self, allowed: AllowedTokens | None, others: Sequence[int]) -> None:
        self._allowed, self._others = allowed, np.array(others, np.int32)

    def passing(self, candidates: NDArray[np.int32]) -> NDArray[np.bool_]:
        passing: NDArray[np.bool_] = np.isin(candidates, self._others)
        return passing if self._allowed is None else passing | self._allowed.passing(candidates)

    def every(self) -> NDArray[np.int32]:
        return self._others if self._allowed is None else np.union1d(self._allowed.every(), self._others)
