"""What an engine is opened with, what it says about itself, and what it is asked for: plain values, checked once.

Nothing here touches native code, so that the application can name a setting before llama.cpp is loaded.
"""

import math
import operator
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from laguna_engine.errors import RequestError
from laguna_engine.events import Source

MAX_SEED = 0xFFFF_FFFE
"""The largest usable seed; 0xFFFFFFFF is llama.cpp's word for "a random one"."""


class KvType(Enum):
    """Number format of the KV cache. q8_0 halves f16 at next to no loss; q4_0 halves it again and costs accuracy."""

    F16 = "f16"
    Q8_0 = "q8_0"
    Q4_0 = "q4_0"

    @property
    def ggml(self) -> int:
        """The `ggml_type` number."""
        return _GGML_TYPES[self]


_GGML_TYPES = {KvType.F16: 1, KvType.Q8_0: 8, KvType.Q4_0: 2}


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling settings; the defaults pick the most likely token every time.

    temperature: 0 is greedy. top_k: keep the k likeliest tokens, 0 keeps all. top_p: keep the likeliest tokens that
    add up to this probability. min_p: keep tokens at least this fraction of the likeliest.
    repeat_penalty: divides the scores of the last repeat_last_n tokens, prompt included; 1 does nothing.
    seed: same seed and same prompt, same answer, whatever is drafted; None draws one. RequestError for anything out of
    range.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repeat_penalty: float = 1.0
    repeat_last_n: int = 64
    seed: int | None = None

    def __post_init__(self) -> None:
        _require(_at_least(self.temperature, 0), "temperature", self.temperature, "0 or more; 0 is greedy")
        _require(self.top_k >= 0, "top_k", self.top_k, "0 or more; 0 keeps every token")
        _require(0 < self.top_p <= 1, "top_p", self.top_p, "above 0 and at most 1; 1 keeps every token")
        _require(0 <= self.min_p <= 1, "min_p", self.min_p, "between 0 and 1; 0 keeps every token")
        _require(_at_least(self.repeat_penalty, 1), "repeat_penalty", self.repeat_penalty, "1 or more; 1 is off")
        _require(self.repeat_last_n >= 0, "repeat_last_n", self.repeat_last_n, "0 or more")
        _require(self.seed is None or 0 <= self.seed <= MAX_SEED, "seed", self.seed, f"between 0 and {MAX_SEED}")

    @property
    def remembered(self) -> int:
        """How many of the latest tokens, prompt included, have a say in what comes next."""
        return self.repeat_last_n if self.repeat_penalty != 1 else 0

    def seeded(self) -> "Sampling":
        """The same with a seed, drawn now if there is none."""
        if self.temperature == 0 or self.seed is not None:
            return self
        return replace(self, seed=secrets.randbelow(MAX_SEED + 1))


def _at_least(value: float, least: float) -> bool:
    return math.isfinite(value) and value >= least


def _require(condition: bool, name: str, value: object, expected: str) -> None:
    if not condition:
        raise RequestError(f"{name} is {value}; it must be {expected}")


GREEDY = Sampling()
"""The most likely token, every time."""

DRAFT_CONTEXT = 4096
"""Positions that a drafter's full-attention layers look back. Drafters are trained on a few thousand tokens and get
worse beyond; and every layer pays memory for each."""


