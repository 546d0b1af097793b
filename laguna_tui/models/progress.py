"""What a download says while it runs, and the one honest rate and time for all its files together."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Phase(StrEnum):
    """What is being done now."""

    METADATA = "metadata"
    WAITING = "waiting"
    TRANSFER = "transfer"
    VERIFY = "verify"
    CONVERT = "convert"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class DownloadProgress:
    """How far it is.

    bytes_done, bytes_total: of all files together; in the phases `verify` and `convert`, of the file being checked or
        made. 0 while nothing is known.
    rate: bytes per second over the last seconds; 0.0 while nothing moves.
    eta_s: seconds until all files are there at this rate; None when nobody can say.
    file: its name on the hub. note: a sentence about what is out of the ordinary, or "".
    """

    phase: Phase
    bytes_done: int = 0
    bytes_total: int = 0
    rate: float = 0.0
    eta_s: float | None = None
    file: str = ""
    note: str = ""


class Meter:
    """Counts bytes as they arrive. Bytes that were there before count as done, not as speed."""

    WINDOW_S = 8.0
    """How far back the rate looks: long enough not to flicker, short enough to notice a change."""
    _STEP_S = 0.1
    SURE_S = 1.0
    """Below this much measuring a rate is a guess, and an ETA a wild one."""

    def __init__(self, total: int, done: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.total = total
        self.done = done
        self._clock = clock
        self._moved: deque[tuple[float, int]] = deque()
        self._since = clock()

    def add(self, count: int) -> None:
        """So many more bytes have arrived; below 0, so many are lost, which is no speed."""
        self.done += count
        if count > 0:
            self._moved_now(count)

    def _moved_now(self, count: int) -> None:
        """Collected in short steps: a fast line brings thousands of pieces a second."""
        now = self._clock()
        if self._moved and now - self._moved[-1][0] < self._STEP_S:
            then, before = self._moved.pop()
            self._moved.append((then, before + count))
        else:
            self._moved.append((now, count))

    def set_done(self, done: int) -> None:
        """So many are here after all: some were lost, or came from elsewhere."""
        self.done = done

    def begin(self) -> None:
        """Measure from now on; what was before says nothing about what comes."""
        self._moved.clear()
        self._since = self._clock()

    @property
    def rate(self) -> float:
        """Bytes per second."""
        now = self._clock()
        while self._moved and self._moved[0][0] < now - self.WINDOW_S:
            self._moved.popleft()
        elapsed = min(now - self._since, self.WINDOW_S)
        return sum(count for _, count in self._moved) / elapsed if elapsed > 0 else 0.0

    @property
    def eta_s(self) -> float | None:
        """Seconds until everything is here, or None."""
        rate = self.rate
        measured = self._clock() - self._since
        return (self.total - self.done) / rate if rate > 0 and measured >= self.SURE_S else None
