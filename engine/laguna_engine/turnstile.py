"""One generation at a time: who is inside, and who may come in."""

import threading

from laguna_engine.errors import EngineClosed, RequestError
from laguna_engine.generation.generation import Generation


class Turnstile:
    """Lets one generation in. Every method may be called from any thread."""

    def __init__(self) -> None:
        self._inside: Generation | None = None
        self._open = True
        # Reentrant, because the garbage collector may close an engine at any point.
        self._lock = threading.RLock()

    def require_open(self) -> None:
        """EngineClosed after `close`."""
        if not self._open:
            raise EngineClosed("the engine is closed; open the model again")

    def require_free(self) -> None:
        """RequestError while a generation is inside that was not cancelled; EngineClosed after `close`."""
        with self._lock:
            self.require_open()
            if self._inside is not None and not self._inside.cancelled:
                raise RequestError("a generation is running; read it to its end, or cancel it first")

    def enter(self, generation: Generation) -> None:
        """Let `generation` in; errors as for `require_free`. One that was cancelled may still be winding up."""
        with self._lock:
            self.require_free()
            self._inside = generation

    def leave(self, generation: Generation) -> None:
        """`generation` is over; harmless if another one is inside."""
        with self._lock:
            if self._inside is generation:
                self._inside = None

    def cancel(self) -> None:
        """Cancel who is inside."""
        with self._lock:
            if self._inside is not None:
                self._inside.cancel()

    def close(self) -> None:
        """Cancel who is inside and let nobody in any more."""
        with self._lock:
            self._open = False
            self.cancel()
