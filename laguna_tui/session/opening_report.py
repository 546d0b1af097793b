"""How a model was opened, for the user: in short, why, and what was given up."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from laguna_engine.config import EngineOptions, Speculation

_KIB = 1024
_STRICT = (
    "strict: On the CPU every answer is byte for byte the plain one, whatever was cached or drafted. Compared with "
    "fast, reading a prompt took 1.5 to 1.9 times as long where it was measured, and plain decoding 2 to 3 times."
)
_STRICT_ON_GPU = (
    "strict: A GPU's rounding depends on how many tokens it computes at once, so answers are the plain ones up to "
    "near-ties, as with fast. Byte for byte: --gpu-layers 0."
)


@dataclass(frozen=True, slots=True)
class OpeningReport:
    """How a model was opened, for the user.

    Attributes:
        lines: the first one says how, in short; the others why.
        warnings: sentences about this opening.
        holds: bytes that the open model takes, by device; empty if it was not planned.
    """

    lines: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    holds: Mapping[str, int] = field(default_factory=dict)


def summary(options: EngineOptions, *, gpus: bool) -> str:
    """Return how it is opened, in short. gpus: whether there is a GPU."""
    layers = options.gpu_layers
    where = "all layers on the GPU" if layers < 0 else f"{layers} layers on the GPU"
    off = options.speculation is Speculation.OFF
    drafts = "no speculation" if off else "drafter" if options.drafter else "drafts by copying"
    drafts += ", strict" if options.speculation is Speculation.STRICT else ""
    place = where if gpus and layers else "on the CPU"
    return f"{_tokens(options.n_ctx)} of context, {options.kv_type.value} cache, {place}, {drafts}"


def strict_lines(options: EngineOptions, *, gpus: bool) -> tuple[str, ...]:
    """Return what strict speculation promises here and costs; nothing in another mode."""
    if options.speculation is not Speculation.STRICT:
        return ()
    return (_STRICT_ON_GPU if gpus and options.gpu_layers else _STRICT,)


def _tokens(count: int) -> str:
    return f"{count // _KIB} K tokens" if count and count % _KIB == 0 else f"{count:,} tokens" if count else "all"


@dataclass(frozen=True, slots=True)
class OpenedAs:
    """How a model was opened. options: the engine's; None for a remote model."""

    options: EngineOptions | None
    report: OpeningReport
