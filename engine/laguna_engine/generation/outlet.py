"""Events leave the engine thread in batches: a fast stream wakes its reader 200 times a second, not once a token."""

import time

from laguna_engine.events import Event
from laguna_engine.generation.channel import Channel

_PUBLISH_SECONDS = 0.005
"""Shorter than a screen refresh, long against a wake-up. Slower streams publish every token at once."""


class Outlet:
    """Collects the events of one generation for its channel. Engine thread only."""

    def __init__(self, channel: Channel[Event]) -> None:
        self._channel = channel
        self._published = 0.0
        self.batch: list[Event] = []
        self.put = self.batch.append

    def due(self) -> bool:
        """Whether the last `publish` is long enough ago for the next."""
        return time.perf_counter() - self._published >= _PUBLISH_SECONDS

    def publish(self) -> None:
        """Hand over what was put; waits while the reader is far behind."""
        self._published = time.perf_counter()
        self._channel.publish(self.batch.copy())
        self.batch.clear()

    def tell(self, event: Event) -> None:
        """Hand over `event` at once, and do not let what comes next wait for it."""
        self.put(event)
        self.publish()
        self._published = 0.0
