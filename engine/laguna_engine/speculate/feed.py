"""The drafter is fed the target's hidden states: which are computed, which it has taken in, which must be made again.

The target's graph leaves the features of each position in a ring of rows; the drafter takes them in when it is about
to draft or when their rows would be overwritten, so that rounds without a draft cost it nothing. Only positions that
were committed are ever taken in.
"""

from collections.abc import Callable
from typing import Protocol

from laguna_engine.cache.checkpoints import DrafterState


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

    def remember(self, length: int) -> DrafterState | None:
        """What matters for drafting behind `length` positions; None unless it holds all of that."""
        ...

    def recall(self, state: DrafterState) -> bool:
        """Hold what it remembered once; False, and nothing changes, if that is of no use to it now."""
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
        # Rows are overwritten by later positions, and what was cut off or not told here leaves others behind.
        self._rows_from = 0

    def begin(self, keep: int, length: int, remembered: DrafterState | None = None) -> int:
        """A prompt of `length` tokens comes, of which `keep` are in the KV cache: how many should be kept.

        remembered: what the reader knew at the last checkpoint up to there. Less than `keep` when features that matter
        are gone: those positions are to be computed once more.
        """
        wanted = self._wanted_from(length)
        known = self._go_back(keep, remembered)
        if known < keep:
            keep = max(known, min(keep, wanted))
            self.committed(keep)
        self._from = wanted
        return keep

    def pause(self, keep: int, remembered: DrafterState | None = None) -> None:
        """The KV cache keeps `keep` positions, and what is computed next is not told here; otherwise as `begin`."""
        self._go_back(keep, remembered)
        self._rows_from = self._computed

    def remember(self, length: int) -> DrafterState | None:
        """What matters for drafting behind `length` positions, if the reader knows or can be told all of it."""
        if self._computed != length:
            return None
        self._take_in()
        return self._reader.remember(length)

    def part(self, position: int, size: int) -> tuple[int, bool]:
        """Of a prompt, how many tokens from `position` on to compute at once, at most `size`, and whether all of them
        need outputs."""
        if self._outputs is None:
            return size, False
        if position < self._from:
            return min(size, self._from - position), False
        return min(size, self._outputs), True

    def before(self, written: int) -> None:
        """So many rows are written next: what they would overwrite is taken in first."""
        if self._computed + written - self._taken > self._rows:
            self.flush()

    def computed(self, start: int, count: int, written: int) -> None:
        """The features of `count` positions from `start` on lie in their rows.

        written: rows that were written from there on; those beyond `count` hold nothing of use.
        """
        if start > self._computed:
            # There is a gap that nobody asked for; what is before it does not help what comes.
            self._taken = self._rows_from = start
        self._computed = start + count
        self._rows_from = max(self._rows_from, start + written - self._rows)

    def committed(self, length: int) -> None:
        """What was computed beyond `length` positions does not stand."""
        self._computed = min(self._computed, length)
        self._rows_from = min(self._rows_from, length)
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

    def _wanted_from(self, length: int) -> int:
        """The first position that matters behind `length` positions or one less: a prompt that comes again as it was is
        cut back by its last token."""
        return self._reader.wanted_from(max(0, length - 1))

    def _go_back(self, keep: int, remembered: DrafterState | None) -> int:
        """Cut back to `keep` positions: behind how many of them the reader has all that matters, 0 if it has not."""
        self.committed(keep)
        self._take_in()
        if self._computed == keep and self._reader.covered(keep):
            return keep
        if remembered is None or not self._reader.recall(remembered):
            return 0
        # What was recalled has no rows.
        self._taken = self._computed = self._rows_from = remembered.length
        self.committed(keep)
        return self._computed if self._reader.covered(self._computed) else 0

    def _take_in(self) -> None:
        """Have the reader take in all there is, and what its rows still hold of what it was spared so far: the end of
        the prompt that was read would not have looked back at it."""
        self.flush()
        start = max(self._rows_from, self._wanted_from(self._computed))
        if self._outputs is None and start < self._computed and not self._reader.covered(self._computed):
            self._wait()
            self._reader.inject(start, self._computed)
