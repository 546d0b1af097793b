"""The time limit of `ask --timeout`: it counts from the start of the command and interrupts whatever it waits for."""

import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import closing
from types import FrameType, TracebackType

from laguna_tui.base.events import AgentEvent, TurnEnd, TurnFinished

_CANCEL_AGAIN_S = 0.5
_GRACE_S = 5.0
"""How long a cancelled turn has to end in order; then whatever it waits for is interrupted."""


class TimeLimitReached(KeyboardInterrupt):
    """Raised in the main thread like a Ctrl-C, which everything that waits is prepared for."""


class TimeLimit:
    """A time limit, as a context of the main thread.

    Attributes:
        reached: Whether the time is over.
    """

    def __init__(self, seconds: float | None) -> None:
        """seconds: From now on; None for no limit."""
        self.reached = False
        self._seconds = seconds
        self._over = threading.Event()
        self._cancel: Callable[[], None] | None = None
        self._watch: threading.Thread | None = None

    def __enter__(self) -> "TimeLimit":
        if self._seconds is not None:
            self._before = signal.signal(signal.SIGALRM, self._interrupt)
            main, seconds = threading.get_ident(), self._seconds
            self._watch = threading.Thread(target=self._end, args=(seconds, main), name="time limit", daemon=True)
            self._watch.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End the limit: nothing is interrupted from now on. Idempotent."""
        self._over.set()
        if self._watch is not None:
            self._watch.join()
            self._watch = None
            signal.signal(signal.SIGALRM, self._before)

    def of_turn(
        self, events: Generator[AgentEvent, None, None], cancel: Callable[[], None]
    ) -> Generator[AgentEvent, None, None]:
        """Yield the events of a turn, which is cancelled when the time is over; its last event then reports that."""
        self._cancel = cancel
        with closing(events):
            try:
                for event in events:
                    timed_out = self.reached and event == TurnFinished(TurnEnd.CANCELLED)
                    yield TurnFinished(TurnEnd.TIMED_OUT) if timed_out else event
            except TimeLimitReached:
                yield TurnFinished(TurnEnd.TIMED_OUT)

    def _end(self, seconds: float, main: int) -> None:
        if self._over.wait(seconds):
            return
        self.reached = True
        patience = time.monotonic() + _GRACE_S
        # A turn that is only starting does not notice a cancel, so it is repeated.
        while self._cancel is not None and time.monotonic() < patience:
            self._cancel()
            if self._over.wait(_CANCEL_AGAIN_S):
                return
        signal.pthread_kill(main, signal.SIGALRM)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if not self._over.is_set():
            raise TimeLimitReached