class Speculation(Enum):
    """What speculative decoding may do to the arithmetic.

    OFF: nothing is drafted, and nothing is set up for it. FAST: drafts are verified with whatever kernels are fastest,
    so an answer can depart from the plain one where two tokens are equally likely up to rounding. STRICT: on the CPU
    the answer is byte for byte the plain one, whatever was cached and drafted, at the price of slower kernels, small
    micro-batches and full-length sliding-window caches. Where a GPU computes it promises no more than FAST.
    """

    OFF = "off"
    FAST = "fast"
    STRICT = "strict"


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """What to open and how.

    n_ctx: tokens the context holds, 0 for all the model can use; more is cut, with a warning. n_batch, n_ubatch: prompt
    tokens a call and a computation; a stop takes one `n_ubatch`. gpu_layers: layers to offload, -1 for all.
    threads: 0 means the physical cores. swa_full: keep sliding-window layers at full length, which allows any edit of
    the prompt to reuse the cache and costs the memory of a full-attention model. check_tensors: look for damaged
    weights, which reads the whole file.
    kept_experts: a regular expression of weights that stay in RAM, whatever `gpu_layers` says. split: the share of the
    layers that each GPU takes, in llama.cpp's order; empty leaves it to llama.cpp. repack: let the CPU rearrange its
    weights, which is faster and takes memory of its own.
    drafter: a DFlash-family GGUF made for this model; without one only copying drafts. adapters: named LoRA files for
    the drafter, chosen by request. economy: what `Engine.economy` said in an earlier session, so that which drafts pay
    need not be learned again. draft_context: most positions that a drafter looks back, whatever it was trained on.
    checkpoints, checkpoint_bytes: how many copies of the sliding window are kept in RAM, so that a prompt that changes
    further back than the window reaches is not read from its beginning, and what they may take together; 0 for none.
    One of Laguna XS takes 63 MB at f16, 33 at q8_0, 18 at q4_0, and its drafter's part 10. `swa_full` needs none.
    """

    model: Path
    n_ctx: int = 8192
    n_batch: int = 512
    n_ubatch: int = 512
    kv_type: KvType = KvType.F16
    gpu_layers: int = 0
    threads: int = 0
    swa_full: bool = False
    check_tensors: bool = False
    kept_experts: str = ""
    split: tuple[float, ...] = ()
    repack: bool = True
    speculation: Speculation = Speculation.FAST
    drafter: Path | None = None
    adapters: tuple[tuple[str, Path], ...] = ()
    economy: Mapping[str, object] | None = None
    draft_context: int = DRAFT_CONTEXT
    checkpoints: int = 16
    checkpoint_bytes: int = 512 << 20


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """An open engine: sizes in bytes, lengths in tokens; `warnings` are sentences for the user.

    `chat_template` is the file's own, empty when it has none: to be recognised, never to be run. speculation: the mode
    it runs in. drafter: one line about it, empty without one.
    """

    name: str
    architecture: str
    description: str
    n_params: int
    size_bytes: int
    n_ctx: int
    n_ctx_train: int
    devices: tuple[str, ...]
    kv_type: KvType
    chat_template: str
    speculation: Speculation
    drafter: str
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Drafting:
    """How one request is sped up; the answer is the same either way.

    enabled: False decodes plainly. sources: who may draft, None for whoever is there. length: tokens drafted every
    round, None to let the engine choose each time, 0 included. sampled: let drafters that can sample draw with the
    noise that the answer is drawn with, which pays where many tokens are about equally likely; otherwise drafts are the
    likeliest tokens. adapter: the name of the drafter's adapter, None for the drafter as it is. files: tokens of the
    files that are open or were read, latest last, to copy from. script: the draft of each round, instead of any
    drafter's; nothing is learned from it.
    """

    enabled: bool = True
    sources: frozenset[Source] | None = None
    length: int | None = None
    sampled: bool = False
    adapter: str | None = None
    files: tuple[Sequence[int], ...] = ()
    script: tuple[Sequence[int], ...] | None = None

    def __post_init__(self) -> None:
        if self.length is not None and self.length < 0:
            raise RequestError(f"a draft length of {self.length} makes no sense; give 0 or more")


DRAFTING = Drafting()
"""Whoever is there drafts as much as pays."""

PLAIN = Drafting(enabled=False)
"""One token after the other."""


@dataclass(frozen=True, slots=True)
class Request:
    """Continue `tokens`, the whole transcript; what is already in the KV cache is found and reused.

    The answer depends on the tokens and the sampling settings alone, seed included: what is drafted, and how drafts are
    made, changes the speed only (up to rounding, see `Speculation`).

    stop_texts end the generation when they appear and are not shown. stop_tokens end it like the vocabulary's own
    end-of-generation tokens do. max_tokens: None goes on until the context is full; 0 generates nothing and only reads
    the prompt, ahead of a request that begins with it. drafting: how it is sped up; when reading ahead, the same as in
    the request to come, so that the drafter learns the prompt too.
    """

    tokens: Sequence[int]
    sampling: Sampling = GREEDY
    stop_texts: tuple[str, ...] = ()
    stop_tokens: frozenset[int] = frozenset()
    max_tokens: int | None = None
    drafting: Drafting = DRAFTING

    def __post_init__(self) -> None:
        if self.max_tokens is not None and self.max_tokens < 0:
            raise RequestError(f"max_tokens is {self.max_tokens}; give 0 to read the prompt only, or more")
        if not all(self.stop_texts):
            raise RequestError("a stop text is empty, which would stop everywhere; remove it")


def checked_tokens(tokens: Sequence[int], vocabulary: int) -> list[int]:
    """A copy of `tokens` as plain ints; RequestError if there are none or one is outside the vocabulary."""
    try:
        copied = list(map(operator.index, tokens))
    except TypeError as error:
        raise RequestError(f"token ids must be integers ({error}); tokenize with this model") from error
    if not copied:
        raise RequestError("the prompt has no tokens; give at least one")
    if min(copied) < 0 or max(copied) >= vocabulary:
        wrong = next(token for token in copied if not 0 <= token < vocabulary)
        raise RequestError(f"token {wrong} is outside the vocabulary of {vocabulary}; tokenize with this model")
    return copied
