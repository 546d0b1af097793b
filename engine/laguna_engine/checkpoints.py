"""Checkpoints of what a cut of the KV cache cannot bring back: how many are kept, and when one is made.

A checkpoint holds the newest sliding-window cells as they were after `length` tokens, and the drafter's snapshot of
that moment. It is valid as long as those tokens are; a shorter cut drops it. This module deals in lengths and bytes; it
never touches native code.

The policy makes them while a prompt is read, where a later prompt is likely to depart, and only if it pays: where the
prompt departs from what was cached (the next change is likely to be there again), every so many tokens of a long
stretch, and at the prompt's end (where the answer begins, which may be generated again, or sent back without its
thoughts). None while an answer is decoded.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import log
from typing import Any

from numpy.typing import NDArray

from laguna_engine.events import Source
from laguna_engine.llama.window_state import WindowState


@dataclass(frozen=True, slots=True, eq=False)
class DrafterSnapshot:
    """What a drafter remembers of `length` positions: pieces of its keys and values, in an order only it knows.

    adapter: the one that its keys and values were made with, if that makes a difference to them. drafter: whose it is.
    """

    length: int
    adapter: str | None
    pieces: tuple[NDArray[Any], ...]
    drafter: Source | None = None

    @property
    def nbytes(self) -> int:
        """Bytes in host memory."""
        return sum(piece.nbytes for piece in self.pieces)


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """The sliding window behind `length` tokens, and what the drafter knew, if it knew all that matters."""

    length: int
    window: WindowState
    drafter: DrafterSnapshot | None = None

    @property
    def nbytes(self) -> int:
        """Bytes in host memory."""
        return self.window.nbytes + (0 if self.drafter is None else self.drafter.nbytes)


class Checkpoints:
    """At most `most` checkpoints of one transcript, of at most `limit` bytes together.

    Changed on the engine thread. `lengths`, in ascending order, may be read from any. seconds: what the last one took
    to make, for whoever decides about the next.
    """

    def __init__(self, most: int, limit: int) -> None:
        self.lengths: tuple[int, ...] = ()
        self.seconds = 0.0
        self._most = most
        self._limit = limit
        self._kept: dict[int, Checkpoint] = {}

    @property
    def wanted(self) -> bool:
        """Whether there is any use in making one."""
        return self._most > 0 and self._limit > 0

    @property
    def nbytes(self) -> int:
        """Bytes that all of them take."""
        return sum(checkpoint.nbytes for checkpoint in self._kept.values())

    def at(self, length: int) -> Checkpoint:
        """The one at `length`, which is in `lengths`."""
        return self._kept[length]

    def drafter_at(self, length: int) -> DrafterSnapshot | None:
        """What the drafter knew at the one at `length`; None if it did not know enough, or where there is none."""
        return self._kept[length].drafter if length in self._kept else None

    def before(self, length: int) -> int:
        """The last length with a checkpoint up to `length`; 0, where none is needed, if there is none."""
        return max((kept for kept in self.lengths if kept <= length), default=0)

    def fits(self, nbytes: int) -> bool:
        """Whether one of `nbytes` may be kept at all."""
        return self.wanted and nbytes <= self._limit

    def make_room(self, length: int, nbytes: int) -> Checkpoint | None:
        """Forget as many as it takes for one of `nbytes`, which fits, at `length`. Returns the last one forgotten."""
        gone = self._kept.pop(length, None)
        while self._kept and (len(self._kept) >= self._most or self.nbytes + nbytes > self._limit):
            gone = self._kept.pop(self._least_missed(length))
        self.lengths = tuple(sorted(self._kept))
        return gone

    def add(self, checkpoint: Checkpoint) -> None:
        """Keep `checkpoint`, for which room was made."""
        self._kept[checkpoint.length] = checkpoint
        self.lengths = tuple(sorted(self._kept))

    def cut(self, length: int) -> None:
        """The tokens from `length` on no longer stand."""
        if self.lengths and self.lengths[-1] > length:
            self.lengths = tuple(kept for kept in self.lengths if kept <= length)
            self._kept = {kept: self._kept[kept] for kept in self.lengths}

    def _least_missed(self, coming: int) -> int:
        """The one without which the fewest tokens are read again, once there is one at `coming`.

        A change is taken to be as likely 10 to 20 tokens before the end as 1,000 to 2,000, so old checkpoints come to
        lie further apart. It then goes back to the checkpoint before the one that is missing.
        """
        lengths = sorted({*self._kept, coming})
        end = lengths[-1] + 1

        def missed(index: int) -> float:
            here, following = lengths[index], (*lengths, end)[index + 1]
            again = here - (lengths[index - 1] if index else 0)
            return again * log((end + 1 - here) / (end + 1 - following))

        return lengths[min((index for index in range(len(lengths)) if lengths[index] != coming), key=missed)]


STEP = 1024
"""Tokens of a long stretch between two checkpoints. What is read again is half of it on average, as long as there is
room for all of them; then they are thinned out."""

_LEAST = 32
"""Fewer tokens are read again before anybody notices, and the memory is better spent elsewhere."""

_SHARE = 0.05
"""What copying may cost of the time that reading takes."""

_FADE = 0.95
"""Of what the last copy took, whenever it is too much: one that was slow for once shall not be the last."""


class CheckpointPolicy:
    """Makes the checkpoints of one request. Engine thread only."""

    def __init__(
        self, checkpoints: Checkpoints, seconds_for: Callable[[int], float | None], save: Callable[[], float]
    ) -> None:
        """seconds_for: what reading so many tokens takes, None if unknown. save: makes one; the seconds it took."""
        self._checkpoints = checkpoints
        self._seconds_for = seconds_for
        self._save = save
        self._boundary = self._end = 0

    def begin(self, boundary: int, kept: int, length: int) -> None:
        """A prompt of `length` tokens is about to be read; the cache holds `kept` of them.

        boundary: where the prompt departs from what was cached.
        """
        self._boundary = boundary
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
        checkpoints = self._checkpoints
        if not checkpoints.wanted:
            return
        again = position - checkpoints.before(position)
        seconds = self._seconds_for(again)
        if again < apart:
            return
        if seconds is None or checkpoints.seconds <= _SHARE * seconds:
            checkpoints.seconds = self._save()
        else:
            checkpoints.seconds *= _FADE
