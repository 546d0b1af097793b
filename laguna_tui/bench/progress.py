"""How far a benchmark is: one line on stderr that is overwritten, on a terminal only."""

import sys
import time
from typing import Self

from laguna_tui.text import sanitize_line

_REDRAW_S = 0.1
_WIDTH = 78
"""Narrow enough for any terminal; a wrapped line could not be overwritten."""


class Progress:
    """A line that says what is measured now. Costs next to nothing when nobody sees it."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._shows = not quiet and sys.stderr.isatty()
        self._next = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def show(self, doing: str) -> None:
        """Say what is being done; between two redraws nothing happens."""
        now = time.monotonic()
        if self._shows and now >= self._next:
            self._next = now + _REDRAW_S
            self._write(sanitize_line(doing)[:_WIDTH])

    def clear(self) -> None:
        """Leave the line empty."""
        if self._shows:
            self._write("")

    def _write(self, text: str) -> None:
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()
