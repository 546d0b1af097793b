"""Makes engine and agent options from settings and a catalogue entry. Values only; nothing is opened here.

Modules of the engine are imported in the functions, so that a screen can be there before them.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_tui.base.errors import UserError
from laguna_tui.base.settings import Settings
from laguna_tui.base.units import size
from laguna_tui.models.entry import ModelEntry, ModelKind
from laguna_tui.models.model_selection import ModelSelection, adapter_of, drafter_of
from laguna_tui.session.draft_statistics import draft_statistics_path

if TYPE_CHECKING:
    from laguna_engine.config import Sampling, Speculation
    from laguna_engine.engine import EngineInfo, EngineOptions
    from laguna_tui.agent.options import AgentOptions


def engine_options(settings: Settings, entry: ModelEntry, drafter: Path | None, mode: "Speculation") -> "EngineOptions":
    """Return what to open without a plan: an entry that has a file, decoding in this mode."""
    from laguna_engine.config import KvType
    from laguna_engine.engine import EngineOptions

    adapter = adapter_of(settings)
    if adapter and drafter is None:
        raise UserError(
            f"{settings.given('adapter')}: {entry.title} has no drafter here for it to adapt; give one with "
            "--drafter FILE.gguf, or leave the adapter out"
        )
    return EngineOptions(
        model=entry.file,
        n_ctx=settings.context or entry.context,
        kv_type=KvType(settings.kv or KvType.F16),
        gpu_layers=-1 if settings.gpu_layers is None else settings.gpu_layers,
        threads=settings.threads or 0,
        speculation=mode,
        drafter=drafter,
        adapters=(adapter,) if adapter else (),
    )


def economy_file(state: Path, options: "EngineOptions") -> Path:
    """Return where the draft statistics of an engine opened like this are saved."""
    from laguna_engine.native.library import device_descriptions

    files = [f"{path.name} {path.stat().st_size}" if path else "" for path in (options.model, options.drafter)]
    chosen = (options.kv_type.value, options.gpu_layers, options.threads, options.speculation.value)
    return draft_statistics_path(state, options.model.stem, [*files, *device_descriptions(), *map(str, chosen)])


def agent_options(settings: Settings, entry: ModelEntry) -> "AgentOptions":
    """Return how answers are generated."""
    from laguna_engine.config import Drafting
    from laguna_tui.agent.options import AgentOptions

    thinking = entry.thinking if settings.thinking is None else settings.thinking
    remote = entry.kind is ModelKind.REMOTE
    adapter = adapter_of(settings) if not remote and drafter_of(settings, entry) else None
    return AgentOptions(
        sampling=_sampling(settings, entry),
        thinking=thinking,
        max_tokens=settings.max_tokens,
        thinking_budget=settings.thinking_budget,
        max_steps=settings.max_steps,
        constrain=_CONSTRAIN[settings.constrain],
        drafting=Drafting(length=settings.draft_length, sampled=settings.sample_drafts, adapter=adapter and adapter[0]),
    )


_CONSTRAIN = {"auto": None, "on": True, "off": False}


def _sampling(settings: Settings, entry: ModelEntry) -> "Sampling":
    from laguna_engine.config import Sampling

    def chosen(key: str, default: float) -> float:
        value = getattr(settings, key)
        return entry.sampling.get(key, default) if value is None else value

    return Sampling(
        temperature=chosen("temperature", 0.0),
        top_k=int(chosen("top_k", 0)),
        top_p=chosen("top_p", 1.0),
        min_p=chosen("min_p", 0.0),
        repeat_penalty=chosen("repeat_penalty", 1.0),
        seed=settings.seed,
    )


def model_identity(selection: ModelSelection) -> tuple[str | int | bool, ...]:
    """Return what token IDs depend on: the model file, the template, the tools, and whether the model thinks."""
    entry, path = selection.entry, selection.entry.path
    thinking = agent_options(selection.settings, entry).thinking
    if entry.kind is ModelKind.REMOTE:
        return entry.url, entry.served, entry.tools.value, thinking
    assert path is not None, "what is open in this process has a file"
    return path.name, path.stat().st_size, str(entry.template or ""), entry.tools.value, thinking


def trace_model(identity: Iterable[object]) -> str:
    """Return how the trace of an answer names a model."""
    return " ".join(map(str, identity))


def describe_model(info: "EngineInfo") -> str:
    """Return an open model in one line. A KV cache of f16 loses nothing, so only another type is named."""
    count = f"{info.n_params / 1e9:.1f} B" if info.n_params >= 1e9 else f"{info.n_params / 1e6:.0f} M"
    cache = [] if info.kv_type.value == "f16" else [f"{info.kv_type.value} cache"]
    return ", ".join([f"{count} parameters", size(info.size_bytes), *cache, info.devices[0]])


NOTES = "plans.json"
"""The file in the state folder that says which plans failed."""
VERDICTS = "native.json"
"""The file in the state folder with what child processes found out about the library and about model files."""
