"""What a prompt would cost before it is sent: how much is cached, how much is new, how long that takes."""

import threading
from dataclasses import dataclass

from laguna_engine.cache.prefix import PrefixCache

_MEMORY_TOKENS = 8192
"""A measurement counts half after this many newer tokens: one long file, so that the rate follows the depth."""


@dataclass(frozen=True, slots=True)
class Preview:
    """The cost of a prompt: `cached` tokens are kept, `new` ones are computed, in about `seconds`.

    first_changed: where the prompt departs from what is cached, None if it only extends it. reprefill: a shared prefix
    has to be computed again, because the sliding-window part of it is gone and no checkpoint has it; where one does,
    what lies between it and the change counts as new. seconds: None before anything was measured.
    fits: whether the prompt and one more token fit in the context.
    """

    cached: int
    new: int
    first_changed: int | None
    reprefill: bool
    seconds: float | None
    fits: bool


class PrefillRate:
    """Seconds a prompt token takes here, weighted by tokens, so that a prompt of three hardly counts. Thread-safe."""

    def __init__(self) -> None:
        self._tokens = 0.0
        self._seconds = 0.0
        self._lock = threading.Lock()

    def record(self, tokens: int, seconds: float) -> None:
        """`tokens` of a prompt took `seconds`."""
        fade = 0.5 ** (tokens / _MEMORY_TOKENS)
        with self._lock:
            self._tokens = self._tokens * fade + tokens
            self._seconds = self._seconds * fade + seconds

    def seconds_for(self, tokens: int) -> float | None:
        """What `tokens` will probably take, or None before anything was measured."""
        with self._lock:
            return tokens * self._seconds / self._tokens if self._tokens else None


def preview(cache: PrefixCache, rate: PrefillRate, tokens: list[int], capacity: int) -> Preview:
    """The cost of `tokens` in a context of `capacity`. Reads snapshots only, so any thread may ask at any time."""
    reuse = cache.plan(tokens)
    new = len(tokens) - reuse.keep
    return Preview(
        cached=reuse.keep,
        new=new,
        first_changed=reuse.first_changed,
        reprefill=reuse.reprefill,
        seconds=rate.seconds_for(new),
        fits=len(tokens) < capacity,
    )
