"""What stands between backticks in an answer, copied from texts that the model was given."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from laguna_engine.constrain.automaton import Enclosed, Parts
from laguna_engine.constrain.base import FREE, Constraint, RowMask, Vocabulary
from laguna_engine.constrain.grammar import GrammarState
from laguna_engine.constrain.sorted_texts import Prefix, Strings
from laguna_engine.constrain.texts import OneOf, Without
from laguna_engine.gguf.laguna import END_TOOL_CALL, TOOL_CALL

_TICK = b"`"
_QUOTED = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True, slots=True)
class Quotations:
    """Whatever the answer has between two backticks is one of some strings; tool calls and the rest are free.

    Attributes:
        strings: what may be quoted; none: no backtick is written.
    """

    strings: Strings

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Quotations | None":
        """What is between backticks in `texts`; None if that cannot be told: a line has an odd number of them."""
        found: list[str] = []
        for line in (line for text in texts for line in text.split("\n")):
            if line.count("`") % 2:
                return None
            found += _QUOTED.findall(line)
        return cls(Strings(each.encode("utf-8", "replace") for each in found))

    def begin(self, vocabulary: Vocabulary, _prompt: Sequence[int]) -> "QuotationConstraint":
        """See `ConstraintSpec`; the answer begins outside of backticks."""
        first = GrammarState(self._outside(), vocabulary, {})
        return QuotationConstraint(first, vocabulary)

    def _outside(self) -> Parts:
        return (Enclosed(Without(_TICK), [(_TICK, lambda _: self._inside())]),)

    def _inside(self) -> Parts:
        if not len(self.strings):
            return ()
        return (Enclosed(OneOf(Prefix.of(self.strings)), [(_TICK, lambda _: self._outside())]),)


class QuotationConstraint(Constraint):
    """Free text with quotations, and tool calls in it."""

    def __init__(self, first: GrammarState, vocabulary: Vocabulary) -> None:
        """Start outside of quotations and calls. first: that state."""
        self._vocabulary = vocabulary
        self._opens_call, self._closes_call = vocabulary.id_of(TOOL_CALL), vocabulary.id_of(END_TOOL_CALL)
        self._in_call = self._inside = False
        self._first = self._state = first
        self._outside = RowMask(allowed=_OutsideTokens(first, vocabulary), wide=True)

    def mask(self) -> RowMask:
        """See `Constraint`."""
        if self._in_call:
            return FREE
        return self._state.mask() if self._inside else self._outside

    def advance(self, token: int) -> None:
        """See `Constraint`."""
        if self._vocabulary.is_control(token):
            self._in_call = token == self._opens_call or (self._in_call and token != self._closes_call)
            self._state, self._inside = self._first, False
        elif not self._in_call:
            ticks = self._vocabulary.piece(token).count(_TICK)
            if not (ticks or self._inside):
                return
            self._inside ^= ticks % 2 == 1
            self._state = self._state.after(token)
            if not self._state.parts:
                # Another constraint forced something else.
                self._state, self._inside = self._first, False

    def fork(self) -> "QuotationConstraint":
        """See `Constraint`."""
        forked = QuotationConstraint.__new__(QuotationConstraint)
        forked.__dict__.update(self.__dict__)
        return forked

    def draft(self, most: int) -> list[int]:
        """See `Constraint`."""
        return self._state.draft(most) if self._inside and not self._in_call else []


class _OutsideTokens:
    """All tokens but those that begin a quotation wrongly."""

    def __init__(self, state: GrammarState, vocabulary: Vocabulary) -> None:
        self._parts = state.parts
        self._vocabulary = vocabulary

    def passing(self, candidates: NDArray[np.int32]) -> NDArray[np.bool_]:
        """See `AllowedTokens`."""
        return np.array([self._passes(token) for token in candidates.tolist()], np.bool_)

    def few(self) -> None:
        """See `AllowedTokens`: there are many."""
        return

    def every(self) -> NDArray[np.int32]:
        """See `AllowedTokens`."""
        return np.array([token for token in range(self._vocabulary.size) if self._passes(token)], np.int32)

    def _passes(self, token: int) -> bool:
        piece = self._vocabulary.piece(token)
        if _TICK not in piece or self._vocabulary.is_control(token):
            return True
        return any(part.allows(piece) for part in self._parts)
