"""The disk, and the folders that the app keeps things in."""

from collections.abc import Iterator
from pathlib import Path

import platformdirs

from laguna_tui.base.units import GIB, memory
from laguna_tui.doctor.finding import Finding, fail, ok, skip, warn
from laguna_tui.doctor.machine import Machine
from laguna_tui.models.places import store_folder
from laguna_tui.settings import APP, state_dir

LAGUNA_BYTES = 22 * GIB
"""Laguna XS at four bits and its drafter, with a little left over."""
LEAST_BYTES = 1 * GIB
"""Below this even sessions and the screen's history may fail to be written."""


def check_storage(machine: Machine) -> Iterator[Finding]:
    """The disk of the models, then each folder."""
    yield _disk(machine, store_folder())
    yield _folder(machine, "models folder", store_folder(), "no model can be downloaded")
    yield _folder(machine, "state folder", state_dir(), "nothing is remembered between sessions")
    yield _folder(machine, "cache folder", platformdirs.user_cache_path(APP), "some things take longer than they need")
    yield _hub_cache(machine)


def hub_cache(machine: Machine) -> Path:
    """Where huggingface_hub keeps what other programs downloaded."""
    environment = machine.environment
    home = environment.get("HF_HOME") or Path(environment.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    return Path(environment.get("HF_HUB_CACHE") or Path(home, "hub")).expanduser()


def _disk(machine: Machine, folder: Path) -> Finding:
    room = machine.room(folder)
    if room is None:
        return fail("disk", f"the disk of {folder} does not answer", "see whether it is mounted, and reachable")
    found = f"{memory(room.free)} free for models in {folder}"
    if room.free < LEAST_BYTES:
        return fail("disk", found, "make room: below 1 GiB not even sessions can be kept safely")
    if room.free < LAGUNA_BYTES:
        todo = "make room, or keep models on another disk: LAGUNA_TUI_MODELS=/path/to/folder"
        return warn("disk", f"{found}: not enough for Laguna XS (22 GiB)", todo)
    return ok("disk", found)


def _folder(machine: Machine, check: str, folder: Path, loss: str) -> Finding:
    room = machine.room(folder)
    if room is None:
        return fail(check, f"{folder} does not answer: {loss}", "see whether its disk is mounted, and reachable")
    if room.writable:
        return ok(check, f"{folder}" if room.exists else f"{folder}, not there yet")
    return fail(check, f"{room.folder} cannot be written: {loss}", f"make it yours: chown or chmod u+rwx {room.folder}")


def _hub_cache(machine: Machine) -> Finding:
    folder = hub_cache(machine)
    room = machine.room(folder)
    if room is None or not room.exists:
        return skip("hub cache", f"{folder} is not there; nothing was downloaded by other programs")
    return ok("hub cache", f"{folder}, looked into before anything is downloaded")
