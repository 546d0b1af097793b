"""The models a user can choose: which of their files are here, and whether they would run.

Opens no model; reads names, sizes, headers and free memory.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from laguna_engine.fit.decode_speed import known_rates
from laguna_engine.fit.devices import Machine, read_machine
from laguna_engine.fit.memory import HOST
from laguna_tui.base.settings import Settings
from laguna_tui.models.catalogue import load_catalogue
from laguna_tui.models.entry import ModelEntry, ModelKind
from laguna_tui.models.fit import model_verdict
from laguna_tui.models.remote_entry import is_url, remote_entry
from laguna_tui.models.store import ModelState, Store
from laguna_tui.session.values import Here, ModelChoice, OtherModels

_HERE = {
    ModelState.BUNDLED: Here.READY,
    ModelState.COMPLETE: Here.READY,
    ModelState.PARTIAL: Here.PARTIAL,
    ModelState.MISSING: Here.MISSING,
}
SMALL = "runs on any machine"
UNKNOWN = "too little is known about it"
_NO_FAILURES: Mapping[str, str] = {}


def list_models(
    settings: Settings,
    holds: Mapping[str, int],
    store: Store | None = None,
    *,
    is_open: bool = True,
    failed: Mapping[str, str] = _NO_FAILURES,
) -> tuple[ModelChoice, ...]:
    """Return the catalogue's models, and the chosen file if it is not among them.

    Args:
        settings: the user's; they say which model is chosen.
        holds: bytes that the open model takes, by device: they are free once it is closed.
        store: the models on disk; None for the user's.
        is_open: whether the chosen model is open.
        failed: why models did not open in this session, by name.
    """
    found = _list_models(settings, holds, store)
    return tuple(
        replace(
            each,
            current=each.current and is_open,
            fits=f"did not open: {failed[each.name]}" if each.name in failed else each.fits,
            runs=False if each.name in failed else each.runs,
        )
        for each in found
    )


def _list_models(settings: Settings, holds: Mapping[str, int], store: Store | None) -> tuple[ModelChoice, ...]:
    catalogue, shelf, machine = load_catalogue(), store or Store(), freed(read_machine(), holds)
    targets = [entry for entry in catalogue.values() if entry.kind is ModelKind.TARGET]
    found = [_choice(entry, catalogue, shelf, settings, machine) for entry in targets]
    remote = (entry for entry in catalogue.values() if entry.kind is ModelKind.REMOTE)
    found += [_endpoint(entry, current=settings.model == entry.name) for entry in remote]
    if settings.model in catalogue:
        return tuple(found)
    if is_url(settings.model):
        return (_endpoint(remote_entry(settings.model, catalogue), current=True), *found)
    own = ModelChoice(settings.model, settings.model.rpartition("/")[2], Here.READY, current=True)
    return (own, *found)


def list_others(home: Path | None = None, *, offline: bool) -> OtherModels:
    """Return what other programs have on this machine: models that they serve, and model files in their stores.

    Asks their ports on loopback, so only where the user wants to know; takes a few seconds at most.

    Args:
        home: the user's home folder; None for this process's.
        offline: ask no port, and look for files only.
    """
    from laguna_tui.backends.endpoint import LOOPBACK_PORTS, loopback_models
    from laguna_tui.models.other_stores import found_files, other_stores, why_unusable

    served = [
        ModelChoice(f"{each.url}#{each.name}", each.name, Here.REMOTE, f"served here by {each.owner}")
        for each in (() if offline else loopback_models())
    ]
    files = {each: why_unusable(each.path) for each in found_files(home)}
    usable = (
        ModelChoice(str(each.path), each.title, Here.READY, f"a file of {each.owner}", size=each.size)
        for each, reason in files.items()
        if not reason
    )
    ports = tuple(f"{owner} (port {port})" for port, owner in LOOPBACK_PORTS.items())
    folders = other_stores(home).shown
    left_out = {
        reason: tuple(each.title for each, why in files.items() if why == reason) for reason in files.values() if reason
    }
    asked, not_asked = ((), ports) if offline else (ports, ())
    return OtherModels((*served, *usable), left_out, (*asked, *folders), not_asked)


def _endpoint(entry: ModelEntry, *, current: bool) -> ModelChoice:
    return ModelChoice(entry.name, entry.title, Here.REMOTE, f"at {urlsplit(entry.url).netloc}", current=current)


def freed(machine: Machine, holds: Mapping[str, int]) -> Machine:
    """Return the machine as it will be when the open model is closed."""
    devices = tuple(
        replace(device, free=min(device.total, device.free + holds.get(device.name, 0))) for device in machine.devices
    )
    return replace(machine, devices=devices, ram_free=min(machine.ram_total, machine.ram_free + holds.get(HOST, 0)))


def _choice(
    entry: ModelEntry, catalogue: Mapping[str, ModelEntry], store: Store, settings: Settings, machine: Machine
) -> ModelChoice:
    status = store.status(entry)
    here = _HERE[status.state] if entry.path or entry.source else Here.NOWHERE
    current = settings.model == entry.name
    choice = ModelChoice(entry.name, entry.title, here, SMALL, True, status.bytes_total, status.bytes_have, current)
    if status.state is ModelState.BUNDLED:
        return choice
    found = model_verdict(entry.name, catalogue, settings, machine, known_rates(machine))
    words = UNKNOWN if found.unknown else found.words if found.plan is not None else "does not fit on this machine"
    words = "too large for the memory here" if found.plan is not None and found.plan.paged else words
    fits = ", ".join(filter(None, (entry.design, words, entry.license)))
    return replace(choice, fits=fits, runs=None if found.unknown else found.plan is not None)
