"""How a token is picked: a chain of stages, each a value, turned into llama.cpp's samplers.

Every chain ends in exactly one stage that picks (`Distribution` or `Greedy`): llama.cpp aborts on a chain that does
not, so it is refused here. A `Readout` says what of a row of logits leaves the device after a decode: the best token, a
few candidates, or all of it.

`Distribution` is ours: it picks argmax(logit + noise), with the Gumbel noise of the seed, the position and the token
id, which is a draw from the softmax of the logits (the Gumbel-max trick). llama.cpp's own stage takes the next number
of one sequence. With ours the token at a position does not depend on what was drawn or drafted before it, and a drafter
that draws with the same noise proposes what the target is going to pick as often as their distributions allow (Daliri
et al., "Coupling without Communication and Drafter-Invariant Speculative Decoding", arXiv 2408.07978).
"""

import ctypes
import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from laguna_engine.config import MAX_SEED, Sampling
from laguna_engine.errors import RequestError
from laguna_engine.native.library import lib
from laguna_engine.native.structs import SamplerHandle, TokenData, TokenDataArray

MAX_CANDIDATES = 256
"""Chains that keep more of a row than this get all of it."""


class ReadoutKind(Enum):
    """How much of a row is needed to pick a token."""

    BEST = "best"
    CANDIDATES = "candidates"
    LOGITS = "logits"


@dataclass(frozen=True, slots=True)
class Readout:
    """`k` counts for CANDIDATES only: the k likeliest tokens of a row, with their logits."""

    wanted: ReadoutKind
    k: int = 0

    @classmethod
    def of(cls, sampling: Sampling) -> "Readout":
        """How much of a row the chain looks at: all of it where a penalty may lift a token from below."""
        if sampling.remembered:
            return LOGITS
        if sampling.temperature == 0:
            return BEST
        return cls(ReadoutKind.CANDIDATES, sampling.top_k) if 0 < sampling.top_k <= MAX_CANDIDATES else LOGITS


BEST = Readout(ReadoutKind.BEST)
"""4 bytes a row."""

LOGITS = Readout(ReadoutKind.LOGITS)
"""4 bytes a row and token of the vocabulary: what llama.cpp's own samplers read."""

CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])
"""`llama_token_data`, in np."""

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
    """Pick at random from what is left, reproducibly for one `seed` and position."""

    seed: int


@dataclass(frozen=True, slots=True)
class Greedy:
    """Pick the most likely token."""


Stage = Penalties | TopK | TopP | MinP | Temperature | Distribution | Greedy

_KEEP_AT_LEAST = 1
"""No stage may leave nothing to pick from."""


_GAMMA, _MIX_1, _MIX_2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_64_BITS = 2**64 - 1
"""SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014): the n-th number is a mix
of n times gamma, so that any of them can be had alone. numpy's generators compute all numbers up to the one wanted."""


def gumbel(seed: int, position: int, tokens: ArrayLike) -> NDArray[np.float64]:
    """Standard Gumbel noise for each of `tokens` at a position: the same whatever else is asked for.

    From -3.7 to 36.8, in steps that are finer than float32 logits.
    """
    u64 = np.uint64
    key = u64(_mixed_key(_mixed_key(seed) + position))
    numbers = np.asarray(tokens, u64) * u64(_GAMMA) + key
    numbers = (numbers ^ (numbers >> u64(30))) * u64(_MIX_1)
    numbers = (numbers ^ (numbers >> u64(27))) * u64(_MIX_2)
    uniform = (((numbers ^ (numbers >> u64(31))) >> u64(12)) + 0.5) * 2.0**-52
    noise: NDArray[np.float64] = -np.log(-np.log(uniform))
    return noise


def _mixed_key(number: int) -> int:
    number = (number + 1) * _GAMMA & _64_BITS
    number = (number ^ (number >> 30)) * _MIX_1 & _64_BITS
    number = (number ^ (number >> 27)) * _MIX_2 & _64_BITS
    return number ^ (number >> 31)


