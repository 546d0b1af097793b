"""Checkpoints of what truncating the KV cache cannot restore; and their policy.

A checkpoint holds the newest sliding-window cells or the recurrent state after `length` tokens, and the drafter's
snapshot at that position. It is valid while those tokens are; truncating to fewer drops it. This module works on
lengths and bytes, without native code.

The policy creates checkpoints during prefill, where a later prompt is likely to diverge, and only if they pay: where
the prompt diverges from the cache (the next change is likely to be there again), at regular intervals of a long prompt,
and at or near its end (where the answer begins, which may be generated again, or sent back without its reasoning). None
are created while an answer is decoded.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import log
from typing import Any

from numpy.typing import NDArray

from laguna_engine.events import Source
from laguna_engine.llama.sequence_state import WindowState


@dataclass(frozen=True, slots=True, eq=False)
class DrafterSnapshot:
    """A snapshot of a drafter's KV cache.

    Attributes:
        length: positions it covers.
        adapter: adapter its keys and values were computed with, None if it does not affect them.
        pieces: parts of its keys and values, in the drafter's own order.
        drafter: name of the drafter it belongs to.
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
    """The sliding window or recurrent state after `length` tokens.

    Attributes:
        length: tokens of the sequence.
        window: cells of the sliding-window layers, the state of recurrent ones.
        drafter: the drafter's snapshot; None if it does not cover the positions it needs.
    """

    length: int
    window: WindowState
    drafter: DrafterSnapshot | None = None

    @property
    def nbytes(self) -> int:
        """Bytes in host memory."""
        return self.window.nbytes + (0 if self.drafter is None else self.drafter.nbytes)


class Checkpoints:
    """At most `most` checkpoints of one sequence, of at most `limit` bytes together. Changed on the engine thread only.

    Attributes:
        lengths: their lengths in ascending order; may be read from any thread.
        seconds: time the last one took to create, for the policy.
    """

    def __init__(self, most: int, limit: int) -> None:
        self.lengths: tuple[int, ...] = ()
        self.seconds = 0.0
        self._most = most
        self._limit = limit
        self._checkpoints: dict[int, Checkpoint] = {}
        self._shared: set[int] = set()

    @property
    def wanted(self) -> bool:
        """Whether checkpoints are enabled."""
        return self._most > 0 and self._limit > 0

    @property
    def nbytes(self) -> int:
        """Bytes of all checkpoints."""
        return sum(checkpoint.nbytes for checkpoint in self._checkpoints.values())

    def at(self, length: int) -> Checkpoint:
        """Return the checkpoint at `length`, which must be in `lengths`."""
        return self._checkpoints[length]

    def share(self) -> tuple[Checkpoint, ...]:
        """Return all checkpoints for a copy of the sequence. Their memory is not reused from now on."""
        self._shared.update(self.lengths)
        return tuple(self._checkpoints[length] for length in self.lengths)

    def before(self, length: int) -> int:
        """Return the largest checkpoint length up to `length`; 0, where none is needed, if there is none."""
        return max((known for known in self.lengths if known <= length), default=0)

    def fits(self, nbytes: int) -> bool:
        """Return whether a checkpoint of `nbytes` may be added at all."""
        return self.wanted and nbytes <= self._limit

    def make_room(self, length: int, nbytes: int) -> Checkpoint | None:
        """Evict checkpoints until one of `nbytes`, which fits, can be added at `length`.

        Returns one of the evicted whose memory may be reused, None if there is none.
        """
        unused = self._pop(length)
        while self._checkpoints and (len(self._checkpoints) >= self._most or self.nbytes + nbytes > self._limit):
            unused = self._pop(self._least_missed(length)) or unused
        self.lengths = tuple(sorted(self._checkpoints))
        return unused

    def add(self, checkpoint: Checkpoint, *, shared: bool = False) -> None:
        """Add `checkpoint`, after `make_room`.

        Args:
            checkpoint: the new one.
            shared: whether a copy of the sequence may refer to it too, so that its memory must not be reused.
        """
        self._checkpoints[checkpoint.length] = checkpoint
        self.lengths = tuple(sorted(self._checkpoints))
        if shared:
            self._shared.add(checkpoint.length)

    def cut(self, length: int) -> None:
        """Drop the checkpoints beyond `length`: the sequence was truncated to it."""
        if self.lengths and self.lengths[-1] > length:
            self.lengths = tuple(known for known in self.lengths if known <= length)
            self._checkpoints = {known: self._checkpoints[known] for known in self.lengths}
            self._shared.intersection_update(self.lengths)

    def _pop(self, length: int) -> Checkpoint | None:
        """Remove the checkpoint at `length` if there is one; returns it if its memory may be reused."""
        checkpoint = self._checkpoints.pop(length, None)
        if length not in self._shared:
            return checkpoint
        self._shared.discard(length)
        return None

    def _least_missed(self, coming: int) -> int:
        """Return the checkpoint whose eviction costs the fewest expected prefill tokens, given a new one at `coming`.

        A divergence is assumed as likely 10 to 20 tokens before the end as 1,000 to 2,000, so older checkpoints get
        further apart. Without a checkpoint, prefill starts from the one before it.
        """
        lengths = sorted({*self._checkpoints, coming})
        end = lengths[-1] + 1

        def missed(index: int) -> float:
            here, following = lengths[index], (*lengths, end)[index + 1]
            again = here - (lengths[index - 1] if index else 0)
            return again * log((end + 1 - here) / (end + 1 - following))

        return lengths[min((index for index in range(len(lengths)) if lengths[index] != coming), key=missed)]


STEP = 1024
"""Tokens between two checkpoints of a long prompt. Half of it is prefilled again on average, while there is room for
all of them; then they are thinned out."""

_LEAST = 32
"""Smallest distance: the prefill of fewer tokens is not noticeable, and the memory is better used elsewhere."""

_SHARE = 0.05
"""Largest cost of a copy, relative to the prefill it saves."""

_FADE = 0.95
"""Decay of the last copy's time whenever it is too much, so that one slow copy does not disable checkpoints."""


class CheckpointPolicy:
    """Creates the checkpoints of one request. Engine thread only."""

    def __init__(
        self, checkpoints: Checkpoints, seconds_for: Callable[[int], float | None], save: Callable[[], float]
    ) -> None:
        """Set up the policy.

        Args:
            checkpoints: the checkpoints to add to.
            seconds_for: estimated prefill time of a number of tokens, None if unknown.
            save: creates a checkpoint at the current position; returns its duration in seconds.
        """
        self._checkpoints = checkpoints
        self._seconds_for = seconds_for
        self._save = save
        self._boundary = self._end = 0

    def begin(self, boundary: int, cached: int, end: int) -> None:
        """Start the prefill of a prompt.

        Args:
            boundary: position where the prompt diverges from the cached tokens.
            cached: prompt tokens in the cache.
            end: position of the prompt's last checkpoint.
        """
        self._boundary = boundary
        self._end = end
        if cached == self._boundary:
            self._make(cached, apart=_LEAST)

    def part(self, position: int, size: int) -> int:
        """Return the tokens to prefill from `position` on: at most `size`, and not across a checkpoint's position."""
        inside = [place - position for place in (self._boundary, self._end) if position < place < position + size]
        return min(inside, default=size) if self._checkpoints.wanted else size

    def read(self, position: int) -> None:
        """Report that `position` tokens are cached now."""
        special = position in (self._boundary, self._end)
        self._make(position, apart=_LEAST if special else STEP)

    def _make(self, position: int, apart: int) -> None:
        """Create a checkpoint unless another one is less than `apart` tokens before it, or it does not pay."""
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
