"""How far a download is: its progress as values, one rate and one time for all its files together, and its words.

Front ends get a report about ten times a second, and whenever something new happens.
"""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from laguna_tui.base.units import duration, size
from laguna_tui.models.cancellation import Cancellation


class DownloadPhase(StrEnum):
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

    phase: DownloadPhase
    bytes_done: int = 0
    bytes_total: int = 0
    rate: float = 0.0
    eta_s: float | None = None
    file: str = ""
    note: str = ""


class RateMeter:
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


_EVERY_S = 0.1


class ProgressReporter:
    """Passes progress on. `meter` counts the bytes of all files together."""

    def __init__(self, progress: Callable[[DownloadProgress], None], cancellation: Cancellation) -> None:
        self._progress, self._cancellation = progress, cancellation
        self._said: DownloadPhase | None = None
        self._next = 0.0
        self.meter = RateMeter(0, 0)

    def say(self, phase: DownloadPhase, *, file: str = "", note: str = "", always: bool = False) -> None:
        """How far all files are. always: something new happened, so it must not be lost."""
        if not always and not self._due(phase):
            return
        meter = self.meter
        rate, eta = (meter.rate, meter.eta_s) if phase is DownloadPhase.TRANSFER else (0.0, None)
        self._pass_on(DownloadProgress(phase, meter.done, meter.total, rate, eta, file, note))

    def of_one(self, phase: DownloadPhase, file: str, total: int) -> Callable[[int], None]:
        """To be called with bytes done while one file is checked; raises Paused or Cancelled to stop that."""
        done = 0

        def step(count: int) -> None:
            nonlocal done
            done += count
            self._cancellation.check()
            if self._due(phase):
                self._pass_on(DownloadProgress(phase, done, total, file=file))

        return step

    def converting(self, file: str) -> Callable[[int, int], None]:
        """To be called with bytes done and in all while a file is made; raises Paused or Cancelled to stop that."""

        def step(done: int, total: int) -> None:
            self._cancellation.check()
            if self._due(DownloadPhase.CONVERT):
                self._pass_on(DownloadProgress(DownloadPhase.CONVERT, done, total, file=file))

        return step

    def _due(self, phase: DownloadPhase) -> bool:
        return phase is not self._said or time.monotonic() >= self._next

    def _pass_on(self, progress: DownloadProgress) -> None:
        self._next, self._said = time.monotonic() + _EVERY_S, progress.phase
        self._progress(progress)


_DOING = {
    DownloadPhase.METADATA: "asking the hub about",
    DownloadPhase.WAITING: "waiting for",
    DownloadPhase.TRANSFER: "downloading",
    DownloadPhase.VERIFY: "checking",
    DownloadPhase.CONVERT: "converting",
    DownloadPhase.DONE: "everything is here",
}


def progress_text(progress: DownloadProgress) -> str:
    """One line: what is done, how far it is, how fast, how long still, and what is out of the ordinary."""
    parts = [f"{_DOING[progress.phase]} {progress.file}".strip()]
    if progress.bytes_total and progress.phase is not DownloadPhase.DONE:
        done, total = progress.bytes_done, progress.bytes_total
        parts.append(f"{size(done)} of {size(total)} ({done / total:.0%})")
    if progress.rate:
        parts.append(f"{size(progress.rate)}/s")
    if progress.eta_s is not None:
        parts.append(f"{duration(progress.eta_s)} left")
    if progress.note:
        parts.append(progress.note)
    return ", ".join(parts)
