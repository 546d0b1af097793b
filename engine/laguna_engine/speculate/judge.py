"""Which tokens of a draft stand, by the target's rows of the last decode and one request's sampling settings."""

import random
from collections.abc import Sequence

from laguna_engine.draft.drafter import Candidates, Draft
from laguna_engine.llama.context import Context
from laguna_engine.llama.readout import Wanted
from laguna_engine.llama.sampler import SamplerChain
from laguna_engine.sampling import Sampling
from laguna_engine.speculate.accept import accept, accept_by_ratio
from laguna_engine.speculate.filters import Distribution, draw, filtered, filtered_row


class Judge:
    """Judges the drafts of one request."""

    def __init__(self, context: Context, sampling: Sampling) -> None:
        self._context = context
        self._sampling = sampling
        self._random = random.Random(sampling.seed)

    @property
    def draws(self) -> bool:
        """Whether tokens are drawn at all, and not simply the likeliest ones taken."""
        return self._sampling.temperature > 0

    def choose(self, candidates: Candidates) -> int:
        """For a drafter that samples: the token it proposes, drawn by the request's own settings."""
        return draw(filtered(candidates, self._sampling), self._random.random())

    def accepted(self, draft: Draft, chain: SamplerChain, before: Sequence[int]) -> list[int]:
        """The tokens to commit: of a sampled draft by ratio, of any other by what `chain` picks at each row.

        before: the tokens committed so far, which penalties look at.
        """
        if draft.candidates is None:
            sample = self._context.sample
            return accept(draft.tokens, lambda row: sample(chain, row))
        proposals = [filtered(candidates, self._sampling) for candidates in draft.candidates]

        remembered = self._sampling.remembered
        recent = [*before[-remembered:], *draft.tokens] if remembered else []
        newest = len(recent) - len(draft.tokens)

        def target(row: int) -> Distribution:
            return self._target(row, recent[: newest + row])

        tokens = accept_by_ratio(draft.tokens, proposals, target, self._random.random)
        for token in tokens:
            chain.accept(token)
        return tokens

    def _target(self, row: int, recent: Sequence[int]) -> Distribution:
        """What the target draws from at a row."""
        if self._context.readout.wanted is Wanted.CANDIDATES:
            return filtered(Candidates(*self._context.candidates(row)), self._sampling, recent)
        return filtered_row(self._context.logits(row), self._sampling, recent)
