"""What an engine is opened with, and what it then says about itself: plain values."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from laguna_engine.llama.options import KvType

DEFAULT_CONTEXT = 4096
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
    draft_context: int = DEFAULT_CONTEXT
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
