"""Cancellation of a download: every wait in it goes through one `Cancellation`, which ends the wait at once."""

import threading
from collections.abc import Callable
from queue import Empty, Queue
from typing import TypeVar

from laguna_tui.models.download_errors import Cancelled, Paused

_T = TypeVar("_T")
_POLL_S = 0.1
"""How long a request may go unnoticed while something else is awaited; a tenth of the promised second."""


class Cancellation:
    """A request to pause or cancel. Set from any thread, checked by the downloading one."""

    def __init__(self) -> None:
        self._requested = threading.Event()
        self._reason: type[Paused] | type[Cancelled] = Paused

    def pause(self) -> None:
        """Request a stop that keeps the bytes received so far."""
        self._requested.set()

    def cancel(self) -> None:
        """Request a stop after which the bytes received so far may be removed."""
        self._reason = Cancelled
        self._requested.set()

    def reset(self) -> None:
        """Clear the request."""
        self._reason = Paused
        self._requested.clear()

    def check(self) -> None:
        """Raise Paused or Cancelled if a stop was requested."""
        if self._requested.is_set():
            raise self._reason

    def sleep(self, seconds: float) -> None:
        """Sleep for `seconds`; raise Paused or Cancelled as soon as a stop is requested."""
        self._requested.wait(seconds)
        self.check()

    def call(self, function: Callable[[], _T]) -> _T:
        """Return the result of a call that may block for long (a name server, a silent proxy).

        It runs on a thread of its own, which is abandoned on a stop: a blocked call cannot be interrupted from outside.
        """
        box: Queue[tuple[_T | None, BaseException | None]] = Queue()

        def work() -> None:
            try:
                box.put((function(), None))
            except BaseException as error:
                box.put((None, error))

        threading.Thread(target=work, daemon=True, name="laguna-hub").start()
        while True:
            self.check()
            try:
                value, error = box.get(timeout=_POLL_S)
            except Empty:
                continue
            if error is not None:
                raise error
            return value  # type: ignore[return-value]
