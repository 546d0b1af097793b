"""The scorer of a session: opened when files have to be shortened, on the device that has room for it.

Where a GPU has room for the drafter or the scorer but not for both, they take turns: the drafter is closed while files
are scored for a message, and is opened again before the answer begins.
"""

import threading
from typing import TYPE_CHECKING

from laguna_engine.errors import EngineError
from laguna_tui.base.errors import UserError
from laguna_tui.base.settings import Settings
from laguna_tui.context.scoring import ScorerSource, open_scorer
from laguna_tui.models.model_selection import scorer_path

if TYPE_CHECKING:
    from pathlib import Path

    from laguna_engine.compress.scorer import Scorer
    from laguna_engine.engine import Engine
    from laguna_engine.fit.scorer_device import ScorerDevice


class SessionScorer(ScorerSource):
    """At most one open scorer. The session's thread calls `take` and `release`, any thread the others."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._engine: Engine | None = None
        self._scorer: Scorer | None = None
        self._tried = False
        self._turns = False
        self._rate: float | None = None
        self._measuring: threading.Thread | None = None
        self._closed = False
        # A plain value: a signal handler may set it, where a lock could wait for itself.
        self._skipped = False
        # Reentrant: a scorer that cannot be opened is released.
        self._lock = threading.RLock()

    def use_engine(self, engine: "Engine | None") -> None:
        """Set the engine whose drafter makes room for the scorer; None for a remote model."""
        with self._lock:
            self._engine = engine

    def take(self) -> "Scorer | None":
        """Return the open scorer; None without one. `release` it when the message's files are scored.

        Raises:
            UserError, EngineError: the settings name one that cannot be used; raised once.
        """
        self._skipped = False
        with self._lock:
            if not self._tried and not self._closed:
                self._tried = True
                self._open()
            return self._scorer

    def skip(self) -> None:
        """Score nothing more for this message. Any thread, at any time; harmless if nothing is scored."""
        self._skipped = True
        scorer = self._scorer
        if scorer is not None:
            scorer.interrupt()

    def skipped(self) -> bool:
        """Return whether the scorer that was taken last shall score no more."""
        return self._skipped

    def release(self) -> None:
        """End scoring for this message: a scorer that takes turns with the drafter leaves the device to it."""
        with self._lock:
            if not self._turns:
                return
            self._turns = False
            if self._scorer is not None:
                self._rate = self._scorer.rate or self._rate
                self._scorer.close()
                self._scorer, self._tried = None, False
            if self._engine is not None:
                self._engine.resume_drafters()

    def rate(self) -> float | None:
        """Return its tokens per second; None while that is unknown, and without one.

        The first call opens and measures it in the background, unless it would take turns with the drafter.
        """
        scorer = self._scorer
        if scorer is not None and scorer.rate:
            return scorer.rate
        if self._rate is None and self._measuring is None and (scorer is not None or not self._tried):
            self._measuring = threading.Thread(target=self._measure, name="scorer", daemon=True)
            self._measuring.start()
        return self._rate

    def measuring(self) -> bool:
        """Return whether its speed is being measured in the background."""
        return self._measuring is not None and self._measuring.is_alive()

    def close(self) -> None:
        """Free it. Idempotent."""
        self._closed = True
        self.skip()
        if self._measuring is not None:
            self._measuring.join()
        if self._scorer is not None:
            self._scorer.close()

    def _measure(self) -> None:
        """Open and measure it; what is wrong with it is raised when it is needed."""
        try:
            with self._lock:
                path = scorer_path(self._settings)
                if path is None or self._device(path).turns:
                    return
            scorer = self.take()
            if scorer is not None:
                scorer.measure()
        except (EngineError, UserError):
            with self._lock:
                self._tried = self._scorer is not None

    def _open(self) -> None:
        path = scorer_path(self._settings)
        if path is None:
            return
        place = self._device(path)
        if place.turns and self._engine is not None:
            self._turns = True
            self._engine.rest_drafters()
        try:
            self._scorer = open_scorer(path, self._settings, place.name)
        except BaseException:
            self.release()
            raise

    def _device(self, path: "Path") -> "ScorerDevice":
        """Return where it has room now."""
        from laguna_engine.fit.scorer_device import ScorerDevice, scorer_bytes, scorer_device_now

        # A user who wants no layer of the model on a GPU wants nothing else there.
        if self._settings.gpu_layers == 0:
            return ScorerDevice()
        return scorer_device_now(scorer_bytes(path), 0 if self._engine is None else self._engine.drafter_nbytes)
