"""Samples a row of logits under a mask: the mask first, the chain's filters after.

A chain that keeps the k most likely tokens must keep the k most likely of those allowed, so that inside the allowed
set the distribution is the model's own. The tokens that are read anyway are tested first, most likely first; if all are
allowed nothing else is read. Otherwise the row's logits are read as a whole, from where the graph left them: the graph
never changes for a constraint. Only the most likely of them are tested in Python, as long as enough of those are
allowed.
"""

from collections.abc import Callable
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from laguna_engine.constrain.base import ConstraintError, Constraints, RowMask
from laguna_engine.llama.sampler import CANDIDATE, SamplerChain

_TESTED = 256
"""Most likely tokens of a whole row that are tested before all allowed ones are listed."""

_FIRST = 16
"""More tokens than a chain needs that are tested first; mostly they are enough."""

_SPARE = 64
"""More tokens than a chain needs that are tested at least."""

_GROUP = 32
"""Tokens in a group: the n-th highest maximum of a row's groups is a lower bound for its n most likely tokens."""

_Result = TypeVar("_Result")


def pick(
    chain: SamplerChain,
    constraints: Constraints,
    mask: RowMask,
    top: NDArray[np.void] | None,
    whole_row: Callable[[], NDArray[np.float32]],
) -> int | None:
    """Return the token that `chain` selects from a row under `mask`, and accepts.

    None if the row allows nothing, or what it allows has too little of the probability, or a constraint failed: that is
    reported to the constraints, whose next mask is another one.

    Args:
        chain: the sampler chain.
        constraints: what `mask` is from.
        mask: neither free nor forced.
        top: the tokens that the chain needs of a free row, most likely first, `CANDIDATE` [k]; None for all.
        whole_row: reads all logits of the row, float32 [vocabulary].
    """
    try:
        candidates = _candidates(mask, top, whole_row)
    except ConstraintError as error:
        constraints.fail(error)
        return None
    if candidates is None:
        constraints.relax()
        return None
    return chain.choose(candidates, is_sorted=top is not None)


def _candidates(
    mask: RowMask, top: NDArray[np.void] | None, whole_row: Callable[[], NDArray[np.float32]]
) -> NDArray[np.void] | None:
    """Return what the chain selects from; None if that is nothing, or too little of the probability."""
    if top is not None and not mask.least and _passing(mask, top["id"]).all():
        return top
    row = _Row(whole_row())
    wanted = None if top is None else len(top)
    tokens = _allowed(mask, row, wanted)
    if not len(tokens) or not row.has_share(tokens, mask.least):
        return None
    if wanted is not None:
        tokens = _ordered(tokens, row.logits, wanted)
    candidates = np.zeros(len(tokens), CANDIDATE)
    candidates["id"], candidates["logit"] = tokens, row.logits[tokens]
    return candidates


class _Row:
    """All logits of a row, float32 [vocabulary]."""

    def __init__(self, logits: NDArray[np.float32]) -> None:
        self.logits = logits

    def has_share(self, tokens: NDArray[np.int32], least: float) -> bool:
        """Return whether `tokens` have this share of the probability, at temperature 1."""
        if not least:
            return True
        best, total = self._total
        return float(np.exp(self.logits[tokens] - best).sum()) >= least * total

    @cached_property
    def _total(self) -> tuple[np.float32, float]:
        """The largest logit, and the sum of all powers relative to it."""
        best = self.logits.max()
        powers = self.logits - best
        return best, float(np.exp(powers, out=powers).sum())


def _allowed(mask: RowMask, row: _Row, wanted: int | None) -> NDArray[np.int32]:
    """Return enough of the allowed tokens: at least the `wanted` most likely, and the share that the mask requires."""
    if wanted is not None:
        tested = _most_likely(row.logits, max(_TESTED, wanted + _SPARE))
        passing = tested[:0]
        for part in (tested[: wanted + _FIRST], tested[wanted + _FIRST :]):
            passing = np.append(passing, part[_passing(mask, part)])
            if len(passing) >= wanted and row.has_share(passing, mask.least):
                return passing
    every = np.arange(len(row.logits), dtype=np.int32) if mask.allowed is None else _call(mask.allowed.every)
    return every[~np.isin(every, list(mask.banned))] if mask.banned else every


def _passing(mask: RowMask, tokens: NDArray[np.int32]) -> NDArray[np.bool_]:
    allowed = mask.allowed
    passing = np.ones(len(tokens), np.bool_) if allowed is None else _call(lambda: allowed.passing(tokens))
    for token in mask.banned:
        passing = passing & (tokens != token)
    return passing


def _most_likely(logits: NDArray[np.float32], count: int) -> NDArray[np.int32]:
    """Return the `count` most likely tokens, most likely first; ties go to the lower id."""
    groups = len(logits) // _GROUP
    if groups <= count:
        return _ordered(np.arange(len(logits), dtype=np.int32), logits, count)
    # That many groups have a token at least this likely, so the most likely tokens are among those that are.
    best = logits[: groups * _GROUP].reshape(_GROUP, groups).max(axis=0)
    least = np.partition(best, -count)[-count]
    return _ordered(np.flatnonzero(logits >= least).astype(np.int32), logits, count)


def _ordered(tokens: NDArray[np.int32], logits: NDArray[np.float32], count: int) -> NDArray[np.int32]:
    """Return the `count` most likely of `tokens`, sorted as by llama.cpp's own top-k; ties go to the lower id."""
    values = logits[tokens]
    if len(tokens) > _TESTED + count:
        kept = values >= np.partition(values, -count)[-count]
        tokens, values = tokens[kept], values[kept]
    ordered: NDArray[np.int32] = tokens[np.lexsort((tokens, -values))][:count]
    return ordered


def _call(call: Callable[[], _Result]) -> _Result:
    """Return what a constraint answers; ConstraintError if it fails."""
    try:
        return call()
    except Exception as error:
        raise ConstraintError(str(error)) from error
