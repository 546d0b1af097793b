"""All that was measured, by drafter and by context length, and its way into a file and back.

Verification costs what it costs whoever drafted, so its record is shared; drafting and acceptance have one for each
kind of draft. Context lengths fall into buckets, powers of two from 1 K, because attention makes all of it dearer.
"""

import math
from collections.abc import Mapping

from laguna_engine.draft.drafter import MAX_DRAFT
from laguna_engine.speculate.depth import (
    FIRST_INTERVAL,
    LAST_INTERVAL,
    LENGTHS,
    Acceptance,
    Costs,
    interpolated,
)

VERSION = 1
"""Of the state's layout."""

_BUCKETS = 10
"""0 to 1 K, to 2 K, … to 256 K, and beyond: also the most that is ever kept."""

_KINDS = 16
"""Kinds of draft that are remembered: the copying ones are 8."""

_GUESSES = {"1-2": 0.35, "3-4": 0.5, "5-7": 0.65, "8+": 0.85}
_GUESS = 0.7
"""First guesses at the acceptance: by the length of the match for copies, and for anything else."""

_VERIFY_SLOPE = 0.05
_FREE = 1e-6
"""First guesses at the costs, low enough for everything to be tried: a verified token costs a twentieth of a plain
round, a draft as good as nothing. The level is right after one measurement."""

_FIRST_REACH = 2
"""The longest draft as long as no verification was measured."""

_LOADED_WEIGHT = 4.0
"""Rounds that an earlier session's acceptance is worth at most: another text was being written."""

_LOADED_INTERVAL = 64
"""An earlier session's loser is tried again after so many rounds at most."""


def bucket_of(context: int) -> int:
    """The bucket for `context` committed tokens."""
    return min((context >> 10).bit_length(), _BUCKETS - 1)


class Kind:
    """The record of one kind of draft.

    length: what was chosen last, 0 when plain decoding was better, None before anything was. interval: rounds from one
    trial to the next while it does not pay. tried: the round of the last trial. wins: how often it was chosen for its
    speed. gain_s: seconds gained over plain decoding of late.
    """

    __slots__ = ("acceptance", "drafts", "gain_s", "interval", "length", "tried", "used", "wins")

    def __init__(self, name: str) -> None:
        self.acceptance = Acceptance(_GUESSES.get(name.rpartition("/")[2], _GUESS))
        self.drafts: dict[int, Costs] = {}
        self.length: int | None = None
        self.interval = FIRST_INTERVAL
        self.tried = self.used = self.wins = 0
        self.gain_s = 0.0

    def draft(self, bucket: int) -> Costs:
        """What drafting costs at this context length."""
        return _at(self.drafts, bucket) or self.drafts.setdefault(bucket, Costs([_FREE] * LENGTHS, MAX_DRAFT))


class Experience:
    """The shared record of verification, and those of the drafters."""

    def __init__(self) -> None:
        self._verify: dict[int, Costs] = {}
        self._kinds: dict[str, Kind] = {}
        self._uses = 0

    def verify(self, bucket: int) -> Costs:
        """What the target's computation costs at this context length."""
        guess = [1 + _VERIFY_SLOPE * length for length in range(LENGTHS)]
        return _at(self._verify, bucket) or self._verify.setdefault(bucket, Costs(guess, _FIRST_REACH))

    def kind(self, name: str) -> Kind:
        """The record of drafts of this kind; the one that was not asked for longest makes room for a new one."""
        self._uses += 1
        record = self._kinds.get(name)
        if record is None:
            if len(self._kinds) >= _KINDS:
                del self._kinds[min(self._kinds, key=lambda known: self._kinds[known].used)]
            record = self._kinds[name] = Kind(name)
        record.used = self._uses
        return record

    def state(self) -> dict[str, object]:
        """Everything as JSON-able values, a few kilobytes; costs are keyed by bucket (0, 1, …) and draft length."""
        return {
            "version": VERSION,
            "verify": _costs_state(self._verify),
            "kinds": {name: _kind_state(record) for name, record in self._kinds.items()},
        }

    def load(self, state: Mapping[str, object]) -> bool:
        """Start from what `state` once said, as a guess that the first rounds correct; whether it could be used.

        Seconds are taken as proportions only, acceptance as a few rounds' worth. A damaged state, or one of another
        version, changes nothing.
        """
        try:
            if state["version"] != VERSION:
                return False
            verify = _loaded_costs(state["verify"])
            kinds = {name: _loaded_kind(name, saved) for name, saved in list(_mapping(state["kinds"]).items())[:_KINDS]}
        except (KeyError, TypeError, ValueError, OverflowError):
            return False
        self._verify, self._kinds = verify, kinds
        return True


def _at(known: dict[int, Costs], bucket: int) -> Costs | None:
    """The bucket's costs, or those of the nearest one as a guess; None when there are none at all."""
    if bucket not in known and known:
        known[bucket] = known[min(known, key=lambda other: abs(other - bucket))].inherit()
    return known.get(bucket)


def _costs_state(costs: dict[int, Costs]) -> dict[str, object]:
    return {
        str(bucket): {str(length): _short(seconds) for length, seconds in cost.measured().items()}
        for bucket, cost in costs.items()
    }


def _kind_state(kind: Kind) -> dict[str, object]:
    return {
        "acceptance": [[_short(mean), _short(weight)] for mean, weight in kind.acceptance.known()],
        "interval": kind.interval,
        "draft": _costs_state(kind.drafts),
    }


def _loaded_costs(saved: object) -> dict[int, Costs]:
    costs = {}
    for bucket, points in _mapping(saved).items():
        seconds = {_index(length, MAX_DRAFT): _positive(value) for length, value in _mapping(points).items()}
        if seconds:
            reach = max(_FIRST_REACH, *seconds)
            costs[_index(bucket, _BUCKETS - 1)] = Costs(interpolated(seconds), reach, inherited=True)
    return costs


def _loaded_kind(name: str, saved: object) -> Kind:
    fields = _mapping(saved)
    kind = Kind(name)
    kind.interval = int(_within(_number(fields["interval"]), FIRST_INTERVAL, LAST_INTERVAL))
    kind.interval = min(kind.interval, _LOADED_INTERVAL)
    kind.acceptance.learn([_loaded_chance(pair) for pair in _list(fields["acceptance"])[:MAX_DRAFT]])
    kind.drafts = _loaded_costs(fields["draft"])
    return kind


def _loaded_chance(pair: object) -> tuple[float, float]:
    mean, weight = _list(pair)
    return _within(_number(mean), 0.0, 1.0), min(_LOADED_WEIGHT, _within(_number(weight), 0.0, math.inf))


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def _mapping(value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise TypeError
    return value


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError
    return value


def _number(value: object) -> float:
    if not isinstance(value, int | float):
        raise TypeError
    return value


def _positive(value: object) -> float:
    return _within(_number(value), 1e-9, 1e6)


def _index(value: str | float, most: int) -> int:
    return int(_within(int(value), 0, most))


def _within(value: float, least: float, most: float) -> float:
    if not least <= value <= most:
        raise ValueError
    return value
