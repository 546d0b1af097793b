"""Parameters and results of a context: sizes, threads, outputs, decode status. Plain values without native code."""

import os
from dataclasses import dataclass
from enum import Enum, IntEnum

import psutil

from laguna_engine.config import KvType
from laguna_engine.native.control_groups import usable_processors


class Outputs(Enum):
    """The rows of a batch with logits: none, the last one, the last two, or all."""

    NONE = "none"
    LAST = "last"
    PAIR = "pair"
    ALL = "all"


class DecodeStatus(IntEnum):
    """Result of a decode; the values are `llama_decode`'s return codes."""

    OK = 0
    FULL = 1
    ABORTED = 2


@dataclass(frozen=True, slots=True)
class ContextOptions:
    """Requested parameters; the context's attributes are the actual ones.

    Attributes:
        n_ctx: tokens of the KV cache; 0 for the model's training length.
        n_batch: most tokens of one `decode`.
        n_ubatch: tokens of a micro-batch, which also bounds the latency of a stop.
        type_k: type of the K cache.
        type_v: type of the V cache.
        flash_attention: None lets llama.cpp decide; a quantized V cache needs it.
        swa_full: full-length caches for sliding-window layers, which cost memory and allow any rewind.
        threads: for a single token; 0 for the physical cores.
        threads_batch: for several tokens; 0 for the physical cores.
        offload_products: let a GPU compute large matrix products with weights in RAM (`op_offload`).
    """

    n_ctx: int
    n_batch: int = 512
    n_ubatch: int = 512
    type_k: KvType = KvType.F16
    type_v: KvType = KvType.F16
    flash_attention: bool | None = None
    swa_full: bool = False
    threads: int = 0
    threads_batch: int = 0
    offload_products: bool = True


def physical_cores() -> int:
    """Physical cores available to this process: using hyper-threads too makes llama.cpp slower.

    With more threads than a control group's quota of time, all of them stand still for a part of every period.
    """
    physical = psutil.cpu_count(logical=False) or os.cpu_count() or 1
    return max(1, min(physical, usable_processors()))


def all_cores_but_one() -> int:
    """Threads on a machine shared with other programs, at least 1: llama.cpp's threads synchronise after every
    operation, so another program on one of their cores stalls all of them."""
    return max(1, physical_cores() - 1)
