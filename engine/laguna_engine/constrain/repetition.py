"""The loop breaker: after one whole round of a repeated stretch, the token that would begin another is banned."""

from collections import deque
from collections.abc import Sequence
from copy import copy

from laguna_engine.constrain.base import FREE, Constraint, RowMask


class NoRepeat(Constraint):
    """Bans the token that continues a loop, wherever the tokens before it are one whole round of the loop.

    A round may begin at any token of the stretch. Shorter parts of it stay allowed, so that the words of a loop can
    still be used.
    """

    def __init__(self, stretch: Sequence[int], before: Sequence[int]) -> None:
        """Start after the tokens `before`; `stretch` is one round of the loop, at least one token."""
        self._stretch = tuple(stretch)
        self._places: dict[int, list[int]] = {}
        for place, token in enumerate(self._stretch):
            self._places.setdefault(token, []).append(place)
        self._tail = deque(before[-len(self._stretch) :], maxlen=len(self._stretch))

    def mask(self) -> RowMask:
        size = len(self._stretch)
        if len(self._tail) < size:
            return FREE
        places = self._places.get(self._tail[-1], ())
        place = next((place for place in places if self._tail_is_round(place)), None)
        return FREE if place is None else RowMask(banned=frozenset((self._stretch[(place + 1) % size],)))

    def advance(self, token: int) -> None:
        self._tail.append(token)

    def fork(self) -> "NoRepeat":
        forked = copy(self)
        forked._tail = self._tail.copy()
        return forked

    def _tail_is_round(self, place: int) -> bool:
        return all(token == self._stretch[place - back] for back, token in enumerate(reversed(self._tail)))
