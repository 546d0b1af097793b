"""What drafting was seen to cost and to bring: seconds by draft length, acceptance by position, when to try again.

Pure bookkeeping in plain Python: it runs every round and must cost microseconds. Nothing here decides.
"""

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import prod

from laguna_engine.draft.drafter import MAX_DRAFT
from laguna_engine.speculate.economics import expected_tokens

LENGTHS = MAX_DRAFT + 1
"""Lengths from 0 to `MAX_DRAFT`."""

_RATE = 0.3
_COLD_RATE = 0.1
_CLAMP = 0.25
"""How far a measurement moves an estimate of seconds, and how much of a surprise counts: one round that had to rebuild
a graph, or waited for another program, must not decide anything."""

_LEAST = 1e-5
"""Seconds by which an estimate can always move, so that one that began at nothing is not stuck there."""

_NEW_LENGTHS = 2
"""A draft may be this much longer than twice what was tried before: nobody pays for 16 wrong tokens to learn of one."""

_SOME = (0, 1, 2, 4, 8, MAX_DRAFT)
"""Enough lengths to tell a guess by."""

_DOUBT = 0.3
"""How much cheaper a length may really be than it was measured n times: this share over 2 + n."""

_NEWEST = 1 / 30
"""The least that the newest round weighs in an acceptance."""

_MEMORY = 100.0
"""The most rounds that what was seen counts against the guess: after that the guess is next to nothing."""

_SURPRISE = 0.2
_STREAK = 0.003
"""Accepted tokens in a trial, and rounds in a row without any, that are believed to be this unlikely cast doubt on the
belief. A streak may come by chance, so it must be very unlikely."""

_SETTLED = 20.0
"""Rounds before which a belief is too fresh for a streak to say anything about it."""

_DOUBTED = 2.0
"""Rounds that everything before counts as once it is in doubt."""

_GUESS_WEIGHT = 1.5
"""Rounds that a guess is worth."""

_FADING = 0.99
"""What is known of a position fades every round in which it is not tried, towards the position before it."""

FIRST_INTERVAL, LAST_INTERVAL = 4, 512
"""Rounds between two trials of a drafter that does not pay: doubled by every trial."""


class Costs:
    """Seconds by draft length: `expected[length]`, measured where it was tried and interpolated elsewhere.

    What was learned elsewhere (another context length, an earlier session) gives the shape only: the first measurement
    scales all of it, so that a machine under another load is not judged by old seconds.
    """

    __slots__ = ("_known", "_shape", "counts", "expected", "inherited", "reach")

    def __init__(self, shape: Sequence[float], reach: int, inherited: bool = False) -> None:
        """`shape`: the guess, for `LENGTHS` lengths. `reach`: the longest draft that may be tried."""
        self._shape = list(shape)
        self._known: list[int] = []
        self.expected = list(shape)
        self.counts = [0] * LENGTHS
        self.reach = reach
        self.inherited = inherited

    def inherit(self) -> "Costs":
        """The same costs as a guess."""
        return Costs(self.expected, self.reach, inherited=True)

    def add(self, length: int, seconds: float, cold: bool = False) -> None:
        """`length` took `seconds`; `cold` when something that is done once may be among them."""
        count = self.counts[length]
        if count == 0 or (count == 1 and seconds < self.expected[length]):
            value = seconds
        else:
            value = _moved(self.expected[length], seconds, cold)
        self.expected[length] = value
        self.counts[length] = count + 1
        if count == 0:
            insort(self._known, length)
            self.reach = max(self.reach, min(MAX_DRAFT, 2 * length + _NEW_LENGTHS))
        self._fill_around(length)

    def hopeful(self) -> list[float]:
        """Seconds as low as they may still turn out: costs grow with the length, and few measurements prove little."""
        hopeful = [seconds * (1 - _DOUBT / (2 + n)) for seconds, n in zip(self.expected, self.counts, strict=True)]
        if not self.inherited and self._known:
            below = hopeful[self._known[0]]
            for length in range(self._known[0], LENGTHS):
                below = hopeful[length] if self.counts[length] else below
                hopeful[length] = min(hopeful[length], below)
        return hopeful

    def measured(self) -> dict[int, float]:
        """Seconds by length, where they were measured; where nothing was, some of the guess."""
        lengths = self._known or [length for length in _SOME if length <= self.reach]
        return {length: self.expected[length] for length in lengths}

    def _fill_around(self, length: int) -> None:
        """Guess anew between `length` and the measured lengths next to it."""
        known = self._known
        at = bisect_left(known, length)
        self._fill(known[at - 1] if at else None, length)
        self._fill(length, known[at + 1] if at + 1 < len(known) else None)

    def _fill(self, left: int | None, right: int | None) -> None:
        """Interpolate between two measured lengths, relative to the shape; beyond the last one the shape is scaled."""
        low, high = -1 if left is None else left, LENGTHS if right is None else right
        ends = [self.expected[end] / self._shape[end] for end in (left, right) if end is not None]
        start, step = ends[0], (ends[-1] - ends[0]) / (high - low)
        between = range(low + 1, high)
        self.expected[low + 1 : high] = [self._shape[length] * (start + step * (length - low)) for length in between]


