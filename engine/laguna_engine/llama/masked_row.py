"""How a row of logits is sampled under a mask: mask first, the chain's filters after.

A chain that keeps the k likeliest tokens is to keep the k likeliest of those allowed, so that inside the allowed set
the distribution is the model's own. The tokens that are read anyway are tested first, likeliest first; if all are
allowed nothing else is read. Otherwise the row's logits are read as a whole, from where the graph left them: the graph
never changes for a constraint. Of them only the likeliest are looked at in Python, as long as enough of those
are allowed.
"""

from collections.abc import Callable
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from laguna_engine.constrain.base import FREE, ConstraintError, Constraints, RowMask
from laguna_engine.llama.sampler import CANDIDATE, SamplerChain

_TESTED = 256
"""Likeliest tokens of a whole row that are tested before all allowed ones are asked for."""

_FIRST = 16
"""More tokens than a chain needs that are tested first; mostly they are enough."""

_SPARE = 64
"""More tokens than a chain needs that are tested at least."""

_GROUP = 32
"""Tokens in a group: the n-th highest maximum of a row's groups is a lower bound for its n likeliest tokens."""

_Result = TypeVar("_Result")


def sample(
    chain: SamplerChain,
    constraints: Constraints,
    free: Callable[[], int],
    likeliest: Callable[[], NDArray[np.void] | None],
    whole_row: Callable[[], NDArray[np.float32]],
) -> int:
    """Sample a token as `constraints` allow, accept it, and tell them.

    Args:
        chain: the sampler chain.
        constraints: what the token may be.
        free: samples from the row as if there were none.
        likeliest: the tokens that the chain needs of a free row, likeliest first, `CANDIDATE` [k]; None for all.
        whole_row: reads all logits of the row, float32 [vocabulary].
    """
    mask = constraints.mask()
    while mask is not FREE and mask.forced is None:
        picked = pick(chain, constraints, mask, likeliest(), whole_row)
        if picked is not None:
            constraints.sampled(picked, mask)
            return picked
        mask = constraints.mask()
    if mask.forced is None:
        token = free()
    else:
        chain.force(token := mask.forced)
    constraints.sampled(token, mask)
    return token


def pick(
    chain: SamplerChain,
    constraints: Constraints,
    mask: RowMask,
    likeliest: NDArray[np.void] | None,
    whole_row: Callable[[], NDArray[np.float32]],
) -> int | None:
    """The token that `chain` selects from a row under `mask`, and accepts.

    None if the row allows nothing, or what it allows holds too little of the probability, or a constraint failed: the
    constraints were told, and their next mask is another one.

    Args:
        chain: the sampler chain.
        constraints: what `mask` is from.
        mask: neither free nor forced.
        likeliest: the tokens that the chain needs of a free row, likeliest first, `CANDIDATE` [k]; None for all.
        whole_row: reads all logits of the row, float32 [vocabulary].
    """
    try:
        candidates = _candidates(mask, likeliest, whole_row)
    except ConstraintError as error:
        constraints.fail(error)
        return None
    if candidates is None:
        constraints.let_go()
        return None
    return chain.choose(candidates, likeliest_first=likeliest is not None)


def _candidates(
    mask: RowMask, likeliest: NDArray[np.void] | None, whole_row: Callable[[], NDArray[np.float32]]
) -> NDArray[np.void] | None:
    """What the chain selects from; None if that is nothing, or too little of the probability."""
    if likeliest is not None and not mask.least and _passing(mask, likeliest["id"]).all():
        return likeliest
    row = _Row(whole_row())
    wanted = None if likeliest is None else len(likeliest)
    tokens = _allowed(mask, row, wanted)
    if not len(tokens) or not row.holds(tokens, mask.least):
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

    def holds(self, tokens: NDArray[np.int32], least: float) -> bool:
        """Whether `tokens` hold this share of the probability, at temperature 1."""
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
    """Enough of the allowed tokens: the `wanted` likeliest at least, and the share that the mask asks for."""
    if wanted is not None:
        tested = _likeliest(row.logits, max(_TESTED, wanted + _SPARE))
        passing = tested[:0]
        for part in (tested[: wanted + _FIRST], tested[wanted + _FIRST :]):
            passing = np.append(passing, part[_passing(mask, part)])
            if len(passing) >= wanted and row.holds(passing, mask.least):
                return passing
    every = np.arange(len(row.logits), dtype=np.int32) if mask.allowed is None else _asked(mask.allowed.every)
    return _without_banned(mask, every)


def _passing(mask: RowMask, tokens: NDArray[np.int32]) -> NDArray[np.bool_]:
    allowed = mask.allowed
    passing = np.ones(len(tokens), np.bool_) if allowed is None else _asked(lambda: allowed.passing(tokens))
    for token in mask.banned:
        passing = passing & (tokens != token)
    return passing


def _without_banned(mask: RowMask, tokens: NDArray[np.int32]) -> NDArray[np.int32]:
    return tokens[~np.isin(tokens, list(mask.banned))] if mask.banned else tokens


def _likeliest(logits: NDArray[np.float32], count: int) -> NDArray[np.int32]:
    """The `count` likeliest tokens, likeliest first; ties go to the lower id."""
    groups = len(logits) // _GROUP
    if groups <= count:
        return _ordered(np.arange(len(logits), dtype=np.int32), logits, count)
    # That many groups have a token that is at least so likely, so the likeliest are among those that are.
    best = logits[: groups * _GROUP].reshape(_GROUP, groups).max(axis=0)
    least = np.partition(best, -count)[-count]
    return _ordered(np.flatnonzero(logits >= least).astype(np.int32), logits, count)


def _ordered(tokens: NDArray[np.int32], logits: NDArray[np.float32], count: int) -> NDArray[np.int32]:
    """The `count` likeliest of `tokens`, likeliest first, as by llama.cpp's own top-k; ties go to the lower id."""
    values = logits[tokens]
    if len(tokens) > _TESTED + count:
        kept = values >= np.partition(values, -count)[-count]
        tokens, values = tokens[kept], values[kept]
    ordered: NDArray[np.int32] = tokens[np.lexsort((tokens, -values))][:count]
    return ordered


def _asked(call: Callable[[], _Result]) -> _Result:
    """What a constraint answers; ConstraintError if it fails."""
    try:
        return call()
    except Exception as error:
        raise ConstraintError(str(error)) from error
