"""What each of several sessions has of one engine, which it uses for a generation at a time."""

import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from laguna_engine.config import Request
from laguna_engine.engine import Engine, Restored
from laguna_engine.events import Event, Prefill
from laguna_engine.stream import EventStream

_LOOK_S = 0.1
"""Seconds between two chances to cancel a generation that waits."""


class EngineShare:
    """An engine as one session sees it: a generation waits until no other session generates.

    What waits for nothing is the engine's own. `cancel` never ends what another session generates.

    Attributes:
        engine: the engine.
    """

    def __init__(self, engine: Engine, turn: threading.Lock) -> None:
        """turn: held by the session that generates."""
        self.engine = engine
        self._turn = turn
        self._stream: EventStream | None = None
        self._cancelled = False

    def generate(self, request: Request) -> Iterator[Event]:
        """Generate as `Engine.generate` does, once no other session does.

        While it waits it yields that nothing is prefilled yet, so that it can be cancelled; then no event follows.
        """
        self._cancelled = False
        begun = time.monotonic()
        while not self._turn.acquire(timeout=_LOOK_S):
            yield Prefill(0, len(request.tokens), 0, time.monotonic() - begun)
            if self._cancelled:
                return
        try:
            with self.engine.generate(request) as stream:
                self._stream = stream
                if self._cancelled:
                    stream.stop()
                yield from stream
        finally:
            self._stream = None
            self._turn.release()

    def cancel(self) -> None:
        """End the session's generation soon, be it waiting or running; harmless when there is none. Any thread."""
        self._cancelled = True
        stream = self._stream
        if stream is not None:
            stream.stop()

    def restore(self, folder: Path, tokens: Sequence[int]) -> Restored:
        """Restore snapshots as `Engine.restore` does, once no other session generates."""
        with self._turn:
            return self.engine.restore(folder, tokens)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)
