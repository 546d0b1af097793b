"""Sampler chains: stages as values, turned into llama.cpp's samplers.

Every chain ends in exactly one selecting stage (`Distribution` or `Greedy`); others are refused, because llama.cpp
aborts on them. A `Readout` is the part of a row of logits that is copied from the device after a decode: the best
token, a few candidates, or the whole row.

`Distribution` is our own: it selects argmax(logit + noise), with Gumbel noise computed from the seed, the position and
the token id, which samples from the softmax of the logits (the Gumbel-max trick). llama.cpp's own stage takes the next
number of one random sequence. With ours the token at a position does not depend on what was sampled or drafted before
it, and a drafter that uses the same noise proposes the target's token as often as their distributions allow (Daliri et
al., "Coupling without Communication and Drafter-Invariant Speculative Decoding", arXiv 2408.07978).
"""

import ctypes
import math
import secrets
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from laguna_engine.config import MAX_SEED, Sampling
from laguna_engine.constrain.base import Constraints
from laguna_engine.errors import RequestError
from laguna_engine.events import Logprobs
from laguna_engine.native.library import lib
from laguna_engine.native.structs import SamplerHandle, TokenData, TokenDataArray

MAX_CANDIDATES = 256
"""Chains that keep more candidates than this read the whole row."""


class ReadoutKind(Enum):
    """The part of a row of logits needed to select a token."""

    BEST = "best"
    CANDIDATES = "candidates"
    LOGITS = "logits"


@dataclass(frozen=True, slots=True)
class Readout:
    """The part of each row of logits that is read from the device.

    Attributes:
        wanted: which part.
        k: for CANDIDATES, the number of likeliest tokens, read with their logits.
    """

    wanted: ReadoutKind
    k: int = 0

    @classmethod
    def of(cls, sampling: Sampling) -> "Readout":
        """Return the part of a row that a chain with these settings needs.

        All of it if a penalty may promote an unlikely token. Constraints change nothing about it: where too few of the
        tokens read are allowed, `masked_row` reads the whole row, so the graph keeps its shape.
        """
        if sampling.remembered:
            return LOGITS
        if sampling.temperature == 0:
            return BEST
        return cls(ReadoutKind.CANDIDATES, sampling.top_k) if 0 < sampling.top_k <= MAX_CANDIDATES else LOGITS


BEST = Readout(ReadoutKind.BEST)
"""4 bytes per row."""

LOGITS = Readout(ReadoutKind.LOGITS)
"""4 bytes per row and token of the vocabulary; what llama.cpp's own samplers read."""

CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])
"""`llama_token_data` as a numpy dtype."""

MAX_LAST_N = 1 << 20
"""Largest `last_n`: llama.cpp allocates it at once, and no context is longer."""

MAX_K = 2**31 - 1
"""Largest `k`: llama.cpp counts in 32 bits."""


@dataclass(frozen=True, slots=True)
class Penalties:
    """Make the last `last_n` tokens less likely.

    Attributes:
        last_n: tokens penalised, prompt included.
        repeat: divides their positive logits.
        frequency: subtracted once per occurrence.
        presence: subtracted once.
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
    """Sample from the remaining tokens; the result depends on `seed` and position only."""

    seed: int


@dataclass(frozen=True, slots=True)
class Greedy:
    """Select the most likely token."""


Stage = Penalties | TopK | TopP | MinP | Temperature | Distribution | Greedy

_KEEP_AT_LEAST = 1
"""Tokens every stage keeps at least."""


_GAMMA, _MIX_1, _MIX_2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_64_BITS = 2**64 - 1
"""SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014): the n-th number is a mix
of n times gamma, so any number can be computed alone. numpy's generators compute all numbers before it."""


def gumbel(seed: int, position: int, tokens: ArrayLike) -> NDArray[np.float64]:
    """Return standard Gumbel noise for each of `tokens` at a position, independent of the other tokens.

    From -3.7 to 36.8, with a finer resolution than float32 logits.
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
    """Return the chain of `sampling`, without stages that have no effect. For a seed of None each call draws a new one.

    Order as in llama.cpp's own programs: penalties, top-k, top-p, min-p, temperature, then selection. So filters see
    the probabilities before the temperature is applied. At temperature 0 only the penalties matter.
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


