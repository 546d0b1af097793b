"""What the commands share in output: printing results, and the check of a file to write."""

import sys
from collections.abc import Iterable
from pathlib import Path

from laguna_tui.base.errors import UserError
from laguna_tui.base.text import sanitize


def check_target(target: Path, *, force: bool, streams: bool = False) -> None:
    """Check that a command can write to `target`.

    Args:
        target: the file that the user named.
        force: an existing file may be replaced.
        streams: a device or a pipe can be written to; nothing of it is replaced.

    Raises:
        UserError: no file can be written there, or one exists and may not be replaced.
    """
    from laguna_engine.files import is_stream

    if target.is_dir():
        raise UserError(f"{target}: is a folder; give the name of the file to write")
    if not target.parent.is_dir():
        raise UserError(f"{target}: there is no folder {target.parent}; create it first")
    if not target.exists() or (streams and is_stream(target)):
        return
    if not target.is_file():
        raise UserError(f"{target}: is not a regular file; give another name")
    if not force:
        raise UserError(f"{target}: already exists; give another name, or --force to replace it")


def say(lines: Iterable[str]) -> None:
    """Print a command's result."""
    sys.stdout.write("".join(sanitize(line) + "\n" for line in lines))
    sys.stdout.flush()
