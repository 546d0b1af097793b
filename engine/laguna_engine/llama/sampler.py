"""A sampling chain: an ordered list of stages, each a value, turned into llama.cpp's samplers.

Every chain ends in exactly one stage that picks (`Distribution` or `Greedy`): llama.cpp aborts on a chain that does
not, so it is refused here.
"""

import ctypes
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy
from numpy.typing import NDArray

from laguna_engine.errors import RequestError
from laguna_engine.native.library import lib
from laguna_engine.native.structs import SamplerHandle, TokenData, TokenDataArray

MAX_SEED = 0xFFFF_FFFE
"""The largest usable seed; 0xFFFFFFFF is llama.cpp's word for "a random one"."""

CANDIDATE = numpy.dtype([("id", numpy.int32), ("logit", numpy.float32), ("p", numpy.float32)])
"""`llama_token_data`, in numpy."""

MAX_LAST_N = 1 << 20
"""llama.cpp sets aside this many tokens at once; no context is longer."""

MAX_K = 2**31 - 1
"""llama.cpp counts in 32 bits."""


@dataclass(frozen=True, slots=True)
class Penalties:
    """Make the last `last_n` tokens less likely.

    Their positive logits are divided by `repeat`; `frequency` is subtracted per use, `presence` once.
    """

    last_n: int
    repeat: float = 1.0
    frequency: float = 0.0
    presence: float = 0.0


@dataclass(frozen=True, slots=True)
class TopK:
    """Keep the `k` most likely tokens; 0 keeps all."""

    k: int


@dataclass(frozen=True, slots=True)
class TopP:
    """Keep the most likely tokens until their probabilities add up to `p`."""

    p: float


@dataclass(frozen=True, slots=True)
class MinP:
    """Keep tokens at least `p` times as likely as the most likely one."""

    p: float


@dataclass(frozen=True, slots=True)
class Temperature:
    """Divide the logits by `t`; 0 keeps only the best."""

    t: float


@dataclass(frozen=True, slots=True)
class Distribution:
    """Pick at random from what is left, reproducibly for one `seed`."""

    seed: int


@dataclass(frozen=True, slots=True)
class Greedy:
    """Pick the most likely token."""


Stage = Penalties | TopK | TopP | MinP | Temperature | Distribution | Greedy

_KEEP_AT_LEAST = 1
"""No stage may leave nothing to pick from."""


class SamplerChain:
    """The native chain; not thread-safe, used on the engine thread only."""

    def __init__(self, stages: Sequence[Stage], n_vocab: int) -> None:
        """Build the chain for a vocabulary of `n_vocab` tokens; RequestError for values that cannot be meant."""
        _check_order(stages)
        for stage in stages:
            _check_values(stage)
        self._handle: SamplerHandle = lib.llama_sampler_chain_init(lib.llama_sampler_chain_default_params())
        for stage in stages:
            lib.llama_sampler_chain_add(self._handle, _native(stage, n_vocab))

    @property
    def handle(self) -> SamplerHandle:
        """The native chain, for `Context.sample`."""
        return self._handle

    def reset(self) -> None:
        """Forget the tokens seen (penalties) and start the random sequence again."""
        lib.llama_sampler_reset(self._handle)

    def accept(self, token: int) -> None:
        """Tell the chain about a token it did not sample itself."""
        lib.llama_sampler_accept(self._handle, token)

    def choose(self, candidates: NDArray[numpy.void]) -> int:
        """Pick one of `candidates` (`CANDIDATE` [n], likeliest first) and remember it; their order may change."""
        data = ctypes.cast(candidates.ctypes.data, ctypes.POINTER(TokenData))
        array = TokenDataArray(data, len(candidates), -1, True)
        lib.llama_sampler_apply(self._handle, array)
        token: int = array.data[array.selected].id
        lib.llama_sampler_accept(self._handle, token)
        return token

    def close(self) -> None:
        """Free the chain and its stages; harmless when repeated."""
        if self._handle:
            lib.llama_sampler_free(self._handle)
            self._handle.value = None


def _check_order(stages: Sequence[Stage]) -> None:
    pickers = [isinstance(stage, Distribution | Greedy) for stage in stages]
    if not pickers or not pickers[-1] or any(pickers[:-1]):
        raise RequestError("a sampling chain needs exactly one Distribution or Greedy stage, at its end")


def _check_values(stage: Stage) -> None:
    match stage:
        case Penalties(last_n, repeat, frequency, presence):
            finite = math.isfinite(repeat) and math.isfinite(frequency) and math.isfinite(presence)
            valid = finite and 0 <= last_n <= MAX_LAST_N and repeat > 0
        case TopK(k):
            valid = 0 <= k <= MAX_K
        case TopP(p) | MinP(p):
            valid = 0 <= p <= 1
        case Temperature(t):
            valid = math.isfinite(t) and t >= 0
        case Distribution(seed):
            valid = 0 <= seed <= MAX_SEED
        case Greedy():
            valid = True
    if not valid:
        raise RequestError(f"{stage} is out of range; check the sampling settings")


def _native(stage: Stage, n_vocab: int) -> SamplerHandle:
    handle: SamplerHandle
    match stage:
        case Penalties(last_n, repeat, frequency, presence):
            handle = lib.llama_sampler_init_penalties(n_vocab, last_n, repeat, frequency, presence)
        case TopK(k):
            handle = lib.llama_sampler_init_top_k(k)
        case TopP(p):
            handle = lib.llama_sampler_init_top_p(p, _KEEP_AT_LEAST)
        case MinP(p):
            handle = lib.llama_sampler_init_min_p(p, _KEEP_AT_LEAST)
        case Temperature(t):
            handle = lib.llama_sampler_init_temp(t)
        case Distribution(seed):
            handle = lib.llama_sampler_init_dist(seed)
        case Greedy():
            handle = lib.llama_sampler_init_greedy()
    return handle
