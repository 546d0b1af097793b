"""Constraints for tests: some token ids, and ones that fail."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from laguna_engine.constrain.base import FREE, Constraint, RowMask, Vocabulary


class Ids:
    """Allowed tokens that are known beforehand."""

    def __init__(self, tokens: Collection[int]) -> None:
        self._tokens = np.array(sorted(tokens), np.int32)

    def passing(self, candidates: np.ndarray) -> np.ndarray:
        return np.isin(candidates, self._tokens)

    def every(self) -> np.ndarray:
        return self._tokens


@dataclass(frozen=True)
class Only:
    """The first `rows` tokens of an answer are some of `tokens`.

    Attributes:
        least: share of the probability below which the rest of the answer is free.
        fails: what raises: "begin", "mask", "advance", "passing", or nothing.
    """

    tokens: frozenset[int]
    rows: int = 1 << 30
    least: float = 0.0
    fails: str = ""

    def begin(self, vocabulary: Vocabulary, prompt: Sequence[int]) -> Constraint:
        if self.fails == "begin":
            raise ValueError("a broken constraint")
        return OnlyConstraint(self, self.rows)


class OnlyConstraint(Constraint):
    def __init__(self, spec: Only, left: int) -> None:
        self._spec = spec
        self._left = left

    def mask(self) -> RowMask:
        if self._spec.fails == "mask":
            raise ValueError("a broken constraint")
        ids = Failing() if self._spec.fails == "passing" else Ids(self._spec.tokens)
        return RowMask(allowed=ids, least=self._spec.least) if self._left > 0 else FREE

    def advance(self, token: int) -> None:
        if self._spec.fails == "advance":
            raise ValueError("a broken constraint")
        self._left -= 1

    def fork(self) -> "OnlyConstraint":
        return OnlyConstraint(self._spec, self._left)

    def relax(self) -> None:
        self._left = 0


class Failing:
    def passing(self, candidates: np.ndarray) -> np.ndarray:
        raise ValueError("a broken constraint")

    def every(self) -> np.ndarray:
        raise ValueError("a broken constraint")
