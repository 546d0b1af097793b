"""The cost model as JSON-able values, for a later session with the same model on the same device."""

import math
from collections.abc import Mapping

from laguna_engine.draft.base import MAX_DRAFT
from laguna_engine.speculate.cost_model import (
    BUCKETS,
    FIRST_INTERVAL,
    FIRST_REACH,
    KINDS,
    LAST_INTERVAL,
    CostModel,
    Costs,
    KindRecord,
    interpolated,
)

VERSION = 1
"""Of the state's layout."""

_LOADED_WEIGHT = 4.0
"""Rounds that an earlier session's acceptance is worth at most: another text was being written."""

_LOADED_INTERVAL = 64
"""An earlier session's loser is tried again after so many rounds at most."""


def profile_of(costs: CostModel) -> dict[str, object]:
    """Everything as JSON-able values, a few kilobytes; costs are keyed by bucket (0, 1, …) and draft length."""
    return {
        "version": VERSION,
        "verify": _costs_state(costs.verifications),
        "kinds": {name: _kind_state(record) for name, record in costs.kinds.items()},
    }


def load_profile(costs: CostModel, state: Mapping[str, object]) -> bool:
    """Start from what `state` once said, as a guess that the first rounds correct; whether it could be used.

    Seconds are taken as proportions only, acceptance as a few rounds' worth. A damaged state, or one of another
    version, changes nothing.
    """
    try:
        if state["version"] != VERSION:
            return False
        verify = _loaded_costs(state["verify"])
        kinds = {name: _loaded_kind(saved) for name, saved in list(_mapping(state["kinds"]).items())[:KINDS]}
    except (KeyError, TypeError, ValueError, OverflowError):
        return False
    costs.verifications, costs.kinds = verify, kinds
    return True


def _costs_state(costs: dict[int, Costs]) -> dict[str, object]:
    return {
        str(bucket): {str(length): _short(seconds) for length, seconds in cost.measured().items()}
        for bucket, cost in costs.items()
    }


def _kind_state(kind: KindRecord) -> dict[str, object]:
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
            reach = max(FIRST_REACH, *seconds)
            costs[_index(bucket, BUCKETS - 1)] = Costs(interpolated(seconds), reach, inherited=True)
    return costs


def _loaded_kind(saved: object) -> KindRecord:
    fields = _mapping(saved)
    kind = KindRecord()
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
