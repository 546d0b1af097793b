"""Engine options, engine info, requests and sampling settings: plain values, validated on creation.

No native code, so that the application can use the settings before llama.cpp is loaded.
"""

import math
import operator
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from laguna_engine.constrain.base import ConstraintSpec
from laguna_engine.errors import RequestError
from laguna_engine.events import Source

MAX_SEED = 0xFFFF_FFFE
"""The largest usable seed; 0xFFFFFFFF means "random" to llama.cpp."""

MAX_LAST_N = 1 << 20
"""Largest `repeat_last_n`: llama.cpp allocates it at once, and no context is longer."""

MAX_TOP_K = 2**31 - 1
"""Largest `top_k`: llama.cpp counts in 32 bits."""


class KvType(Enum):
    """Type of the KV cache. q8_0 takes half of f16 at next to no loss; q4_0 halves it again and costs accuracy."""

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
    """Sampling settings; the defaults are greedy.

    Attributes:
        temperature: 0 is greedy.
        top_k: keep the k most likely tokens; 0 keeps all.
        top_p: keep the most likely tokens whose probabilities add up to this.
        min_p: keep tokens with at least this fraction of the most likely token's probability.
        repeat_penalty: divides the logits of the last `repeat_last_n` tokens; 1 is off.
        repeat_last_n: tokens penalised, prompt included.
        seed: the same seed and prompt give the same answer, whatever is drafted; None draws a seed.

    Raises:
        RequestError: a value is out of range.
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
        _require(0 <= self.top_k <= MAX_TOP_K, "top_k", self.top_k, f"0 to {MAX_TOP_K}; 0 keeps every token")
        _require(0 < self.top_p <= 1, "top_p", self.top_p, "above 0 and at most 1; 1 keeps every token")
        _require(0 <= self.min_p <= 1, "min_p", self.min_p, "between 0 and 1; 0 keeps every token")
        _require(_at_least(self.repeat_penalty, 1), "repeat_penalty", self.repeat_penalty, "1 or more; 1 is off")
        _require(0 <= self.repeat_last_n <= MAX_LAST_N, "repeat_last_n", self.repeat_last_n, f"0 to {MAX_LAST_N}")
        _require(self.seed is None or 0 <= self.seed <= MAX_SEED, "seed", self.seed, f"between 0 and {MAX_SEED}")

    @property
    def remembered(self) -> int:
        """Number of latest tokens, prompt included, that affect the next one through the penalty."""
        return self.repeat_last_n if self.repeat_penalty != 1 else 0

    def seeded(self) -> "Sampling":
        """Return these settings with a seed, drawn now if there is none; unchanged if greedy."""
        if self.temperature == 0 or self.seed is not None:
            return self
        return replace(self, seed=secrets.randbelow(MAX_SEED + 1))


def _at_least(value: float, least: float) -> bool:
    return math.isfinite(value) and value >= least


def _require(condition: bool, name: str, value: object, expected: str) -> None:
    if not condition:
        raise RequestError(f"{name} is {value}; it must be {expected}")


GREEDY = Sampling()
"""Always the most likely token."""

DRAFT_CONTEXT = 4096
"""Positions that a drafter's full-attention layers look back. Drafters are trained on a few thousand tokens and get
worse beyond; and each position takes memory in every layer."""


class Speculation(Enum):
    """Mode of speculative decoding.

    Attributes:
        OFF: no speculation, and nothing is set up for it.
        FAST: drafts are verified with the fastest kernels, so an answer can differ from the plain one where two tokens
            are equally likely up to rounding.
        STRICT: on the CPU the answer equals the plain one byte for byte, whatever was cached and drafted, at the price
            of slower kernels, small micro-batches and full-length sliding-window caches. On a GPU the same as FAST.
    """

    OFF = "off"
    FAST = "fast"
    STRICT = "strict"


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """What to open, and how.

    Attributes:
        model: the GGUF file.
        n_ctx: tokens of context, 0 for all the model supports; a larger value is reduced with a warning.
        n_batch: prompt tokens per decode call.
        n_ubatch: prompt tokens per computation; a stop takes at most one of these.
        kv_type: type of the KV cache.
        gpu_layers: layers to offload, -1 for all.
        threads: CPU threads; 0 for the physical cores.
        swa_full: full-length caches for sliding-window layers, which let any edit of the prompt reuse the cache, at
            the memory of a full-attention model.
        check_tensors: check for damaged weights, which reads the whole file.
        tensors_in_ram: regular expression of tensors that stay in RAM, whatever `gpu_layers` is.
        split: share of the layers of each GPU, in llama.cpp's order; empty leaves it to llama.cpp.
        repack: let the CPU repack its weights, which is faster and takes additional memory.
        speculation: mode of speculative decoding.
        drafter: a DFlash-family GGUF made for this model; None drafts by copying only.
        adapters: named LoRA files for the drafter, selected by request.
        economy: `Engine.economy` of an earlier session, so that costs and acceptance need not be learned again.
        draft_context: most positions that a drafter looks back, whatever it was trained on.
        checkpoints: most checkpoints of the sliding window in RAM, which save the prefill of the whole prompt
            when it changes further back than the window; 0 for none. `swa_full` needs none.
        checkpoint_bytes: their total size. A checkpoint of Laguna XS takes 63 MB at f16, 33 at q8_0, 18 at q4_0, and
            its drafter's part 10.
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
    tensors_in_ram: str = ""
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
    """Properties of an open engine.

    Attributes:
        name: the model's name.
        architecture: `general.architecture`.
        description: llama.cpp's one-line summary.
        n_params: number of weights.
        size_bytes: bytes of all tensors.
        n_ctx: tokens of context.
        n_ctx_train: tokens the model was trained for.
        devices: the devices in use.
        kv_type: type of the KV cache.
        chat_template: the file's own, empty without one; used to recognise the model, never executed.
        speculation: the actual mode.
        drafter: one line about the drafter, empty without one.
        warnings: sentences for the user.
        no_drafts: why nothing can be drafted for this model; empty if something can.
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
    no_drafts: str = ""


@dataclass(frozen=True, slots=True)
class Drafting:
    """Speculative decoding of one request; it does not change the answer.

    Attributes:
        enabled: False decodes without drafts.
        sources: drafters allowed, None for all.
        length: tokens drafted in every round; None lets the engine choose for each round, 0 included.
        sampled: let drafters that can sample use the noise that the answer is sampled with, which pays where many
            tokens are about equally likely; otherwise drafts are the most likely tokens.
        adapter: name of the drafter's adapter, None for none.
        files: tokens of files that are open or were read, latest last, to copy from.
        script: the draft of each round, used instead of any drafter's; nothing is learned from it.
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
            raise RequestError(f"a draft length of {self.length} is invalid; give 0 or more")


