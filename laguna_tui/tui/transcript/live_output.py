r"""What a running command has written lately, as the lines that a terminal would show.

A program that goes back to the start of its line, as progress bars do, writes over it. Memory is bounded.
"""

from collections import deque

# Lines that are kept; the whole output is on disk, and its end comes with the command's result.
MAX_LINES = 400
# A longer line is cut off at its beginning.
LINE_CHARS = 4096


class LiveOutput:
    """The last lines of an output that comes in pieces, sanitised but for "\r"."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=MAX_LINES)
        self._line = ""
        self._at_start = False
        self._dropped = 0

    def add(self, text: str) -> None:
        """Take the next piece."""
        first, *more = text.split("\n")
        self._write(first)
        for part in more:
            self._dropped += len(self._lines) == MAX_LINES
            self._lines.append(self._line)
            self._line, self._at_start = "", False
            self._write(part)

    def _write(self, text: str) -> None:
        """Write within the line; the line is cleared by the first character behind a carriage return."""
        _, back, last = text.rstrip("\r").rpartition("\r")
        if last:
            self._line = last if back or self._at_start else self._line + last
            self._line = self._line[-LINE_CHARS:]
            self._at_start = False
        self._at_start = self._at_start or text.endswith("\r")

    @property
    def lines(self) -> list[str]:
        """The last lines, the one that has not ended included."""
        return [*self._lines, self._line] if self._line else list(self._lines)

    @property
    def dropped(self) -> int:
        """Number of lines before them."""
        return self._dropped
