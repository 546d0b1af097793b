"""Do the weights give numbers, and do the taps inside the graph say what a callback on every node says?

Asked once, when a model is opened: weights with NaN or infinity in them would only show as answers without a word. The
hook is an experimental API of llama.cpp's, and a wrong feature would only show as drafts that never stand.
"""

from contextlib import closing
from dataclasses import replace

import numpy as np

from laguna_engine.errors import ContextError, EngineError
from laguna_engine.llama.callback_taps import CallbackTaps
from laguna_engine.llama.context import Context
from laguna_engine.llama.context_params import ContextOptions, DecodeStatus, Outputs
from laguna_engine.llama.model import Model
from laguna_engine.llama.sampler import LOGITS, Greedy, SamplerChain
from laguna_engine.llama.taps import Taps, TargetShape

_TOKENS = 8
_SMALL = 256
"""Tokens that the second context holds: the smallest there is."""

_TOLERANCE = 1e-3
"""Normalised mean square error: on the same kernels it is 0; with a wrong layer or row it is near 1."""


def gives_numbers(context: Context, vocabulary: int) -> bool:
    """Whether every logit behind a few tokens is finite. `context` must be empty, and is left so."""
    context.read_out(LOGITS)
    count = min(_TOKENS, context.n_ubatch, context.n_batch)
    # At least two: in strict mode no token is computed alone.
    if context.decode(_spread(vocabulary)[:count], 0) is not DecodeStatus.OK:
        raise ContextError("the model could not be tried; the computation was stopped")
    context.synchronize()
    finite = bool(np.isfinite(context.logits()).all())
    # Cheaper than `clear`, which overwrites the whole cache.
    context.remove(0)
    return finite


def hook_is_right(model: Model, options: ContextOptions, context: Context, taps: Taps) -> bool:
    """Whether `taps`, those of `context`, agree with a callback's. `context` must be empty, and is left so."""
    try:
        with closing(SamplerChain([Greedy()], model.vocab.size)) as chain:
            found, best = _tapped(context, taps, chain, model.vocab.size)
            context.clear()
            shape = TargetShape(model.n_embd, model.n_layer)
            twin_taps = CallbackTaps(taps.layers, shape, _TOKENS, _TOKENS)
            small = replace(options, n_ctx=_SMALL, n_batch=_TOKENS, n_ubatch=_TOKENS)
            with closing(Context(model, small, twin_taps)) as twin:
                expected, wanted = _tapped(twin, twin_taps, chain, model.vocab.size)
    except EngineError:
        return False
    # Two best tokens may be equally good up to rounding.
    return bool(_error(found, expected) < _TOLERANCE and (best == wanted).mean() >= 0.75)


def _tapped(
    context: Context, taps: Taps | CallbackTaps, chain: SamplerChain, vocabulary: int
) -> tuple[np.ndarray, np.ndarray]:
    """Features and best tokens of a few tokens spread over the vocabulary."""
    if context.decode(_spread(vocabulary), 0, Outputs.ALL) is not DecodeStatus.OK:
        raise EngineError("the taps could not be compared; the computation was stopped")
    context.synchronize()
    best = np.array([context.sample(chain, row) for row in range(_TOKENS)])
    features = taps.features
    return (np.zeros((1, 1)) if features is None else features.read()[:_TOKENS]), best


def _spread(vocabulary: int) -> list[int]:
    """A few tokens spread over the vocabulary."""
    return [vocabulary * (2 * place + 1) // (2 * _TOKENS) for place in range(_TOKENS)]


def _error(found: np.ndarray, expected: np.ndarray) -> float:
    scale = float((expected**2).sum())
    return float(((found - expected) ** 2).sum()) / scale if scale else 0.0
