"""Opening a model as the app does: without a plan when it is small or the user fixed everything, else by one.

What the user fixed is kept or refused, with the numbers. Without a plan it costs no time and looks at no memory.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from laguna_engine.ggml.device import Device
from laguna_engine.gguf import header
from laguna_engine.gguf.context_length import safe_context
from laguna_engine.llama.options import all_cores_but_one
from laguna_engine.options import EngineOptions, Speculation
from laguna_tui.errors import UserError
from laguna_tui.settings import Settings

T = TypeVar("T")

SMALL_BYTES = 64 << 20
"""A file below this fits on any machine that runs this program: a plan would only delay it."""

_KIB = 1024
_AS_SET = "Opened as you set it; nothing was planned."
_STRICT = (
    "strict: On the CPU every answer is byte for byte the plain one, whatever was cached or drafted. Beside fast, "
    "reading a prompt took 1.5 to 1.9 times as long where it was measured, and plain decoding 2 to 3 times."
)
_STRICT_ON_GPU = (
    "strict: Kernels of a GPU round by how many tokens they compute at once, so answers are the plain ones up to "
    "near-ties, as with fast. Byte for byte: --gpu-layers 0."
)
_FITS_ANYWHERE = "size: {} MB fit on any machine, so nothing was planned."


@dataclass(frozen=True, slots=True)
class Told:
    """What an opening tells: `lines` say how, the first one in short, the others why; `warnings` are for now.

    holds: bytes that the open model takes, by device; those that were not planned for are left out.
    """

    lines: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    holds: Mapping[str, int] = field(default_factory=dict)


def open_engine(
    options: EngineOptions,
    settings: Settings,
    title: str,
    context: int | None,
    notes: Path | None,
    opened: Callable[[EngineOptions], T],
) -> tuple[T, EngineOptions, Told]:
    """Open a model: what `opened` gave, with which options, and what to tell. Arguments as for `planned.open_planned`.

    Raises:
        UserError: this model, or this machine, cannot do what the user fixed.
        EngineError: it cannot be opened; says why and what to do.
    """
    options = _possible(options, settings, title)
    clear = unplanned(options, settings)
    if clear is not None:
        return opened(clear[0]), *clear
    # Much is imported for a plan.
    from laguna_tui.planned import open_planned

    return open_planned(options, settings, title, context, notes, opened)


def _possible(options: EngineOptions, settings: Settings, title: str) -> EngineOptions:
    """The same options, with no more context than there is; UserError for a fixed setting that cannot be kept."""
    target = header.check(options.model)
    limit = safe_context(target)
    if settings.context is not None and settings.context > limit:
        raise UserError(
            f"{settings.given('context')}: {title} can use {limit:,} tokens of context, not {settings.context:,}; "
            f"give {limit} or less, or leave it out"
        )
    if settings.gpu_layers and not Device.gpus():
        raise UserError(
            f"{settings.given('gpu_layers')}: llama.cpp finds no GPU here, so 0 layers can be on one; leave it out, "
            "and see: laguna-tui doctor"
        )
    layers = target.metadata.get(f"{target.architecture}.block_count")
    if settings.gpu_layers is not None and isinstance(layers, int) and settings.gpu_layers > layers + 1:
        raise UserError(
            f"{settings.given('gpu_layers')}: {title} has {layers} layers and an output matrix; give {layers + 1} or "
            "less, or -1 for all"
        )
    return replace(options, n_ctx=min(options.n_ctx or limit, limit))


def unplanned(options: EngineOptions, settings: Settings) -> tuple[EngineOptions, Told] | None:
    """What to open and what to tell, when there is nothing to plan; else None."""
    gpus = bool(Device.gpus())
    if None not in (settings.context, settings.kv, settings.gpu_layers, settings.threads):
        return options, Told((summary(options, gpus=gpus), _AS_SET, *strict_lines(options, gpus=gpus)))
    size = _size(options.model)
    if size >= SMALL_BYTES:
        return None
    if settings.threads is None:
        options = replace(options, threads=all_cores_but_one())
    fits = _FITS_ANYWHERE.format(max(1, round(size / 1e6)))
    return options, Told((summary(options, gpus=gpus), fits, *strict_lines(options, gpus=gpus)))


def summary(options: EngineOptions, *, gpus: bool) -> str:
    """How it is opened, in short. gpus: whether anything is on one."""
    layers = options.gpu_layers
    where = "all layers on the GPU" if layers < 0 else f"{layers} layers on the GPU"
    off = options.speculation is Speculation.OFF
    drafts = "no speculation" if off else "drafter" if options.drafter else "drafts by copying"
    drafts += ", strict" if options.speculation is Speculation.STRICT else ""
    place = where if gpus and layers else "on the CPU"
    return f"{_tokens(options.n_ctx)} of context, {options.kv_type.value} cache, {place}, {drafts}"


def strict_lines(options: EngineOptions, *, gpus: bool) -> tuple[str, ...]:
    """What strict speculation promises here and costs; nothing in another mode."""
    if options.speculation is not Speculation.STRICT:
        return ()
    return (_STRICT_ON_GPU if gpus and options.gpu_layers else _STRICT,)


def _tokens(count: int) -> str:
    return f"{count // _KIB} K tokens" if count and count % _KIB == 0 else f"{count:,} tokens" if count else "all"


def _size(path: Path) -> int:
    """Bytes of the file. One that is not there is small: the engine says best what is wrong with it."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
