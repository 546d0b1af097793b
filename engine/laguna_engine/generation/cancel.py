"""One generation can be stopped from any thread, and only that one.

Stopping works twice: a flag is looked at between micro-batches, and llama.cpp's own abort flag ends the micro-batch
that is running. The native flag belongs to the context, so it may only be raised while this generation uses it.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from laguna_engine.llama.context import Context


class Cancellation:
    """Whether one generation is still wanted."""

    def __init__(self, context: Context) -> None:
        self.requested = False
        self._context = context
        self._armed = False
        # Reentrant, because the garbage collector may abandon a stream at any point of the engine thread.
        self._lock = threading.RLock()

    def request(self) -> None:
        """Stop as soon as possible; harmless before, after and when repeated."""
        with self._lock:
            self.requested = True
            if self._armed:
                self._context.request_abort()

    @contextmanager
    def armed(self) -> Iterator[None]:
        """While inside, a request also stops the computation that is running. Engine thread only."""
        with self._lock:
            self._armed = True
            if self.requested:
                self._context.request_abort()
        try:
            yield
        finally:
            with self._lock:
                self._armed = False
                self._context.clear_abort()
