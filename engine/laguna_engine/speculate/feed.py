"""The drafter is fed the target's hidden states: which are computed, which it has taken in, which must be made again.

The target's graph leaves the features of each position in a ring of rows; the drafter takes them in when it is about
to draft or when their rows would be overwritten, so that rounds without a draft cost it nothing. Only positions that
were committed are ever taken in.
"""

from collections.abc import Callable
from typing import Protocol


class FeatureReader(Protocol):
    """The part of a drafter that lives on features; `DFlash` is one."""

    def inject(self, start: int, stop: int) -> None:
        """Take in the features of the positions from `start` to `stop`."""
        ...

    def truncate(self, length: int) -> None:
        """Forget the positions from `length` on."""
        ...

    def covered(self, length: int) -> bool:
        """Whether it holds all that matters for drafting behind `length` positions."""
        ...

    def wanted_from(self, length: int) -> int:
        """The first position that matters for drafting behind `length` positions."""
        ...


class FeatureFeed:
    """Keeps one reader up to date. Engine thread only."""

    def __init__(
        self, reader: FeatureReader, wait: Callable[[], None], rows: int, last_layer_outputs: int | None
    ) -> None:
        """wait: until the target's device is done. rows: of the ring that the features lie in.

        last_layer_outputs: if the target's last layer is tapped, how many rows with outputs one decode may have:
        llama.cpp computes that layer for nothing else.
        """
        self._reader = reader
        self._wait = wait
        self._rows = rows
        self._outputs = last_layer_outputs
        self._taken = 0
        self._computed = 0
        self._from = 0

    def begin(self, keep: int, length: int) -> int:
        """A prompt of `length` tokens comes, of which `keep` are in the KV cache: how many should be kept.

        Less than `keep` when features that matter are gone: those positions are to be computed once more.
        """
        self.committed(keep)
        wanted = self._reader.wanted_from(length)
        if self._computed < keep or not self._covered(keep):
            keep = min(keep, wanted)
            self.committed(keep)
        self._from = max(self._computed, wanted)
        return keep

    def part(self, position: int, size: int) -> tuple[int, bool]:
        """Of a prompt, how many tokens from `position` on to compute at once, at most `size`, and whether all of them
        need outputs."""
        if self._outputs is None:
            return size, False
        if position < self._from:
            return min(size, self._from - position), False
        return min(size, self._outputs), True

    def before(self, count: int) -> None:
        """So many positions are computed next: what their rows would overwrite is taken in first."""
        if self._computed + count - self._taken > self._rows:
            self.flush()

    def computed(self, start: int, count: int) -> None:
        """The features of `count` positions from `start` on lie in their rows."""
        if start > self._computed:
            # There is a gap that nobody asked for; what is before it does not help what comes.
            self._taken = start
        self._computed = start + count

    def committed(self, length: int) -> None:
        """What was computed beyond `length` positions does not stand."""
        self._computed = min(self._computed, length)
        if self._taken > length:
            self._reader.truncate(length)
            self._taken = length

    def flush(self) -> None:
        """Have the reader take in all there is."""
        start = max(self._taken, self._from)
        if start < self._computed:
            self._wait()
            self._reader.inject(start, self._computed)
        self._taken = self._computed

    def reset(self) -> None:
        """The KV cache was emptied, or its features are not to be trusted."""
        self.committed(0)

    def _covered(self, length: int) -> bool:
        self.flush()
        return self._reader.covered(length)