def stages_of(sampling: Sampling) -> list[Stage]:
    """The chain, without stages that would do nothing. A seed of None is drawn anew by every call.

    Order as in llama.cpp's own programs: penalties, top-k, top-p, min-p, temperature, then the draw. Filters therefore
    see the probabilities before the temperature flattens them. At temperature 0 only the penalties matter.
    """
    penalties = Penalties(sampling.remembered, repeat=sampling.repeat_penalty) if sampling.remembered else None
    if sampling.temperature == 0:
        chain: list[Stage | None] = [penalties, Greedy()]
    else:
        chain = [
            penalties,
            TopK(sampling.top_k) if sampling.top_k else None,
            TopP(sampling.top_p) if sampling.top_p < 1 else None,
            MinP(sampling.min_p) if sampling.min_p else None,
            Temperature(sampling.temperature),
            Distribution(secrets.randbelow(MAX_SEED + 1) if sampling.seed is None else sampling.seed),
        ]
    return [stage for stage in chain if stage is not None]


class SamplerChain:
    """The chain of stages; not thread-safe, used on the engine thread only.

    Attributes:
        draws: whether tokens are drawn, and not simply the likeliest ones taken.
        position: of the token that is picked next, for the noise.
    """

    def __init__(self, stages: Sequence[Stage], n_vocab: int, position: int = 0) -> None:
        """Build the chain for a vocabulary of `n_vocab` tokens; RequestError for values that cannot be meant."""
        _check_order(stages)
        for stage in stages:
            _check_values(stage)
        last = stages[-1]
        self._seed = last.seed if isinstance(last, Distribution) else None
        self.draws = self._seed is not None
        self.position = self._start = position
        self._handle: SamplerHandle = lib.llama_sampler_chain_init(lib.llama_sampler_chain_default_params())
        for stage in stages:
            if not isinstance(stage, Distribution):
                lib.llama_sampler_chain_add(self._handle, _native(stage, n_vocab))

    @property
    def handle(self) -> SamplerHandle:
        """The native chain, for `Context.sample` where nothing is drawn."""
        return self._handle

    def reset(self) -> None:
        """Forget the tokens seen (penalties) and go back to the first position."""
        lib.llama_sampler_reset(self._handle)
        self.position = self._start

    def accept(self, token: int) -> None:
        """Tell the chain about a token it did not sample itself."""
        lib.llama_sampler_accept(self._handle, token)

    def choose(self, candidates: NDArray[np.void], *, likeliest_first: bool = True) -> int:
        """Pick one of `candidates` (`CANDIDATE` [n]) for `position`, and remember it; their order may change."""
        token = self._pick(candidates, self.position, likeliest_first=likeliest_first)
        self.position += 1
        lib.llama_sampler_accept(self._handle, token)
        return token

    def propose(self, ids: NDArray[np.int32], logits: NDArray[np.float32], position: int) -> int:
        """What would be picked at `position` if these were the logits, likeliest first; nothing is remembered."""
        candidates = np.zeros(len(ids), CANDIDATE)
        candidates["id"], candidates["logit"] = ids, logits
        return self._pick(candidates, position, likeliest_first=True)

    def _pick(self, candidates: NDArray[np.void], position: int, *, likeliest_first: bool) -> int:
        data = ctypes.cast(candidates.ctypes.data, ctypes.POINTER(TokenData))
        array = TokenDataArray(data, len(candidates), -1, likeliest_first)
        lib.llama_sampler_apply(self._handle, array)
        if self._seed is None:
            token: int = array.data[array.selected].id
            return token
        kept = candidates[: array.size]
        return int(kept["id"][(kept["logit"] + gumbel(self._seed, position, kept["id"])).argmax()])

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


def _native(stage: Penalties | TopK | TopP | MinP | Temperature | Greedy, n_vocab: int) -> SamplerHandle:
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
        case Greedy():
            handle = lib.llama_sampler_init_greedy()
    return handle
