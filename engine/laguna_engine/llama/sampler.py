"""Sampler chains: sampling settings turned into llama.cpp's samplers, and the selection of a token.

A `Readout` is the part of a row of logits that is copied from the device after a decode: the best token, a few
candidates, or the whole row.

Unless it is greedy, the selection is our own: argmax(logit + noise), with Gumbel noise computed from the seed, the
position and the token id, which samples from the softmax of the logits (the Gumbel-max trick). llama.cpp's own stage
takes the next number of one random sequence. With ours the token at a position does not depend on what was sampled or
drafted before it, and a drafter that uses the same noise proposes the target's token as often as their distributions
allow (Daliri et al., "Coupling without Communication and Drafter-Invariant Speculative Decoding", arXiv 2408.07978).
"""

import ctypes
from collections import deque
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from laguna_engine.config import Sampling
from laguna_engine.constrain.base import Constraints
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
        k: for CANDIDATES, the number of most likely tokens, read with their logits.
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

_KEEP_AT_LEAST = 1
"""Tokens every filter keeps at least."""

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


def stages_of(sampling: Sampling, n_vocab: int) -> list[tuple[str, tuple[float, ...]]]:
    """Return llama.cpp's samplers for `sampling`, without those that have no effect, and their arguments.

    A sampler is named as in `llama_sampler_init_*`. The order is that of llama.cpp's own programs: penalties, top-k,
    top-p, min-p, temperature. So filters see the probabilities before the temperature is applied. At temperature 0 only
    the penalties matter. The selection of a token follows, which is our own unless it is greedy.
    """
    stages: list[tuple[str, tuple[float, ...]]] = []
    if sampling.remembered:
        stages.append(("penalties", (n_vocab, sampling.remembered, sampling.repeat_penalty, 0.0, 0.0)))
    if sampling.temperature == 0:
        return [*stages, ("greedy", ())]
    if sampling.top_k:
        stages.append(("top_k", (sampling.top_k,)))
    if sampling.top_p < 1:
        stages.append(("top_p", (sampling.top_p, _KEEP_AT_LEAST)))
    if sampling.min_p:
        stages.append(("min_p", (sampling.min_p, _KEEP_AT_LEAST)))
    return [*stages, ("temp", (sampling.temperature,))]


class LogprobRecorder:
    """Records how likely each picked token was to the target, and which tokens were more likely.

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
        top_ids = np.argpartition(row, -most)[-most:] if most else np.empty(0, np.int64)
        top = sorted(((int(each), float(row[each])) for each in top_ids), key=lambda found: (-found[1], found[0]))
        self._recorded.append(Logprobs(float(row[token]), tuple(top)))

    def take(self) -> Logprobs | None:
        """Return the oldest record that was not taken yet."""
        return self._recorded.popleft() if self._recorded else None


class SamplerChain:
    """A native sampler chain. Not thread-safe; used on the engine thread only.

    Attributes:
        draws: whether tokens are sampled rather than the most likely selected.
        position: position of the next token, for the noise.
        constraints: what the next token may be; None allows all.
        recorder: records every token that was picked, with its row of logits; may be None.
    """

    def __init__(
        self, sampling: Sampling, n_vocab: int, position: int = 0, constraints: Constraints | None = None
    ) -> None:
        """Build the chain for a vocabulary of `n_vocab` tokens; for a seed of None each chain draws a new one."""
        self._seed = sampling.seeded().seed if sampling.temperature else None
        self.draws = self._seed is not None
        self.position = position
        self.constraints = constraints
        self.recorder: LogprobRecorder | None = None
        self._handle: SamplerHandle = lib.llama_sampler_chain_init(lib.llama_sampler_chain_default_params())
        for name, arguments in stages_of(sampling, n_vocab):
            lib.llama_sampler_chain_add(self._handle, getattr(lib, f"llama_sampler_init_{name}")(*arguments))

    @property
    def handle(self) -> SamplerHandle:
        """llama.cpp's handle, for `Context.sample` of greedy chains."""
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
