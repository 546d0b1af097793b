"""The sampling settings applied to logits in numpy: the distribution that llama.cpp's chain would draw from.

Needed where a probability must be known and not only a token drawn: ratio rejection compares the target's with the
drafter's, both filtered alike. Order, arithmetic (float32) and edges follow `llama-sampler.cpp`; see
`laguna_engine.sampling` for the order. Logits that are no numbers give the first candidate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from laguna_engine.draft.drafter import Candidates

if TYPE_CHECKING:
    from laguna_engine.sampling import Sampling


@dataclass(frozen=True, slots=True)
class Distribution:
    """What a token is drawn from: `ids` (int32, each once) and their `probabilities` (float64, summing to 1)."""

    ids: NDArray[np.int32]
    probabilities: NDArray[np.float64]

    @classmethod
    def certain(cls, token: int) -> Distribution:
        """The distribution of a token that nothing else competes with."""
        return cls(np.array([token], np.int32), np.ones(1))

    def of(self, token: int) -> float:
        """The probability of `token`; 0 when it is not among the ids."""
        at = (self.ids == token).argmax()
        return float(self.probabilities[at]) if self.ids[at] == token else 0.0


def candidates_needed(sampling: Sampling) -> int | None:
    """How many of the likeliest tokens `filtered` needs for the same answer as from all of them; None for all.

    A penalty can push every remembered token below tokens that were outside the first `top_k`.
    """
    kept = 1 if sampling.temperature == 0 else sampling.top_k
    return kept + sampling.remembered if kept else None


def likeliest(logits: NDArray[np.float32], count: int | None = None) -> Candidates:
    """The `count` likeliest tokens of a row of logits, [vocabulary]; None gives all. The row is left alone."""
    size = len(logits) if count is None else min(count, len(logits))
    kept = np.argpartition(logits, -size)[-size:]
    ids = kept[np.argsort(-logits[kept], kind="stable")]
    return Candidates(ids.astype(np.int32), logits[ids])


def filtered(candidates: Candidates, sampling: Sampling, recent: Sequence[int] = ()) -> Distribution:
    """The distribution that `sampling` draws from, likeliest first.

    candidates: as many as `candidates_needed` says. recent: the tokens committed before, newest last; the penalty looks
    at the last `sampling.remembered` of them.
    """
    ids, logits = candidates.ids, candidates.logits
    if sampling.remembered and len(recent):
        ids, logits = _penalize(ids, logits, sampling.repeat_penalty, recent[-sampling.remembered :])
    if sampling.temperature == 0:
        # Among equals llama.cpp takes the lowest id.
        return Distribution.certain(int(ids[logits == logits[0]].min(initial=ids[0])))
    if sampling.top_k:
        ids, logits = ids[: sampling.top_k], logits[: sampling.top_k]
    kept = _min_p(logits[: _top_p(ids, logits, sampling)], sampling.min_p)
    weights = _weights(logits[:kept] / np.float32(sampling.temperature)).astype(np.float64)
    total = weights.sum()
    if not (np.isfinite(total) and total > 0):
        return Distribution.certain(int(ids[0]))
    return Distribution(ids[:kept], weights / total)


def residual(wanted: Distribution, proposal: Distribution) -> Distribution:
    """Where a rejected token's replacement comes from: max(wanted - proposal, 0), made to sum to 1.

    When rounding leaves nothing of it the two were the same, and so is the residual.
    """
    table = np.zeros(max(int(wanted.ids.max()), int(proposal.ids.max())) + 1)
    table[proposal.ids] = proposal.probabilities
    left = wanted.probabilities - table[wanted.ids]
    np.maximum(left, 0, out=left)
    total = left.sum()
    return Distribution(wanted.ids, left / total) if total > 0 else wanted


def draw(distribution: Distribution, number: float) -> int:
    """The token that `number`, from 0 to 1, stands for; never one of probability 0."""
    sums = distribution.probabilities.cumsum()
    total = float(sums[-1])
    at = sums.searchsorted(min(number * total, np.nextafter(total, 0)), "right")
    return int(distribution.ids[at])


def _penalize(
    ids: NDArray[np.int32], logits: NDArray[np.float32], penalty: float, recent: Sequence[int]
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Both, with the seen tokens' logits lowered, likeliest first again."""
    seen = np.isin(ids, list(set(recent)))
    factor = np.float32(penalty)
    lowered = np.where(logits <= 0, logits * factor, logits / factor)
    logits = np.where(seen, lowered, logits)
    order = np.argsort(-logits, kind="stable")
    return ids[order], logits[order]


def _top_p(ids: NDArray[np.int32], logits: NDArray[np.float32], sampling: Sampling) -> int:
    """How many to keep for their probabilities to add up to `sampling.top_p`, in float32 and one by one.

    Before that llama.cpp adds up all of them, and has sorted them only where there is a top-k.
    """
    if sampling.top_p >= 1:
        return len(logits)
    weights = _weights(logits)
    total = np.cumsum(weights if sampling.top_k else weights[np.argsort(ids)])[-1]
    enough = np.flatnonzero(np.cumsum(weights / total) >= np.float32(sampling.top_p))
    return int(enough[0]) + 1 if len(enough) else len(logits)


def _min_p(logits: NDArray[np.float32], share: float) -> int:
    """How many are at least `share` times as likely as the first, and the first."""
    if share <= 0:
        return len(logits)
    return max(1, int((logits >= logits[0] + np.log(np.float32(share))).sum()))


def _weights(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """What the probabilities are proportional to; the best has 1, so that nothing overflows."""
    with np.errstate(invalid="ignore"):
        # numpy's own float32 exponential is less exact than the C library's.
        weights: NDArray[np.float32] = np.exp((logits - logits.max()).astype(np.float64)).astype(np.float32)
    return weights
