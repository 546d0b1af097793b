"""Events leave the engine thread in batches: a fast stream wakes its reader 200 times a second, not once a token."""

import time

from laguna_engine.channel import Channel
from laguna_engine.events import Event

_PUBLISH_SECONDS = 0.005
"""Shorter than a screen refresh, long against a wake-up. Slower streams publish every token at once."""


class Outlet:
    """Collects the events of one generation for its channel. Engine thread only."""

    def __init__(self, channel: Channel[Event]) -> None:
        self._channel = channel
        self._published = 0.0
        self.batch: list[Event] = []
        self.put = self.batch.append

    def tell(self, event: Event) -> None:
        """Publish `event` at once; what is put next does not have to wait for its turn."""
        self.put(event)
        self._publish()

    def publish_if_due(self) -> bool:
        """Publish what was put if the last time is long enough ago; waits while the reader is far behind."""
        now = time.perf_counter()
        if now - self._published < _PUBLISH_SECONDS:
            return False
        self._published = now
        self._publish()
        return True

    def _publish(self) -> None:
        self._channel.publish(self.batch)
        self.batch.clear()
