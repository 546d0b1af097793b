"""What the commands that write a file share: where they may write, progress on one line, sizes and results in words."""

import sys
import time
from collections.abc import Iterable
from pathlib import Path

from laguna_tui.errors import UserError
from laguna_tui.text import sanitize

_REDRAW_S = 0.1
"""Between two lines of progress."""


def check_target(target: Path, *, force: bool) -> None:
    """UserError if no file can be written there, or one is there already and may not be replaced."""
    if target.is_dir():
        raise UserError(f"{target}: is a folder; give the name of the file to write")
    if not target.parent.is_dir():
        raise UserError(f"{target}: there is no folder {target.parent}; make it first")
    if target.exists() and not force:
        raise UserError(f"{target}: exists already; give another name, or --force to replace it")


def size(count: int) -> str:
    """Bytes in words."""
    return f"{count / 1e9:.2f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"


def say(lines: Iterable[str]) -> None:
    """Print a command's result."""
    sys.stdout.write("".join(sanitize(line) + "\n" for line in lines))
    sys.stdout.flush()


class Line:
    """Progress in one line that is overwritten, on a terminal only."""

    def __init__(self, doing: str) -> None:
        self._doing = doing
        self._shows = sys.stderr.isatty()
        self._next = 0.0

    def __enter__(self) -> "Line":
        return self

    def __exit__(self, *_: object) -> None:
        if self._shows:
            sys.stderr.write("\x1b[K")

    def show(self, done: float, total: float) -> None:
        """So much of the whole is done. Any thread."""
        now = time.monotonic()
        if self._shows and now >= self._next and total > 0:
            self._next = now + _REDRAW_S
            sys.stderr.write(sanitize(f"{self._doing}: {done / total:.0%}") + "\r")
            sys.stderr.flush()
