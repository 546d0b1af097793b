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


_BINS, _BINS_A_UNIT = 2048, 64
"""Steps of logits, from the best one down, by which top-p finds what to sort; the last holds all that is below."""


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
    """The `count` likeliest tokens of a row of logits, [vocabulary]; None gives all. The row is left alone.

    Of equals the lowest ids come first.
    """
    if count is None or count >= len(logits):
        return _sorted(np.arange(len(logits)), logits)
    least = np.partition(logits, -count)[-count]
    above, equal = np.flatnonzero(logits > least), np.flatnonzero(logits == least)
    return _sorted(np.concatenate((above, equal[: count - len(above)])), logits)


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


def filtered_row(logits: NDArray[np.float32], sampling: Sampling, recent: Sequence[int] = ()) -> Distribution:
    """The distribution that `sampling` draws from, given a row of logits, [vocabulary], which is left alone.

    What `filtered` says of all its tokens, in the order of the ids if all of them are kept. Only what passes the
    filters is sorted: all of 100,000 takes 10 ms.
    """
    count = candidates_needed(sampling)
    if count is not None:
        return filtered(likeliest(logits, count), sampling, recent)
    if sampling.remembered and len(recent):
        ids = np.arange(len(logits), dtype=np.int32)
        logits = _penalized(ids, logits, sampling.repeat_penalty, recent[-sampling.remembered :])
    if not np.isfinite(logits.max()):
        return filtered(likeliest(logits), sampling)
    candidates = _unsorted_min_p(logits, sampling.min_p)
    if sampling.top_p < 1:
        candidates = _unsorted_top_p(logits, candidates, sampling.top_p)
    weights = _weights(candidates.logits / np.float32(sampling.temperature)).astype(np.float64)
    return Distribution(candidates.ids, weights / weights.sum())


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
    logits = _penalized(ids, logits, penalty, recent)
    order = np.argsort(-logits, kind="stable")
    return ids[order], logits[order]


def _penalized(
    ids: NDArray[np.int32], logits: NDArray[np.float32], penalty: float, recent: Sequence[int]
) -> NDArray[np.float32]:
    """A copy of `logits`, with those of the seen tokens lowered."""
    seen = np.isin(ids, list(set(recent)))
    factor = np.float32(penalty)
    logits = logits.copy()
    logits[seen] = np.where(logits[seen] <= 0, logits[seen] * factor, logits[seen] / factor)
    return logits


def _sorted(ids: NDArray[np.intp], logits: NDArray[np.float32]) -> Candidates:
    """Those `ids`, ascending among equals, likeliest first; logits: of the whole vocabulary."""
    ids = ids[np.argsort(-logits[ids], kind="stable")]
    return Candidates(ids.astype(np.int32), logits[ids])


def _unsorted_min_p(logits: NDArray[np.float32], share: float) -> Candidates:
    """What `_min_p` keeps of a whole row, ids ascending."""
    if share <= 0:
        return Candidates(np.arange(len(logits), dtype=np.int32), logits)
    kept = np.flatnonzero(logits >= logits.max() + np.log(np.float32(share)))
    return Candidates(kept.astype(np.int32), logits[kept])


def _unsorted_top_p(logits: NDArray[np.float32], among: Candidates, share: float) -> Candidates:
    """The first of `among`, which begins with the likeliest of the row, whose probabilities add up to `share`.

    Probabilities are shares of the whole row. Sorts no more than a step of logits beyond what is kept, unless rounding
    leaves less than `share` there.
    """
    weights = _weights(logits)
    total = np.cumsum(weights)[-1]
    steps = np.minimum((logits.max() - among.logits) * _BINS_A_UNIT, _BINS - 1).astype(np.intp)
    sums = np.bincount(steps, weights[among.ids], _BINS).cumsum()
    for last in (sums.searchsorted(share * float(total)), _BINS - 1):
        first = _sorted(np.flatnonzero(steps <= last), among.logits)
        enough = np.flatnonzero(np.cumsum(weights[among.ids[first.ids]] / total) >= np.float32(share))
        if len(enough):
            break
    kept = int(enough[0]) + 1 if len(enough) else len(first.ids)
    return Candidates(among.ids[first.ids[:kept]], first.logits[:kept])


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
