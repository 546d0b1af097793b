"""A whole answer by a JSON schema, as a turn of Laguna has it: after its thinking, and after tools it calls first."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from laguna_engine.constrain.base import FREE, AllowedTokens, Constraint, RowMask, Vocabulary
from laguna_engine.constrain.json_schema import JsonSchema, SchemaConstraint
from laguna_engine.gguf.laguna import END_THINK, THINK, TOOL_CALL


@dataclass(frozen=True, slots=True)
class SchemaAnswer:
    """The answer is a JSON value that a schema accepts. Thinking is free; a turn that calls tools has no answer yet.

    Attributes:
        schema: of the value.
        calls: whether the model may call tools instead; what it then writes is free, and the value is the answer of a
            later turn.
    """

    schema: JsonSchema
    calls: bool = False

    @classmethod
    def checked(cls, schema: object, *, calls: bool = False) -> "SchemaAnswer":
        """Return the constraint of a JSON schema, parsed JSON; RequestError with the reason if it cannot be used."""
        return cls(JsonSchema.checked(schema), calls)

    def begin(self, vocabulary: Vocabulary, prompt: Sequence[int]) -> "AnswerConstraint":
        """Begin after `prompt`, which says whether the model is thinking."""
        call = vocabulary.id_of(TOOL_CALL) if self.calls else None
        opens, closes = vocabulary.id_of(THINK), vocabulary.id_of(END_THINK)
        last = next((token for token in reversed(prompt) if token in (opens, closes)), None)
        thinking = last is not None and last == opens
        return AnswerConstraint(self.schema.begin(vocabulary, prompt), vocabulary, call, thinking)


class _Part(Enum):
    THINKING = "thinking"
    BEGINNING = "beginning"
    VALUE = "value"
    CALLS = "calls"


class AnswerConstraint(Constraint):
    """Thinking, then a value to the end of the turn, or calls."""

    def __init__(self, value: SchemaConstraint, vocabulary: Vocabulary, call: int | None, thinking: bool) -> None:
        """Start after a prompt.

        Args:
            value: the answer.
            vocabulary: the model's.
            call: the token that begins a call, None if there are to be none.
            thinking: whether the prompt leaves thinking open.
        """
        self._value = value
        self._call = call
        self._closes = vocabulary.id_of(END_THINK)
        self._thinking = RowMask(banned=vocabulary.eog)
        self._part = _Part.THINKING if thinking else _Part.BEGINNING

    def mask(self) -> RowMask:
        match self._part:
            case _Part.THINKING:
                # A turn that ended in its thinking would have no answer.
                return self._thinking
            case _Part.CALLS:
                return FREE
            case _Part.BEGINNING if self._call is not None:
                allowed = self._value.mask().allowed
                assert allowed is not None, "a value is never free"
                return RowMask(allowed=_OrToken(allowed, self._call))
            case _:
                return self._value.mask()

    def advance(self, token: int) -> None:
        if self._part is _Part.THINKING:
            self._part = _Part.BEGINNING if token == self._closes else _Part.THINKING
        elif self._part is _Part.BEGINNING and token == self._call:
            self._part = _Part.CALLS
        elif self._part is not _Part.CALLS:
            self._value.advance(token)
            self._part = _Part.VALUE if self._value.begun else _Part.BEGINNING

    def fork(self) -> "AnswerConstraint":
        forked = copy(self)
        if self._part in (_Part.BEGINNING, _Part.VALUE, _Part.THINKING):
            forked._value = self._value.fork()
        return forked

    def draft(self, most: int) -> list[int]:
        begins_with_value = self._part is _Part.BEGINNING and self._call is None
        return self._value.draft(most) if self._part is _Part.VALUE or begins_with_value else []


class _OrToken:
    """Some tokens and one more."""

    def __init__(self, allowed: AllowedTokens, other: int) -> None:
        self._allowed = allowed
        self._other = other

    def passing(self, candidates: NDArray[np.int32]) -> NDArray[np.bool_]:
        passing: NDArray[np.bool_] = self._allowed.passing(candidates) | (candidates == self._other)
        return passing

    def every(self) -> NDArray[np.int32]:
        return np.append(self._allowed.every(), np.int32(self._other))
