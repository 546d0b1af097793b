"""What drafting was measured to cost and to bring: seconds by draft length, acceptance by position.

A round drafts k tokens in d(k) seconds, verifies them in v(k) and commits the accepted ones and one more. Positions
accept in order, so with conditional acceptance a1, a2, … it commits 1 + a1 + a1·a2 + … tokens on average. The best k
has the most committed tokens per second; k = 0 is plain decoding, one token in v(0). With constant acceptance a, equal
verify costs and a draft cost of k·c this is Leviathan et al., arXiv 2211.17192, theorem 3.8.

Verification costs the same for every drafter, so its record is shared; drafting and acceptance have one for each kind
of draft. Context lengths fall into buckets, powers of two from 1 K, because attention makes all of it more expensive.
Pure bookkeeping in plain Python: it runs every round and must cost microseconds. Nothing here decides.
"""

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from math import prod
from operator import add, mul, truediv
from typing import NamedTuple

from laguna_engine.draft.base import MAX_DRAFT, PRIOR

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
"""A draft may be this much longer than twice what was tried before: 16 wrong tokens are a high price for one."""

_SOME = (0, 1, 2, 4, 8, MAX_DRAFT)
"""Enough lengths to represent a guess."""

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
        """Start with a guess.

        Args:
            shape: the guess, for `LENGTHS` lengths.
            reach: the longest draft that may be tried.
            inherited: whether the guess was learned elsewhere.
        """
        self._shape = list(shape)
        self._known: list[int] = []
        self.expected = list(shape)
        self.counts = [0] * LENGTHS
        self.reach = reach
        self.inherited = inherited

    def inherit(self) -> "Costs":
        """Return the same costs as a guess."""
        return Costs(self.expected, self.reach, inherited=True)

    def add(self, length: int, seconds: float, cold: bool = False) -> None:
        """Record that `length` took `seconds`; `cold` when something that is done once may be among them."""
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
        """Return seconds as low as they may still turn out.

        Costs grow with the length, and few measurements prove little.
        """
        hopeful = [seconds * (1 - _DOUBT / (2 + n)) for seconds, n in zip(self.expected, self.counts, strict=True)]
        if not self.inherited and self._known:
            below = hopeful[self._known[0]]
            for length in range(self._known[0], LENGTHS):
                below = hopeful[length] if self.counts[length] else below
                hopeful[length] = min(hopeful[length], below)
        return hopeful

    def measured(self) -> dict[int, float]:
        """Return seconds by length, where they were measured; where nothing was, some of the guess."""
        lengths = self._known or [length for length in _SOME if length <= self.reach]
        return {length: self.expected[length] for length in lengths}

    def _fill_around(self, length: int) -> None:
        """Interpolate again between `length` and the measured lengths next to it."""
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
    """Return seconds for every length from those for some, at least one; linear between them, constant beyond them."""
    known = sorted(points)
    row = [points[known[0]]] * LENGTHS
    for left, right in pairwise(known):
        for length in range(left, right):
            row[length] = points[left] + (points[right] - points[left]) * (length - left) / (right - left)
    row[known[-1] :] = [points[known[-1]]] * (LENGTHS - known[-1])
    return row


class Acceptance:
    """How often drafted tokens are accepted, from measured rounds.

    Attributes:
        chances: by position, given that the tokens before it are accepted.
        committed: by length of a draft, the tokens that its round is expected to commit.
        samples: rounds counted.
    """

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
        """Start with a guess of the first position's chance."""
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
        """Record that of a draft that was to have `asked` tokens, the first `accepted` were accepted.

        A draft that stopped short counts as wrong where it stopped: what was asked for was paid for. doubted: the
        drafter's confidence in the first token that was left out unverified for its doubts. If all before it were
        accepted, it counts as that much of an accepted token: whether it would have been one is unknown.
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
            weight, kept = self._weights[position], 1.0 if position < accepted else outcome
            self._means[position] += (kept - self._means[position]) * max(_NEWEST, 1 / (weight + 1))
            self._weights[position] = min(weight + 1, _MEMORY)
        self._deepest = max(self._deepest, tried)
        for position in range(tried, self._deepest):
            self._weights[position] *= _FADING
        self._settle()

    def begin_at(self, guess: float) -> None:
        """Set the guess of the first position's chance, as far as nothing was seen."""
        if guess != self._first_guess:
            self._guess = self._first_guess = guess
            self._settle()

    def reconsider(self, accepted: int) -> None:
        """Discount what was learned, before a trial's result is added, if that result is far better than expected."""
        if prod(self.chances[:accepted]) < _SURPRISE:
            self._doubt(self._first_guess)
            self.samples = min(self.samples, int(_DOUBTED))

    def _doubt(self, guess: float) -> None:
        self._guess, self._streak = guess, 1.0
        self._weights = [min(weight, _DOUBTED) for weight in self._weights]

    def known(self) -> list[tuple[float, float]]:
        """Return the mean and weight of every position up to the last that was tried."""
        return list(zip(self._means, self._weights, strict=True))[: self._deepest]

    def learn(self, pairs: Sequence[tuple[float, float]]) -> None:
        """Adopt what `known` returned in an earlier session."""
        for position, (mean, weight) in enumerate(pairs):
            self._means[position], self._weights[position] = mean, weight
        self._deepest = len(pairs)
        self._settle()

    def _settle(self) -> None:
        """Compute the chances; a position is like the one before it until it was seen itself."""
        chance, chances = self._guess, []
        for mean, weight in self.known():
            chance = (weight * mean + _GUESS_WEIGHT * chance) / (weight + _GUESS_WEIGHT)
            chances.append(chance)
        self.chances = chances + [chance] * (MAX_DRAFT - len(chances))
        self.committed = expected_tokens(self.chances)


