"""What the commands share in output: printing results, and the check of a file to write."""

import sys
from collections.abc import Iterable
from pathlib import Path

from laguna_tui.base.errors import UserError
from laguna_tui.base.text import sanitize


def check_target(target: Path, *, force: bool) -> None:
    """Raise UserError if no file can be written to `target`, or one exists and may not be replaced."""
    if target.is_dir():
        raise UserError(f"{target}: is a folder; give the name of the file to write")
    if not target.parent.is_dir():
        raise UserError(f"{target}: there is no folder {target.parent}; create it first")
    if target.exists() and not force:
        raise UserError(f"{target}: already exists; give another name, or --force to replace it")


def say(lines: Iterable[str]) -> None:
    """Print a command's result."""
    sys.stdout.write("".join(sanitize(line) + "\n" for line in lines))
    sys.stdout.flush()