class LogprobRecorder:
    """Notes how likely the target found each token that is picked, and what it found likelier.

    The probabilities are those of the logits alone: before penalties, filters, the temperature and any constraint.
    """

    def __init__(self, most: int) -> None:
        """Record the `most` most likely tokens beside each picked one; 0 for none."""
        self._most = most
        self._recorded: deque[Logprobs] = deque()

    def record(self, token: int, logits: NDArray[np.float32]) -> None:
        """Record `token`, which was picked from a row of logits, float32 [vocabulary]."""
        row = logits.astype(np.float64)
        row -= row.max()
        row -= np.log(np.exp(row).sum())
        most = min(self._most, len(row))
        likeliest = np.argpartition(row, -most)[-most:] if most else np.empty(0, np.int64)
        top = sorted(((int(each), float(row[each])) for each in likeliest), key=lambda found: (-found[1], found[0]))
        self._recorded.append(Logprobs(float(row[token]), tuple(top)))

    def take(self) -> Logprobs | None:
        """Return the oldest record that was not taken yet."""
        return self._recorded.popleft() if self._recorded else None


class SamplerChain:
    """A native sampler chain. Not thread-safe; used on the engine thread only.

    Attributes:
        draws: whether tokens are sampled rather than the likeliest selected.
        position: position of the next token, for the noise.
        constraints: what the next token may be; None allows all.
        recorder: told of every token that was picked, with its row of logits; None for nobody.
    """

    def __init__(
        self, stages: Sequence[Stage], n_vocab: int, position: int = 0, constraints: Constraints | None = None
    ) -> None:
        """Build the chain for a vocabulary of `n_vocab` tokens; RequestError for values out of range."""
        selecting = [isinstance(stage, Distribution | Greedy) for stage in stages]
        if not selecting or not selecting[-1] or any(selecting[:-1]):
            raise RequestError("a sampling chain needs exactly one Distribution or Greedy stage, at its end")
        for stage in stages:
            _check_values(stage)
        last = stages[-1]
        self._seed = last.seed if isinstance(last, Distribution) else None
        self.draws = self._seed is not None
        self.position = position
        self.constraints = constraints
        self.recorder: LogprobRecorder | None = None
        self._handle: SamplerHandle = lib.llama_sampler_chain_init(lib.llama_sampler_chain_default_params())
        for stage in stages:
            if not isinstance(stage, Distribution):
                lib.llama_sampler_chain_add(self._handle, _native(stage, n_vocab))

    @property
    def handle(self) -> SamplerHandle:
        """llama.cpp's handle, for `Context.sample` of chains without `Distribution`."""
        return self._handle

    def accept(self, token: int) -> None:
        """Add a token that the chain did not select to the history of the penalties."""
        lib.llama_sampler_accept(self._handle, token)

    def force(self, token: int) -> None:
        """Take `token` as the one selected for `position`, and accept it."""
        self.position += 1
        self.accept(token)

    def choose(self, candidates: NDArray[np.void], *, is_sorted: bool = True) -> int:
        """Select one of `candidates` (`CANDIDATE` [n], reordered in place) for `position`, and accept it."""
        token = self._select(candidates, self.position, is_sorted=is_sorted)
        self.position += 1
        lib.llama_sampler_accept(self._handle, token)
        return token

    def propose(self, ids: NDArray[np.int32], logits: NDArray[np.float32], position: int) -> int:
        """Return the token the chain would select at `position` for sorted logits, without accepting it."""
        candidates = np.zeros(len(ids), CANDIDATE)
        candidates["id"], candidates["logit"] = ids, logits
        return self._select(candidates, position, is_sorted=True)

    def _select(self, candidates: NDArray[np.void], position: int, *, is_sorted: bool) -> int:
        data = ctypes.cast(candidates.ctypes.data, ctypes.POINTER(TokenData))
        array = TokenDataArray(data, len(candidates), -1, is_sorted)
        lib.llama_sampler_apply(self._handle, array)
        if self._seed is None:
            token: int = array.data[array.selected].id
            return token
        kept = candidates[: array.size]
        return int(kept["id"][(kept["logit"] + gumbel(self._seed, position, kept["id"])).argmax()])

    def close(self) -> None:
        """Free the chain and its stages. Idempotent."""
        if self._handle:
            lib.llama_sampler_free(self._handle)
            self._handle.value = None


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
