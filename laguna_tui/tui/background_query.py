"""Asking something slow while the user types: one question at a time, the newest only, not on the screen's thread.

A question that is still waiting when another comes is never asked; an answer that has been overtaken is never told. So
fast typing costs no more than slow typing: there is at most one thread, and none while nothing is asked.
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
    """`put` and `forget` are for the screen's thread, where `tell` and `failed` are called too."""

    def __init__(
        self,
        pump: MessagePump,
        ask: Callable[[Q], A],
        tell: Callable[[Q, A], None],
        failed: Callable[[str], None],
    ) -> None:
        """pump: whose queue the answers come through. failed: is given a sentence that is safe to show."""
        self._pump, self._ask, self._tell, self._failed = pump, ask, tell, failed
        self._lock = threading.Lock()
        self._waiting: list[tuple[int, Q]] = []
        self._running = False
        self._newest = 0

    def put(self, question: Q) -> None:
        """Ask this, as soon as the question before it is answered."""
        self._newest += 1
        with self._lock:
            self._waiting = [(self._newest, question)]
            started, self._running = self._running, True
        if not started:
            threading.Thread(target=self._run, name="laguna-latest", daemon=True).start()

    def forget(self) -> None:
        """Nobody wants to know any more."""
        self._newest += 1
        with self._lock:
            self._waiting = []

    def _take(self) -> tuple[int, Q] | None:
        with self._lock:
            if self._waiting:
                return self._waiting.pop()
            self._running = False
            return None

    def _run(self) -> None:
        while (taken := self._take()) is not None:
            number, question = taken
            try:
                self._send(number, partial(self._tell, question, self._ask(question)))
            except Exception as error:
                self._send(number, partial(self._failed, error_sentence(error)))

    def _send(self, number: int, tell: Callable[[], None]) -> None:
        def told() -> None:
            if number == self._newest:
                tell()

        # The app may have ended while the question was being answered.
        with contextlib.suppress(RuntimeError):
            self._pump.call_later(told)