DRAFTING = Drafting()
"""All drafters; the engine chooses drafter and length."""

PLAIN = Drafting(enabled=False)
"""No drafts: one token at a time."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request to continue a transcript.

    The answer depends only on the tokens, the sampling settings, seed included, and the constraints at the end;
    drafting changes the speed only (up to rounding, see `Speculation`).

    Attributes:
        tokens: the whole transcript; the prefix in the KV cache is reused.
        sampling: sampling settings.
        stop_texts: texts that end the generation; they are not shown.
        stop_tokens: tokens that end the generation, besides the vocabulary's end-of-generation tokens.
        max_tokens: most tokens to generate; None continues until the context is full, 0 only prefills the prompt,
            ahead of a request that begins with it.
        drafting: speculative decoding; for a prefill ahead, that of the coming request, so that the drafter sees the
            prompt too.
        thinking_budget: most tokens of thinking, those of a span that the transcript leaves open included; then what
            closes it is the only token allowed. None for no limit, and without effect on a model that has no such
            tokens.
        thinking_tags: the text that opens thinking, of one token or several, and the one that closes it.
        no_repeat: stretches of tokens that were repeated without end; the token that would begin another round of one,
            right after a whole round, is not sampled.
        constraints: what else the next token may be; one that fails is left out with a warning (`ConstraintFailed`).
        aside: remove prompt and answer from the KV cache afterwards, as far as they are not what it had before: the
            next request that continues from that finds it as if there had been no other.
        logprobs: report each token's probability and that many of the most likely; None reports nothing. The whole row
            of logits leaves the device for it.
    """

    tokens: Sequence[int]
    sampling: Sampling = GREEDY
    stop_texts: tuple[str, ...] = ()
    stop_tokens: frozenset[int] = frozenset()
    max_tokens: int | None = None
    drafting: Drafting = DRAFTING
    thinking_budget: int | None = None
    thinking_tags: tuple[str, str] = ("<think>", "</think>")
    no_repeat: tuple[tuple[int, ...], ...] = ()
    constraints: tuple[ConstraintSpec, ...] = ()
    logprobs: int | None = None
    aside: bool = False

    def __post_init__(self) -> None:
        if self.logprobs is not None and self.logprobs < 0:
            raise RequestError(f"logprobs is {self.logprobs}; give 0 or more, or None to note nothing")
        if self.thinking_budget is not None and self.thinking_budget < 0:
            raise RequestError(f"thinking_budget is {self.thinking_budget}; give 0 or more, or None for no limit")
        if not all(self.no_repeat):
            raise RequestError("a stretch that is not to be repeated has no tokens; remove it")
        if self.max_tokens is not None and self.max_tokens < 0:
            raise RequestError(f"max_tokens is {self.max_tokens}; give 0 to only prefill the prompt, or more")
        if not all(self.stop_texts):
            raise RequestError("a stop text is empty, which would stop everywhere; remove it")


def checked_tokens(tokens: Sequence[int], vocabulary: int) -> list[int]:
    """Return `tokens` as a list of int; RequestError if it is empty or a token is outside the vocabulary."""
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
