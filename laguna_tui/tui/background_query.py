"""Runs slow queries on a background thread, one at a time, only the newest.

A query still waiting when another is submitted is dropped, and so is the result of one that was superseded. So fast
typing costs no more than slow typing: there is at most one thread, and none while idle.
"""

import contextlib
import threading
from collections.abc import Callable
from functools import partial
from typing import Generic, TypeVar

from textual.message_pump import MessagePump

from laguna_tui.tui.session_messages import error_sentence

Q = TypeVar("Q")
A = TypeVar("A")


class BackgroundQuery(Generic[Q, A]):
    """Call `submit` and `cancel` on the app's thread; `on_result` and `on_error` are called there too."""

    def __init__(
        self,
        pump: MessagePump,
        run: Callable[[Q], A],
        on_result: Callable[[Q, A], None],
        on_error: Callable[[str], None],
    ) -> None:
        """Create a query.

        Args:
            pump: message pump that the callbacks are called through.
            run: runs a query on the background thread.
            on_result: called with the query and its result.
            on_error: called with a sanitised sentence if `run` raised.
        """
        self._pump, self._run, self._on_result, self._on_error = pump, run, on_result, on_error
        self._lock = threading.Lock()
        self._waiting: list[tuple[int, Q]] = []
        self._running = False
        self._newest = 0

    def submit(self, query: Q) -> None:
        """Run `query` as soon as the running one has ended, instead of any that waits."""
        self._newest += 1
        with self._lock:
            self._waiting = [(self._newest, query)]
            started, self._running = self._running, True
        if not started:
            threading.Thread(target=self._work, name="laguna-query", daemon=True).start()

    def cancel(self) -> None:
        """Drop the waiting query and the result of the running one."""
        self._newest += 1
        with self._lock:
            self._waiting = []

    def _take(self) -> tuple[int, Q] | None:
        with self._lock:
            if self._waiting:
                return self._waiting.pop()
            self._running = False
            return None

    def _work(self) -> None:
        while (taken := self._take()) is not None:
            number, query = taken
            try:
                self._call(number, partial(self._on_result, query, self._run(query)))
            except Exception as error:
                self._call(number, partial(self._on_error, error_sentence(error)))

    def _call(self, number: int, callback: Callable[[], None]) -> None:
        def call_if_newest() -> None:
            if number == self._newest:
                callback()

        # The app may have ended meanwhile.
        with contextlib.suppress(RuntimeError):
            self._pump.call_later(call_if_newest)