def _moved(value: float, seconds: float, cold: bool) -> float:
    limit = _CLAMP * value + _LEAST
    surprise = max(-limit, min(limit, seconds - value))
    # A cold round can only be too slow: when it is fast it says as much as any.
    return value + (_COLD_RATE if cold and surprise > 0 else _RATE) * surprise


def interpolated(points: Mapping[int, float]) -> list[float]:
    """Seconds for every length from those for some, at least one; straight between them, level beyond them."""
    known = sorted(points)
    row = [points[known[0]]] * LENGTHS
    for left, right in pairwise(known):
        for length in range(left, right):
            row[length] = points[left] + (points[right] - points[left]) * (length - left) / (right - left)
    row[known[-1] :] = [points[known[-1]]] * (LENGTHS - known[-1])
    return row


class Acceptance:
    """How often drafted tokens stand: `chances[position]`, given that those before it do, and `committed[length]`."""

    __slots__ = (
        "_deepest",
        "_first_guess",
        "_guess",
        "_means",
        "_streak",
        "_weights",
        "chances",
        "committed",
        "samples",
    )

    def __init__(self, guess: float) -> None:
        """`guess`: what to believe of the first position before anything was seen."""
        self._guess = self._first_guess = guess
        self._streak = 1.0
        self._means = [0.0] * MAX_DRAFT
        self._weights = [0.0] * MAX_DRAFT
        self._deepest = 0
        self.samples = 0
        self.chances: list[float] = []
        self.committed: list[float] = []
        self._settle()

    def add(self, asked: int, accepted: int, doubted: float | None = None) -> None:
        """Of a draft that was to have `asked` tokens, the first `accepted` stood.

        A draft that stopped short counts as wrong where it stopped: what was asked for was paid for. doubted: the
        drafter's confidence in the first token that was left out unverified for its doubts. If all before it stood, it
        counts as that much of an accepted token: nobody knows whether it would have been one.
        """
        outcome = doubted or 0.0
        if accepted:
            self._streak = 1.0
        elif doubted is None:
            self._streak *= 1 - self.chances[0]
        if self._streak < _STREAK and self._weights[0] >= _SETTLED:
            self._doubt(min(self._guess, self.chances[0]))
        self.samples += 1
        tried = min(asked, accepted + 1)
        for position in range(tried):
            weight, stood = self._weights[position], 1.0 if position < accepted else outcome
            self._means[position] += (stood - self._means[position]) * max(_NEWEST, 1 / (weight + 1))
            self._weights[position] = min(weight + 1, _MEMORY)
        self._deepest = max(self._deepest, tried)
        for position in range(tried, self._deepest):
            self._weights[position] *= _FADING
        self._settle()

    def reconsider(self, accepted: int) -> None:
        """Before the result of a trial is added: if it is far better than expected, let it and the next ones decide."""
        if prod(self.chances[:accepted]) < _SURPRISE:
            self._doubt(self._first_guess)
            self.samples = min(self.samples, int(_DOUBTED))

    def _doubt(self, guess: float) -> None:
        self._guess, self._streak = guess, 1.0
        self._weights = [min(weight, _DOUBTED) for weight in self._weights]

    def known(self) -> list[tuple[float, float]]:
        """Mean and weight of every position up to the last that was tried."""
        return list(zip(self._means, self._weights, strict=True))[: self._deepest]

    def learn(self, pairs: Sequence[tuple[float, float]]) -> None:
        """Believe what `known` once said."""
        for position, (mean, weight) in enumerate(pairs):
            self._means[position], self._weights[position] = mean, weight
        self._deepest = len(pairs)
        self._settle()

    def _settle(self) -> None:
        """A position is like the one before it until it has been seen itself."""
        chance, chances = self._guess, []
        for mean, weight in self.known():
            chance = (weight * mean + _GUESS_WEIGHT * chance) / (weight + _GUESS_WEIGHT)
            chances.append(chance)
        self.chances = chances + [chance] * (MAX_DRAFT - len(chances))
        self.committed = expected_tokens(self.chances)
