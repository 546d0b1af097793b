"""Settings and a catalogue entry, made into what the engine is asked for. Values only; nothing is opened here.

What imports llama.cpp's neighbourhood is imported in the functions, so that a screen can be there before it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_tui.base.units import size
from laguna_tui.errors import UserError
from laguna_tui.models.catalogue import ModelEntry, load_catalogue, resolve
from laguna_tui.models.economy import economy_path
from laguna_tui.models.entry import Kind
from laguna_tui.settings import NO_DRAFTER, Settings

if TYPE_CHECKING:
    from laguna_engine.chat.template import Family
    from laguna_engine.engine import EngineInfo, EngineOptions
    from laguna_engine.options import Speculation
    from laguna_engine.sampling import Sampling
    from laguna_tui.agent.turn import AgentOptions
    from laguna_tui.models.store import Store


@dataclass(frozen=True, slots=True)
class Which:
    """Which model, and everything that goes with it. context: tokens that the catalogue insists on, None without."""

    settings: Settings
    entry: ModelEntry
    drafter: Path | None
    context: int | None


def which(settings: Settings) -> Which:
    """What the settings name.

    Raises:
        UserError: they name no model, or no drafter, that is there.
    """
    catalogue = load_catalogue()
    entry = resolve(settings.model, catalogue)
    return Which(settings, entry, drafter_of(settings, entry), catalogue_context(settings.model, entry, catalogue))


def drafter_of(settings: Settings, entry: ModelEntry, store: "Store | None" = None) -> Path | None:
    """The file that drafts: the user's own, else the catalogue's where it is there, else none.

    Args:
        store: where downloaded drafters are; None for the user's own.

    Raises:
        UserError: the user named a file, or a drafter of the catalogue, that is not there.
    """
    if settings.drafter is None:
        return entry.drafter
    if settings.drafter == NO_DRAFTER:
        return None
    known = {name: each for name, each in load_catalogue().items() if each.kind is Kind.DRAFTER}
    if settings.drafter in known:
        return _stored(known[settings.drafter], store, settings.given("drafter"))
    path = Path(settings.drafter).expanduser()
    if not path.is_file():
        names = ", ".join(name for name, each in known.items() if entry.name in each.belongs)
        which_ones = f", a drafter of the catalogue ({names})" if names else ""
        raise UserError(f"{settings.given('drafter')}: no such file; give the path of a GGUF{which_ones}, or none")
    return path


def _stored(drafter: ModelEntry, store: "Store | None", given: str) -> Path:
    from laguna_tui.models.store import Store

    path = drafter.path or (store or Store()).path(drafter)
    if path is None or not path.is_file():
        raise UserError(f"{given}: not on this machine; run: laguna-tui models download {drafter.name}")
    return path


def adapter_of(settings: Settings) -> tuple[str, Path] | None:
    """Name and file of the drafter's adapter, if there is to be one.

    Raises:
        UserError: the user named a file that is not there.
    """
    if settings.adapter is None:
        return None
    path = Path(settings.adapter).expanduser()
    if not path.is_file():
        raise UserError(f"{settings.given('adapter')}: no such file; give the path of a LoRA in GGUF")
    return path.stem, path


def engine_options(settings: Settings, entry: ModelEntry, drafter: Path | None, mode: "Speculation") -> "EngineOptions":
    """What to open without a plan: an entry that has a file, decoding in this mode."""
    from laguna_engine.engine import EngineOptions
    from laguna_engine.llama.options import KvType

    assert entry.path is not None, "resolve only returns entries with a file"
    adapter = adapter_of(settings)
    if adapter and drafter is None:
        raise UserError(
            f"{settings.given('adapter')}: {entry.title} has no drafter here that it could adapt; give one with "
            "--drafter FILE.gguf, or leave the adapter out"
        )
    return EngineOptions(
        model=entry.path,
        n_ctx=settings.context or entry.context,
        kv_type=KvType(settings.kv or KvType.F16),
        gpu_layers=-1 if settings.gpu_layers is None else settings.gpu_layers,
        threads=settings.threads or 0,
        speculation=mode,
        drafter=drafter,
        adapters=(adapter,) if adapter else (),
    )


def catalogue_context(wanted: str, entry: ModelEntry, catalogue: Mapping[str, ModelEntry]) -> int | None:
    """The context that an entry insists on; None where the machine may decide.

    An entry with a file of its own was written for this machine, or for a model that knows no other context; what is
    said about a model to download is for machines of every kind.
    """
    return entry.context if wanted in catalogue and entry.source is None else None


def economy_file(state: Path, options: "EngineOptions") -> Path:
    """Where is kept what an engine opened like this learned: files, device and everything else that sets its speed."""
    from laguna_engine.native.library import device_descriptions

    files = [f"{path.name} {path.stat().st_size}" if path else "" for path in (options.model, options.drafter)]
    chosen = (options.kv_type.value, options.gpu_layers, options.threads, options.speculation.value)
    return economy_path(state, options.model.stem, [*files, *device_descriptions(), *map(str, chosen)])


def agent_options(settings: Settings, entry: ModelEntry) -> "AgentOptions":
    """How answers are generated."""
    from laguna_engine.request import Drafting
    from laguna_tui.agent.turn import AgentOptions

    thinking = entry.thinking if settings.thinking is None else settings.thinking
    adapter = adapter_of(settings) if drafter_of(settings, entry) else None
    return AgentOptions(
        sampling=_sampling(settings, entry),
        thinking=thinking,
        max_tokens=settings.max_tokens,
        turns=entry.turns,
        drafting=Drafting(length=settings.draft_length, sampled=settings.sample_drafts, adapter=adapter and adapter[0]),
    )


def _sampling(settings: Settings, entry: ModelEntry) -> "Sampling":
    from laguna_engine.sampling import Sampling

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


def family_of(entry: ModelEntry, info: "EngineInfo") -> "Family":
    """Which chat format the open model reads: the catalogue's word, else the file's own."""
    from laguna_engine.chat.template import Family, family_for

    return Family[entry.template] if entry.template else family_for(info.name, info.chat_template)


def described(info: "EngineInfo") -> str:
    """An open model in one line."""
    cache = f"{info.kv_type.value} cache"
    return f"{info.n_params / 1e6:,.0f} M parameters, {size(info.size_bytes)}, {cache}, {info.devices[0]}"
