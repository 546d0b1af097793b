"""Tells a front end how far a download is: about ten times a second, and whenever something new happens."""

import time
from collections.abc import Callable

from laguna_tui.models.brake import Brake
from laguna_tui.models.progress import DownloadProgress, Meter, Phase

_EVERY_S = 0.1


class Teller:
    """Passes progress on. `meter` counts the bytes of all files together."""

    def __init__(self, progress: Callable[[DownloadProgress], None], brake: Brake) -> None:
        self._progress, self._brake = progress, brake
        self._said: Phase | None = None
        self._next = 0.0
        self.meter = Meter(0, 0)

    def say(self, phase: Phase, *, file: str = "", note: str = "", always: bool = False) -> None:
        """How far all files are. always: something new happened, so it must not be lost."""
        if not always and not self._due(phase):
            return
        meter = self.meter
        rate, eta = (meter.rate, meter.eta_s) if phase is Phase.TRANSFER else (0.0, None)
        self._pass_on(DownloadProgress(phase, meter.done, meter.total, rate, eta, file, note))

    def of_one(self, phase: Phase, file: str, total: int) -> Callable[[int], None]:
        """To be called with bytes done while one file is checked; stops that when the brake is pulled."""
        done = 0

        def step(count: int) -> None:
            nonlocal done
            done += count
            self._brake.check()
            if self._due(phase):
                self._pass_on(DownloadProgress(phase, done, total, file=file))

        return step

    def converting(self, file: str) -> Callable[[int, int], None]:
        """To be called with bytes done and in all while a file is made; stops that when the brake is pulled."""

        def step(done: int, total: int) -> None:
            self._brake.check()
            if self._due(Phase.CONVERT):
                self._pass_on(DownloadProgress(Phase.CONVERT, done, total, file=file))

        return step

    def _due(self, phase: Phase) -> bool:
        return phase is not self._said or time.monotonic() >= self._next

    def _pass_on(self, progress: DownloadProgress) -> None:
        self._next, self._said = time.monotonic() + _EVERY_S, progress.phase
        self._progress(progress)
