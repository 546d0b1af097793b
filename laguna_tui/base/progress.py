"""The progress of a command: one line on stderr that is overwritten, on a terminal only."""

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from shutil import get_terminal_size
from typing import Self

from laguna_tui.base.text import sanitize_line

_REDRAW_S = 0.1


class ProgressLine:
    """A line of progress. Costs next to nothing if it is not drawn. Any thread.

    Attributes:
        visible: whether it is drawn at all: stderr is a terminal, and `quiet` was not asked for.
    """

    def __init__(self, doing: str = "", *, quiet: bool = False) -> None:
        """Draw nothing yet.

        Args:
            doing: what is being done, for `show_share`.
            quiet: draw nothing.
        """
        self._doing = doing
        self.visible = not quiet and sys.stderr.isatty()
        self._next = 0.0
        self._drawn = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def show(self, text: str, *, at_once: bool = False) -> None:
        """Replace the text.

        Args:
            text: the new one.
            at_once: even if the last one was shown too briefly to be read.
        """
        now = time.monotonic()
        if self.visible and (at_once or now >= self._next):
            self._next = now + _REDRAW_S
            # Cut: a line that wraps could not be overwritten.
            self._write(sanitize_line(text)[: _columns() - 1])

    def show_share(self, done: float, total: float) -> None:
        """Show how much of the whole is done."""
        if total > 0:
            self.show(f"{self._doing}: {done / total:.0%}")

    def counter(self, total: float) -> Callable[[int], None]:
        """Return a function to call with the size of each part done; it shows the sum as a share of `total`."""
        done = 0

        def step(count: int) -> None:
            nonlocal done
            done += count
            self.show_share(done, total)

        return step

    def clear(self) -> None:
        """Leave the line empty; writes nothing if it is."""
        if self._drawn:
            self._write("")

    def _write(self, text: str) -> None:
        # The terminal may be gone; the work continues without it.
        self._drawn = bool(text)
        with suppress(OSError):
            sys.stderr.write(f"\x1b[K{text}\r" if text else "\x1b[K")
            sys.stderr.flush()


def _columns() -> int:
    """Return the width of the terminal that stderr is; of stdout, or of the environment, where it has none."""
    # A stream without a descriptor raises an error that is both.
    with suppress(OSError, ValueError):
        if columns := os.get_terminal_size(sys.stderr.fileno()).columns:
            return columns
    return get_terminal_size().columns
