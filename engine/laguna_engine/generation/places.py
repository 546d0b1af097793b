"""Where checkpoints are made while a prompt is read: where one is likely to be gone back to, and only if it pays.

Three kinds of places: where the prompt departs from what was cached (the next change is likely to be there again),
every so many tokens of a long stretch, and the prompt's end (where the answer begins, which is told again, or retold
without its thoughts). None while an answer is decoded.
"""

import time
from collections.abc import Callable
from contextlib import suppress

from laguna_engine.cache.checkpoints import DrafterState
from laguna_engine.cache.prefix import Reuse
from laguna_engine.target import Target

STEP = 1024
"""Tokens of a long stretch between two checkpoints. What is read again is half of it on average, as long as there is
room for all of them; then they are thinned out."""

_LEAST = 32
"""Fewer tokens are read again before anybody notices, and the memory is better spent elsewhere."""

_SHARE = 0.05
"""What copying may cost of the time that reading takes."""

_FADE = 0.95
"""Of what the last copy took, whenever it is too much: one that was slow for once shall not be the last."""


class Places:
    """Makes the checkpoints of one request. Engine thread only."""

    def __init__(self, target: Target, remember: Callable[[], DrafterState | None]) -> None:
        """remember: what the drafter knows of what is cached, to be kept along."""
        self._target = target
        self._remember = remember
        self._boundary = self._end = 0

    def begin(self, reuse: Reuse, kept: int, length: int) -> None:
        """A prompt of `length` tokens is about to be read; `reuse` was planned, and the cache holds `kept` of them."""
        self._boundary = reuse.keep if reuse.first_changed is None else reuse.first_changed
        self._end = length
        if kept == self._boundary:
            self._make(kept, apart=_LEAST)

    def part(self, position: int, size: int) -> int:
        """How many tokens to read from `position` on, at most `size`: not across a place for a checkpoint."""
        return self._boundary - position if position < self._boundary < position + size else size

    def read(self, position: int) -> None:
        """So many positions are cached now."""
        special = position in (self._boundary, self._end)
        self._make(position, apart=_LEAST if special else STEP)

    def _make(self, position: int, apart: int) -> None:
        """Make a checkpoint unless another one is less than `apart` tokens, or than pays, before it."""
        checkpoints = self._target.cache.checkpoints
        if not checkpoints.wanted:
            return
        again = position - checkpoints.before(position)
        seconds = self._target.rate.seconds_for(again)
        if again < apart:
            return
        if seconds is None or checkpoints.seconds <= _SHARE * seconds:
            checkpoints.seconds = self._save()
        else:
            checkpoints.seconds *= _FADE

    def _save(self) -> float:
        """Make a checkpoint here; the seconds that took."""
        # What the device is still computing is not the copy's cost.
        self._target.context.synchronize()
        began = time.perf_counter()
        # Only a request to come would be quicker for it, so this one shall not fail over it.
        with suppress(MemoryError):
            self._target.save_checkpoint(self._remember())
        return time.perf_counter() - began
