"""Drafters whose drafts are known beforehand, and how an engine is made to use them."""

import random
from collections.abc import Sequence

from laguna_engine.draft.base import Draft, Drafter, Kind, Offer
from laguna_engine.draft.suffix import SuffixDrafter
from laguna_engine.engine import Engine
from laguna_engine.speculate.draft_policy import DraftPolicy
from laguna_engine.speculate.speculator import Speculator


class Oracle(Drafter):
    """Knows the whole text, and drafts each token of it rightly with a probability of `accuracy`."""

    source = SuffixDrafter.source

    def __init__(self, text: Sequence[int], n_vocab: int, accuracy: float, longest: int = 16, seed: int = 1) -> None:
        self._text = text
        self._n_vocab = n_vocab
        self._accuracy = accuracy
        self._longest = longest
        self._random = random.Random(seed)
        self._length = 0

    def extend(self, tokens: Sequence[int]) -> None:
        self._length += len(tokens)

    def truncate(self, length: int) -> None:
        self._length = min(self._length, length)

    def offer(self) -> Offer | None:
        return Offer(self.source, Kind("oracle"), self._longest)

    def draft(self, length: int) -> Draft:
        coming = list(self._text[self._length : self._length + length])
        coming += [0] * (length - len(coming))
        return Draft([token if self._random.random() < self._accuracy else self._wrong(token) for token in coming])

    def _wrong(self, token: int) -> int:
        return (token + 1 + self._random.randrange(self._n_vocab - 1)) % self._n_vocab


def use(engine: Engine, drafter: Drafter) -> DraftPolicy:
    """Have `engine` draft with `drafter` alone; returns who chooses the lengths."""
    policy = DraftPolicy()
    engine._sequence.observers.clear()
    engine._speculator = Speculator(engine._sequence, [drafter], policy)
    return policy


def use_again(engine: Engine, speculator: Speculator) -> None:
    """Have `engine` draft as it did before another drafter was used."""
    engine._sequence.observers.clear()
    speculator.truncated(0)
    engine._sequence.attach(speculator)
    engine._speculator = speculator
