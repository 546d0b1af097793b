"""The user's constraints on a plan, and the priorities when memory is short."""

from dataclasses import dataclass
from enum import Enum

from laguna_engine.config import KvType

LEAST, ENOUGH, GOOD, LONG = 16_384, 32_768, 65_536, 131_072
"""Tokens of context. LEAST: a space about a few files. ENOUGH: a change in several. GOOD: a session of an hour.
LONG: beyond it answers get slower and worse, so longer contexts are chosen only on request."""

STEPS = (2048, 4096, 8192, 12_288, 16_384, 24_576, 32_768, 49_152, 65_536, 98_304, 131_072, 196_608, 262_144)
"""Context lengths tried."""

UBATCHES = (512, 256, 128)
"""Micro-batch sizes tried: larger ones prefill faster and need more memory."""

KV_TYPES = (KvType.F16, KvType.Q8_0, KvType.Q4_0)
"""Best first."""


class Priority(Enum):
    """What is given up last when memory is short.

    Attributes:
        BALANCED: speed up to a good context, then the context.
        QUALITY: context and cache precision before speed.
        SPEED: the GPU and the drafter before the context.
    """

    BALANCED = "balanced"
    QUALITY = "quality"
    SPEED = "speed"


@dataclass(frozen=True, slots=True)
class PlanConstraints:
    """The user's choices; a plan meets all of them or is refused. None leaves the choice to the planner.

    Attributes:
        context: tokens of context.
        kv: type of the KV cache.
        priority: what is given up last.
        drafter: whether to use one.
        gpu_layers: as in `EngineOptions`.
        strict: strict speculation, which needs full-length caches for sliding-window layers and, on the CPU,
            micro-batches of at most `fixed_rows`.
        plain: no speculation at all.
    """

    context: int | None = None
    kv: KvType | None = None
    priority: Priority = Priority.BALANCED
    drafter: bool | None = None
    gpu_layers: int | None = None
    strict: bool = False
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Merits:
    """The criteria a candidate plan is ranked by.

    Attributes:
        context: tokens of context.
        kv: type of the KV cache.
        drafter: whether a drafter is used.
        ubatch: tokens of a micro-batch.
        layers_in_ram: layers that are at least partly in RAM although there is a GPU.
    """

    context: int
    kv: KvType
    drafter: bool
    ubatch: int
    layers_in_ram: int

    def rank(self, priority: Priority) -> tuple[int, ...]:
        """Larger is better."""
        exact = -KV_TYPES.index(self.kv)
        sound, whole = self.kv is not KvType.Q4_0, self.layers_in_ram == 0
        least = min(self.context, LEAST)
        if priority is Priority.QUALITY:
            lasting = min(self.context, GOOD)
            return least, sound, lasting, exact, whole, self.drafter, -self.layers_in_ram, self.context, self.ubatch
        if priority is Priority.SPEED:
            return least, whole, self.drafter, sound, self.ubatch, -self.layers_in_ram, self.context, exact
        # A smaller micro-batch costs little with everything on the GPU, but a lot with experts in RAM.
        quick = min(self.ubatch, 256) if whole else self.ubatch
        worth = (least, sound, whole, min(self.context, ENOUGH), self.drafter, quick, -self.layers_in_ram)
        return (*worth, min(self.context, GOOD), self.ubatch, self.context, exact)
