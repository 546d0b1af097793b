"""Progress of a download: its values, the rate and ETA over all files together, and its text.

Front ends get a report about ten times a second, and at every change of phase.
"""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from laguna_tui.base.units import duration, size
from laguna_tui.models.cancellation import DownloadCancellation


class DownloadPhase(StrEnum):
    """The current step."""

    METADATA = "metadata"
    WAITING = "waiting"
    TRANSFER = "transfer"
    VERIFY = "verify"
    CONVERT = "convert"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class DownloadProgress:
    """Progress of a download.

    Attributes:
        phase: The current step.
        bytes_done: Of all files together; in the phases `verify` and `convert`, of the current file.
        bytes_total: Of the same; 0 while unknown.
        rate: Bytes per second over the last seconds; 0.0 while nothing moves.
        eta_s: Seconds until all files are complete at this rate; None if unknown.
        file: Name of the current file on the hub.
        note: A sentence about anything unusual, or "".
    """

    phase: DownloadPhase
    bytes_done: int = 0
    bytes_total: int = 0
    rate: float = 0.0
    eta_s: float | None = None
    file: str = ""
    note: str = ""


class RateMeter:
    """Rate of received bytes. Bytes present at the start count as done but not in the rate."""

    WINDOW_S = 8.0
    """Length of the rate's window: long enough not to flicker, short enough to follow a change."""
    _STEP_S = 0.1
    MIN_ELAPSED_S = 1.0
    """No ETA before this much was measured: the rate is still a guess."""

    def __init__(self, total: int, done: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.total = total
        self.done = done
        self._clock = clock
        self._samples: deque[tuple[float, int]] = deque()
        self._started = clock()

    def add(self, count: int) -> None:
        """Add received bytes; a negative count is lost bytes, which do not affect the rate."""
        self.done += count
        if count <= 0:
            return
        now = self._clock()
        # A fast line delivers thousands of chunks a second.
        if self._samples and now - self._samples[-1][0] < self._STEP_S:
            now, before = self._samples.pop()
            count += before
        self._samples.append((now, count))

    def start(self) -> None:
        """Restart the measurement; earlier samples say nothing about what follows."""
        self._samples.clear()
        self._started = self._clock()

    @property
    def rate(self) -> float:
        """Bytes per second."""
        now = self._clock()
        while self._samples and self._samples[0][0] < now - self.WINDOW_S:
            self._samples.popleft()
        elapsed = min(now - self._started, self.WINDOW_S)
        return sum(count for _, count in self._samples) / elapsed if elapsed > 0 else 0.0

    @property
    def eta_s(self) -> float | None:
        """Seconds until everything is received, or None if unknown."""
        rate = self.rate
        measured = self._clock() - self._started
        return (self.total - self.done) / rate if rate > 0 and measured >= self.MIN_ELAPSED_S else None


_EVERY_S = 0.1


class ProgressReporter:
    """Rate-limits progress reports. `meter` counts the bytes of all files together."""

    def __init__(self, progress: Callable[[DownloadProgress], None], cancellation: DownloadCancellation) -> None:
        self._progress, self._cancellation = progress, cancellation
        self._last_phase: DownloadPhase | None = None
        self._next = 0.0
        self.meter = RateMeter(0, 0)

    def report(self, phase: DownloadPhase, *, file: str = "", note: str = "", always: bool = False) -> None:
        """Report the progress of all files. always: the report must not be dropped by the rate limit."""
        if not always and not self._due(phase):
            return
        meter = self.meter
        rate, eta = (meter.rate, meter.eta_s) if phase is DownloadPhase.TRANSFER else (0.0, None)
        self._send(DownloadProgress(phase, meter.done, meter.total, rate, eta, file, note))

    def check_step(self, file: str, total: int) -> Callable[[int], None]:
        """Return a callback for bytes hashed of a file; it raises Paused or Cancelled to stop."""
        done = 0

        def step(count: int) -> None:
            nonlocal done
            done += count
            self._step(DownloadPhase.VERIFY, file, done, total)

        return step

    def conversion_step(self, file: str) -> Callable[[int, int], None]:
        """Return a callback for bytes done and in total of a conversion; it raises Paused or Cancelled to stop."""
        return partial(self._step, DownloadPhase.CONVERT, file)

    def _step(self, phase: DownloadPhase, file: str, done: int, total: int) -> None:
        self._cancellation.check()
        if self._due(phase):
            self._send(DownloadProgress(phase, done, total, file=file))

    def _due(self, phase: DownloadPhase) -> bool:
        return phase is not self._last_phase or time.monotonic() >= self._next

    def _send(self, progress: DownloadProgress) -> None:
        self._next, self._last_phase = time.monotonic() + _EVERY_S, progress.phase
        self._progress(progress)


_PHASE_TEXT = {
    DownloadPhase.METADATA: "asking the hub about",
    DownloadPhase.WAITING: "waiting for",
    DownloadPhase.TRANSFER: "downloading",
    DownloadPhase.VERIFY: "checking",
    DownloadPhase.CONVERT: "converting",
    DownloadPhase.DONE: "everything is downloaded",
}


def progress_text(progress: DownloadProgress) -> str:
    """Return one line: the step, bytes done, rate, time left, and the note."""
    parts = [f"{_PHASE_TEXT[progress.phase]} {progress.file}".strip()]
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
