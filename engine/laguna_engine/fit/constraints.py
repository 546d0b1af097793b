"""What a user may ask of a plan, and what counts more than what when memory is short."""

from dataclasses import dataclass
from enum import Enum

from laguna_engine.config import KvType

LEAST, ENOUGH, GOOD, LONG = 16_384, 32_768, 65_536, 131_072
"""Tokens of context. LEAST: a question about a few files. ENOUGH: a change in several. GOOD: a session of an hour.
LONG: beyond it answers get slower and worse, so more must be asked for."""

STEPS = (2048, 4096, 8192, 12_288, 16_384, 24_576, 32_768, 49_152, 65_536, 98_304, 131_072, 196_608, 262_144)
"""Contexts that are tried."""

UBATCHES = (512, 256, 128)
"""Micro-batches that are tried: larger ones read prompts faster and need more memory."""

KV_TYPES = (KvType.F16, KvType.Q8_0, KvType.Q4_0)
"""Best first."""


class First(Enum):
    """What gives way last. BALANCED: speed up to a good context, then the context. QUALITY: context and cache before
    speed. SPEED: the GPU and the drafter before the context."""

    BALANCED = "balanced"
    QUALITY = "quality"
    SPEED = "speed"


@dataclass(frozen=True, slots=True)
class Constraints:
    """None: whatever is best. A wish is honoured or refused, never bent.

    drafter: whether to use one. gpu_layers: as in `EngineOptions`. strict: strict speculation, which needs full-length
    caches for sliding layers and, on the CPU, micro-batches of at most `fixed_rows`. plain: nothing at all is drafted.
    """

    context: int | None = None
    kv: KvType | None = None
    first: First = First.BALANCED
    drafter: bool | None = None
    gpu_layers: int | None = None
    strict: bool = False
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Merits:
    """What speaks for one way to open a model. home: layers of which something stays on the CPU although there is a
    GPU."""

    context: int
    kv: KvType
    drafter: bool
    ubatch: int
    home: int

    def rank(self, first: First) -> tuple[int, ...]:
        """Larger is better."""
        exact = -KV_TYPES.index(self.kv)
        sound, whole = self.kv is not KvType.Q4_0, self.home == 0
        least = min(self.context, LEAST)
        if first is First.QUALITY:
            lasting = min(self.context, GOOD)
            return least, sound, lasting, exact, whole, self.drafter, -self.home, self.context, self.ubatch
        if first is First.SPEED:
            return least, whole, self.drafter, sound, self.ubatch, -self.home, self.context, exact
        # With everything on the GPU a smaller micro-batch costs little; with experts at home it costs a lot.
        quick = min(self.ubatch, 256) if whole else self.ubatch
        worth = (least, sound, whole, min(self.context, ENOUGH), self.drafter, quick, -self.home)
        return (*worth, min(self.context, GOOD), self.ubatch, self.context, exact)
