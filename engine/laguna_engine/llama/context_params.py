"""How a context is made and used: sizes, threads, outputs, results. Plain values; nothing native is touched here."""

import os
from dataclasses import dataclass
from enum import Enum, IntEnum

import psutil

from laguna_engine.config import KvType


class Outputs(Enum):
    """For which rows of a batch logits are computed: no row, the last one, the last two, or all."""

    NONE = "none"
    LAST = "last"
    PAIR = "pair"
    ALL = "all"


class DecodeStatus(IntEnum):
    """How a decode ended; the values are `llama_decode`'s return codes."""

    OK = 0
    FULL = 1
    ABORTED = 2


@dataclass(frozen=True, slots=True)
class ContextOptions:
    """What a context is asked to be; the context tells what it became.

    n_ctx: tokens the cache holds; 0 means the model's training length.
    n_batch: most tokens one `decode` may take. n_ubatch: tokens computed at once, so also how long a stop may take.
    flash_attention: None lets llama.cpp decide; a quantized V cache needs it.
    swa_full: keep sliding-window layers at full length, which costs memory and allows any rewind.
    threads, threads_batch: for one token and for many; 0 means the machine's physical cores.
    offload_products: let a GPU compute large products with weights that are in RAM (`op_offload`).
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
    """Cores this process may use, not counting hyper-threads: more threads than that make llama.cpp slower."""
    physical = psutil.cpu_count(logical=False) or os.cpu_count() or 1
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else physical
    return max(1, min(physical, allowed))


def all_cores_but_one() -> int:
    """Threads for who shares the machine, at least 1: llama.cpp's wait for each other after every step, so whatever
    else runs on one of their cores stops them all again and again."""
    return max(1, physical_cores() - 1)
