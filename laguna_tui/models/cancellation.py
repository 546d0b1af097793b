"""Stopping a download from outside: every wait in it goes through one `Cancellation`, which ends the wait at once."""

import threading
from collections.abc import Callable
from queue import Empty, Queue
from typing import TypeVar

from laguna_tui.models.download_errors import Cancelled, Paused

_T = TypeVar("_T")
_POLL_S = 0.1
"""How long a stop may go unnoticed while something else is waited for; a tenth of what is promised."""


class Cancellation:
    """Paused or cancelled from any thread; noticed by the one that downloads."""

    def __init__(self) -> None:
        self._pulled = threading.Event()
        self._why: type[Paused] | type[Cancelled] = Paused

    def pause(self) -> None:
        """Stop; what has arrived is kept."""
        self._pulled.set()

    def cancel(self) -> None:
        """Stop; what has arrived may go."""
        self._why = Cancelled
        self._pulled.set()

    def release(self) -> None:
        """Forget that it was pulled."""
        self._why = Paused
        self._pulled.clear()

    def check(self) -> None:
        """Paused or Cancelled, if that is what somebody asked for."""
        if self._pulled.is_set():
            raise self._why

    def sleep(self, seconds: float) -> None:
        """Wait so long; Paused or Cancelled as soon as somebody asks for it."""
        self._pulled.wait(seconds)
        self.check()

    def call(self, function: Callable[[], _T]) -> _T:
        """The result of a call that may hang for long (a name server, a silent proxy).

        It runs on a thread of its own, and is left alone there when this is stopped: nothing can end it from outside.
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
