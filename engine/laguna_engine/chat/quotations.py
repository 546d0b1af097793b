"""Restricts quotations in an answer to those of texts that the model was given."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from laguna_engine.chat.call_grammar import quoted
from laguna_engine.constrain.base import FREE, Constraint, RowMask, Vocabulary
from laguna_engine.constrain.matcher import MatcherTokens, compiled
from laguna_engine.gguf.laguna import END_TOOL_CALL, TOOL_CALL

if TYPE_CHECKING:
    from llguidance import LLMatcher

_TICK = b"`"
_QUOTED = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True, slots=True)
class Quotations:
    """Restricts text between two backticks to some strings; tool calls and other text are free.

    Attributes:
        strings: the strings that may be quoted; without any, backticks are not allowed.
    """

    strings: tuple[str, ...]

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Quotations | None":
        """Return the quotations in `texts`; None if they are ambiguous: a line has an odd number of backticks."""
        found: list[str] = []
        for line in (line for text in texts for line in text.split("\n")):
            if line.count("`") % 2:
                return None
            found += _QUOTED.findall(line)
        return cls(tuple(sorted({each.encode("utf-8", "replace").decode() for each in found})))

    def begin(self, vocabulary: Vocabulary, _prompt: Sequence[int]) -> "QuotationConstraint":
        """Begin outside of backticks."""
        return QuotationConstraint(compiled(vocabulary, self._lark), vocabulary)

    @property
    def _lark(self) -> str:
        if not self.strings:
            return "start: WORDS\nWORDS: /[^`]*/\n"
        listed = " | ".join(map(quoted, self.strings))
        return f'start: WORDS ("`" QUOTED "`" WORDS)*\nWORDS: /[^`]*/\nQUOTED: {listed}\n'


class QuotationConstraint(Constraint):
    """Free text with quotations, and tool calls in it."""

    def __init__(self, first: "LLMatcher", vocabulary: Vocabulary) -> None:
        """Start outside of quotations and calls. first: that state."""
        self._vocabulary = vocabulary
        self._opens_call, self._closes_call = vocabulary.id_of(TOOL_CALL), vocabulary.id_of(END_TOOL_CALL)
        self._in_call = self._inside = False
        # Neither matcher is advanced: text without a backtick leads back to the first state.
        self._first = self._state = first
        self._outside = RowMask(allowed=_OutsideTokens(first, vocabulary), wide=True)

    def mask(self) -> RowMask:
        if self._in_call:
            return FREE
        inside = MatcherTokens(self._state, self._vocabulary.size)
        return RowMask(allowed=inside) if self._inside else self._outside

    def advance(self, token: int) -> None:
        if self._vocabulary.is_control(token):
            self._in_call = token == self._opens_call or (self._in_call and token != self._closes_call)
            self._state, self._inside = self._first, False
        elif not self._in_call:
            ticks = self._vocabulary.piece(token).count(_TICK)
            if not (ticks or self._inside):
                return
            following = self._state.deep_copy()
            left = following.try_consume_tokens([token]) != 1
            self._inside = not left and self._inside ^ (ticks % 2 == 1)
            # A quotation ends if another constraint forced something else.
            self._state = following if self._inside else self._first

    def fork(self) -> "QuotationConstraint":
        forked = QuotationConstraint.__new__(QuotationConstraint)
        forked.__dict__.update(self.__dict__)
        return forked

    def draft(self, most: int) -> list[int]:
        if not self._inside or self._in_call:
            return []
        text = self._state.compute_ff_bytes().decode("utf-8", "ignore")
        return self._vocabulary.tokenize(text, special=False)[:most] if text else []


class _OutsideTokens:
    """All tokens except those that begin an unknown quotation."""

    def __init__(self, state: "LLMatcher", vocabulary: Vocabulary) -> None:
        self._state = state
        self._vocabulary = vocabulary

    def passing(self, candidates: NDArray[np.int32]) -> NDArray[np.bool_]:
        return np.array([self._passes(token) for token in candidates.tolist()], np.bool_)

    def every(self) -> NDArray[np.int32]:
        return np.array([token for token in range(self._vocabulary.size) if self._passes(token)], np.int32)

    def _passes(self, token: int) -> bool:
        piece = self._vocabulary.piece(token)
        if _TICK not in piece or self._vocabulary.is_control(token):
            return True
        return self._state.validate_tokens([token]) == 1