BUCKETS = 10
"""0 to 1 K, to 2 K, … to 256 K, and beyond: also the most that is ever kept."""

KINDS = 16
"""Kinds of draft that are recorded: the copying ones are 8."""

_VERIFY_SLOPE = 0.05
_FREE_S = 1e-6
"""First guesses at the costs, low enough for everything to be tried: a verified token costs a twentieth of a plain
round, a draft as good as nothing. The level is right after one measurement."""

FIRST_REACH = 2
"""The longest draft as long as no verification was measured."""


def bucket_of(context: int) -> int:
    return min((context >> 10).bit_length(), BUCKETS - 1)


class KindRecord:
    """The record of one kind of draft.

    length: what was chosen last, 0 when plain decoding was better, None before anything was. interval: rounds from one
    trial to the next while it does not pay. tried: the round of the last trial. wins: how often it was chosen for its
    speed. gain_s: seconds gained over plain decoding of late.
    """

    __slots__ = ("acceptance", "drafts", "gain_s", "interval", "length", "tried", "used", "wins")

    def __init__(self, prior: float = PRIOR) -> None:
        """Start with a guess of the first token's chance, until something was seen."""
        self.acceptance = Acceptance(prior)
        self.drafts: dict[int, Costs] = {}
        self.length: int | None = None
        self.interval = FIRST_INTERVAL
        self.tried = self.used = self.wins = 0
        self.gain_s = 0.0

    def draft(self, bucket: int) -> Costs:
        """Return what drafting costs at this context length."""
        return _at(self.drafts, bucket) or self.drafts.setdefault(bucket, Costs([_FREE_S] * LENGTHS, MAX_DRAFT))


class CostModel:
    """The shared record of verification by context bucket (`verifications`), and those of the drafts by `kinds`."""

    def __init__(self) -> None:
        self.verifications: dict[int, Costs] = {}
        self.kinds: dict[str, KindRecord] = {}
        self._uses = 0

    def verify(self, bucket: int) -> Costs:
        """Return what the target's computation costs at this context length."""
        guess = [1 + _VERIFY_SLOPE * length for length in range(LENGTHS)]
        return _at(self.verifications, bucket) or self.verifications.setdefault(bucket, Costs(guess, FIRST_REACH))

    def kind(self, name: str, prior: float = PRIOR) -> KindRecord:
        """Return the record of drafts of this kind; the least recently used one makes room for a new one.

        prior: of the kind's drafter; what an earlier session learned is kept without it.
        """
        self._uses += 1
        record = self.kinds.get(name)
        if record is None:
            if len(self.kinds) >= KINDS:
                del self.kinds[min(self.kinds, key=lambda known: self.kinds[known].used)]
            record = self.kinds[name] = KindRecord(prior)
        elif not record.used:
            record.acceptance.begin_at(prior)
        record.used = self._uses
        return record


def _at(known: dict[int, Costs], bucket: int) -> Costs | None:
    """Return the bucket's costs, or those of the nearest one as a guess; None when there are none at all."""
    if bucket not in known and known:
        known[bucket] = known[min(known, key=lambda other: abs(other - bucket))].inherit()
    return known.get(bucket)


def expected_tokens(acceptance: Sequence[float]) -> list[float]:
    """Return the mean committed tokens per round, for drafts of 0, 1, … `len(acceptance)` tokens.

    acceptance: for each position the chance that it is accepted given that those before it are.
    """
    return list(accumulate(accumulate(acceptance, mul), initial=1.0))


def constant_acceptance_tokens(acceptance: float, length: int) -> float:
    """Return the committed tokens per round when every position accepts alike: (1 - a^(k+1)) / (1 - a)."""
    if acceptance >= 1:
        return length + 1.0
    return float((1 - acceptance ** (length + 1)) / (1 - acceptance))


def speedup(committed: float, round_s: float, plain_s: float) -> float:
    """Return how much faster than plain decoding a round is: `committed` tokens in `round_s`, or one in `plain_s`."""
    return committed * plain_s / round_s


class DraftPlan(NamedTuple):
    """How many tokens to draft, and the committed tokens a second that are expected of it."""

    length: int
    rate: float


def best_length(
    committed: Sequence[float], verify_s: Sequence[float], draft_s: Sequence[float], longest: int
) -> DraftPlan:
    """Return the best of the lengths 1 to `longest`, which is 1 or more; each sequence is indexed by length.

    Plain decoding, `Plan(0, 1 / verify_s[0])`, is the caller's to compare with.
    """
    end = longest + 1
    rates = list(map(truediv, committed[1:end], map(add, verify_s[1:end], draft_s[1:end])))
    best = max(rates)
    return DraftPlan(rates.index(best) + 1, best)


def cut_length(confidence: Sequence[float], verify_s: Sequence[float], rate: float) -> int:
    """Return how many tokens of a finished draft to verify, 0 included.

    The draft is paid for; every further token must bring more than its verification costs at `rate` tokens a second,
    which is what the time is otherwise worth.
    """
    best, best_value = 0, 1 - verify_s[0] * rate
    for length, committed in enumerate(expected_tokens(confidence)):
        value = committed - verify_s[length] * rate
        if value > best_value:
            best, best_value = length, value
    return best
