"""What the commands share in output: results, warnings, tables, files and confirmations."""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from laguna_engine.files import is_stream, write_output
from laguna_tui.base.errors import UserError
from laguna_tui.base.text import sanitize


def say(lines: Iterable[str]) -> None:
    """Print a command's result."""
    sys.stdout.write("".join(sanitize(line) + "\n" for line in lines))
    sys.stdout.flush()


def warn(sentence: str) -> None:
    """Print a sentence about the result to stderr."""
    sys.stderr.write(f"laguna-tui: {sanitize(sentence)}\n")


def print_json(value: object, *, indent: int | None = None) -> None:
    """Print a result, or one event of several, for programs."""
    sys.stdout.write(json.dumps(value, indent=indent) + "\n")
    sys.stdout.flush()


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield rows as lines with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def has_colours() -> bool:
    """Whether stdout is a terminal that shows colours."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def confirmed(question: str) -> bool:
    """Ask the user a question on the terminal; True for yes. Raises UserError without a terminal."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UserError("there is no terminal to ask for confirmation on; add --yes")
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().casefold() in ("y", "yes")


def check_target(target: Path, *, force: bool, streams: bool = False) -> None:
    """Check that a command can write to `target`.

    Args:
        target: The file that the user named.
        force: An existing file may be replaced.
        streams: A device or a pipe may be written to; nothing of it is replaced.

    Raises:
        UserError: No file can be written there, or one exists and may not be replaced.
    """
    if target.is_dir():
        raise UserError(f"{target}: is a folder; give the name of a file to write")
    if not target.parent.is_dir():
        raise UserError(f"{target}: there is no folder {target.parent}; create it first")
    if not target.exists() or (streams and is_stream(target)):
        return
    if not target.is_file():
        raise UserError(f"{target}: is not a regular file; give another name")
    if not force:
        raise UserError(f"{target}: already exists; give another name, or add --force to replace it")


def write_file(flag: str, target: Path, text: str, mode: int = 0o666) -> None:
    """Write a result to the file that a flag names. Raises UserError if it cannot be written."""
    try:
        write_output(target.expanduser(), text, mode)
    except OSError as error:
        raise UserError(f"{flag} {target}: {error.strerror or error}; choose a file that can be written") from error
