"""Checks on opening a model: its logits are finite, and the graph hook's taps agree with those of the eval callback.

Weights with NaN or infinity would otherwise only show as empty answers. The hook is an experimental API of llama.cpp,
and wrong features would only show as drafts that are never accepted.
"""

from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np

from laguna_engine.config import GREEDY
from laguna_engine.errors import ContextError, EngineError
from laguna_engine.llama.context import Context, ContextOptions, DecodeStatus, Outputs
from laguna_engine.llama.model import Model
from laguna_engine.llama.sampler import LOGITS, SamplerChain
from laguna_engine.llama.taps import CallbackTaps, Taps, TargetShape

_TOKENS = 8
_SMALL = 256
"""Tokens of the second context, the smallest possible."""

_TOLERANCE = 1e-3
"""Normalised mean square error: 0 on the same kernels, near 1 for a wrong layer or row."""


def gives_numbers(context: Context, vocabulary: int) -> bool:
    """Return whether all logits after a few tokens are finite. `context` must be empty and is left empty."""
    context.read_out(LOGITS)
    count = min(_TOKENS, context.n_ubatch, context.n_batch)
    # At least two: in strict mode no token is decoded alone.
    if context.decode(_spread(vocabulary)[:count], 0) is not DecodeStatus.OK:
        raise ContextError("the model could not be tested; the computation was stopped")
    context.synchronize()
    finite = bool(np.isfinite(context.logits()).all())
    # Cheaper than `clear`, which overwrites the whole cache.
    context.remove(0)
    return finite


@dataclass(frozen=True, slots=True)
class TapsAgreement:
    """Taps of the graph hook beside those of the eval callback.

    Attributes:
        error: normalised mean square error of the hidden states; 0 without any tapped layer.
        same: rows whose best token is the same.
        rows: rows compared.
    """

    error: float
    same: int
    rows: int

    @property
    def right(self) -> bool:
        """Whether they agree; the two best tokens of a row may be equal up to rounding."""
        return self.error < _TOLERANCE and self.same >= 0.75 * self.rows


def compare_taps(model: Model, options: ContextOptions, context: Context, taps: Taps) -> TapsAgreement:
    """Compare `taps`, those of `context`, with the eval callback's. `context` must be empty and is left empty.

    Raises:
        EngineError: one of them could not be computed.
    """
    with closing(SamplerChain(GREEDY, model.vocab.size)) as chain:
        found, best = _tapped(context, taps, chain, model.vocab.size)
        context.clear()
        shape = TargetShape(model.n_embd, model.n_layer)
        twin_taps = CallbackTaps(taps.layers, shape, _TOKENS, _TOKENS)
        small = replace(options, n_ctx=_SMALL, n_batch=_TOKENS, n_ubatch=_TOKENS, rollback=0)
        with closing(Context(model, small, twin_taps)) as twin:
            expected, wanted = _tapped(twin, twin_taps, chain, model.vocab.size)
    return TapsAgreement(_error(found, expected), int((best == wanted).sum()), _TOKENS)


def hook_is_right(model: Model, options: ContextOptions, context: Context, taps: Taps) -> bool:
    """Return whether `taps`, those of `context`, agree with the eval callback's.

    `context` must be empty and stays empty.
    """
    try:
        return compare_taps(model, options, context, taps).right
    except EngineError:
        return False


def _tapped(
    context: Context, taps: Taps | CallbackTaps, chain: SamplerChain, vocabulary: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return features and best tokens of a few tokens spread over the vocabulary."""
    if context.decode(_spread(vocabulary), 0, Outputs.ALL) is not DecodeStatus.OK:
        raise EngineError("the taps could not be compared; the computation was stopped")
    context.synchronize()
    best = np.array([context.sample(chain, row) for row in range(_TOKENS)])
    features = taps.features
    return (np.zeros((1, 1)) if features is None else features.read()[:_TOKENS]), best


def _spread(vocabulary: int) -> list[int]:
    return [vocabulary * (2 * place + 1) // (2 * _TOKENS) for place in range(_TOKENS)]


def _error(found: np.ndarray, expected: np.ndarray) -> float:
    scale = float((expected**2).sum())
    return float(((found - expected) ** 2).sum()) / scale if scale else 0.0
