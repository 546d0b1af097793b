"""The files that the user writes: settings, and entries of the model catalogue. A mistake in one stops every start."""

from collections.abc import Callable, Iterator
from pathlib import Path

from laguna_tui.doctor.finding import Finding, fail, ok
from laguna_tui.doctor.machine import Machine
from laguna_tui.errors import UserError
from laguna_tui.models.catalogue import check_catalogue
from laguna_tui.models.places import user_catalogue
from laguna_tui.settings import config_path, parse_settings

_REPLACED = "\ufffd"
"""What a byte that is not UTF-8 is read as."""


def check_settings(machine: Machine) -> Iterator[Finding]:
    """One finding a file."""
    yield _file(machine, "settings", config_path(), parse_settings)
    yield _file(machine, "own models", user_catalogue(), check_catalogue)


def _file(machine: Machine, check: str, path: Path, parse: Callable[[str, Path], object]) -> Finding:
    room = machine.room(path)
    if room is not None and not room.exists:
        return ok(check, f"none; {path} is where they would be")
    text = machine.read(str(path))
    if text is None:
        return fail(check, f"{path} cannot be read", "correct its permissions: chmod u+r")
    if _REPLACED in text:
        return fail(check, f"{path} is not UTF-8 text", "save it as UTF-8, or move it away")
    try:
        parse(text, path)
    except UserError as error:
        # Each error names the file and says what is allowed.
        return fail(check, "; ".join(str(error).splitlines()), f"correct {path}, or move it away")
    return ok(check, str(path))
