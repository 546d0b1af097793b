"""How a row of logits is sampled under a mask: mask first, the chain's filters after.

A chain that keeps the k likeliest tokens is to keep the k likeliest of those allowed, so that inside the allowed set
the distribution is the model's own. The tokens that are read anyway are tested first, likeliest first; if all are
allowed nothing else is read. Otherwise the row's logits are read as a whole, from where the graph left them: the graph
never changes for a constraint. Of them only a few are looked at in Python: those that the constraint lists, or the
likeliest of the row.
"""

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from laguna_engine.constrain.base import ConstraintError, Constraints, RowMask
from laguna_engine.llama.sampler import CANDIDATE, SamplerChain

_TESTED = 256
"""Likeliest tokens of a whole row that are tested before all allowed ones are asked for."""

_SPARE = 64
"""More tokens than a chain needs that are tested at least."""

_Result = TypeVar("_Result")


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
    logits = whole_row()
    wanted = None if likeliest is None else len(likeliest)
    tokens = _allowed(mask, logits, wanted)
    if not len(tokens) or (mask.least and not _share(logits, tokens) >= mask.least):
        return None
    if wanted is not None:
        tokens = _ordered(tokens, logits, wanted)
    candidates = np.zeros(len(tokens), CANDIDATE)
    candidates["id"], candidates["logit"] = tokens, logits[tokens]
    return candidates


def _allowed(mask: RowMask, logits: NDArray[np.float32], wanted: int | None) -> NDArray[np.int32]:
    """Enough of the allowed tokens: the `wanted` likeliest at least, and the share that the mask asks for."""
    few = None if mask.allowed is None else _asked(mask.allowed.few)
    if few is not None:
        return _without_banned(mask, few)
    if wanted is not None:
        tested = _likeliest(logits, max(_TESTED, wanted + _SPARE))
        passing = tested[_passing(mask, tested)]
        if len(passing) >= wanted and (not mask.least or _share(logits, passing) >= mask.least):
            return passing
    every = np.arange(len(logits), dtype=np.int32) if mask.allowed is None else _asked(mask.allowed.every)
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
    if count >= len(logits):
        return _ordered(np.arange(len(logits), dtype=np.int32), logits, count)
    least = np.partition(logits, -count)[-count]
    return _ordered(np.flatnonzero(logits >= least).astype(np.int32), logits, count)


def _ordered(tokens: NDArray[np.int32], logits: NDArray[np.float32], count: int) -> NDArray[np.int32]:
    """The `count` likeliest of `tokens`, likeliest first, as by llama.cpp's own top-k; ties go to the lower id."""
    values = logits[tokens]
    if len(tokens) > _TESTED + count:
        kept = values >= np.partition(values, -count)[-count]
        tokens, values = tokens[kept], values[kept]
    ordered: NDArray[np.int32] = tokens[np.lexsort((tokens, -values))][:count]
    return ordered


def _share(logits: NDArray[np.float32], tokens: NDArray[np.int32]) -> float:
    """The share of the probability that `tokens` hold, at temperature 1."""
    powers = np.exp(logits - logits.max())
    return float(powers[tokens].sum() / powers.sum())


def _asked(call: Callable[[], _Result]) -> _Result:
    """What a constraint answers; ConstraintError if it fails."""
    try:
        return call()
    except Exception as error:
        raise ConstraintError(str(error)) from error
