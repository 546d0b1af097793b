"""From what a user calls a model to what decides whether it fits: its file's header, or what is published about it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from laguna_engine.fit.drafter import DrafterShape
from laguna_engine.fit.imagined import XS_DRAFTER, imagined
from laguna_engine.fit.shape import ModelShape
from laguna_engine.gguf import drafter as drafter_files
from laguna_engine.gguf import header
from laguna_engine.gguf.drafter import DrafterHeader
from laguna_tui.choices import drafter_of
from laguna_tui.errors import UserError
from laguna_tui.models.catalogue import resolve
from laguna_tui.models.entry import Kind, ModelEntry, companions
from laguna_tui.settings import NO_DRAFTER, Settings


@dataclass(frozen=True, slots=True)
class Known:
    """A model that can be planned for. file: None while it has to be downloaded, so that sizes are from its
    description. drafter: None without one."""

    title: str
    file: Path | None
    shape: ModelShape
    drafter: DrafterHeader | DrafterShape | None


def known(wanted: str, catalogue: Mapping[str, ModelEntry], settings: Settings) -> Known:
    """The model that `wanted`, a name or a file, stands for.

    Raises:
        UserError: there is no such model, or too little is known of it before its download.
        EngineError: its file, or its drafter's, is not what it should be.
    """
    entry = catalogue.get(wanted)
    if entry is None or entry.kind is not Kind.TARGET:
        return _from_file(resolve(wanted, catalogue), settings)
    try:
        there = resolve(wanted, catalogue)
    except UserError:
        return _from_description(entry, catalogue, settings)
    return _from_file(there, settings)


def _from_file(entry: ModelEntry, settings: Settings) -> Known:
    assert entry.path is not None, "resolve only returns entries with a file"
    target = header.check(entry.path)
    path = drafter_of(settings, entry)
    drafter = None
    if path is not None:
        drafter = drafter_files.read(path)
        drafter_files.check_pair(drafter, target)
    return Known(entry.title, entry.path, replace(ModelShape.of(target), name=entry.title), drafter)


def _from_description(entry: ModelEntry, catalogue: Mapping[str, ModelEntry], settings: Settings) -> Known:
    size = entry.source.size if entry.source is not None else None
    shape = imagined(entry.title, entry.facts, entry.context_max or entry.context, size)
    if shape is None:
        raise UserError(f"{entry.title}: too little is known of it before its file is here; give the path of its GGUF")
    return Known(entry.title, None, shape, _described_drafter(entry, catalogue, settings))


def _described_drafter(
    entry: ModelEntry, catalogue: Mapping[str, ModelEntry], settings: Settings
) -> DrafterShape | None:
    """The recommended drafter, as it would be after a download."""
    found = companions(entry, catalogue, Kind.DRAFTER)
    if not found or settings.drafter == NO_DRAFTER:
        return None
    size = found[0].source.size if found[0].source is not None else None
    return XS_DRAFTER if size is None else replace(XS_DRAFTER, weights=size)
