"""The cost model as JSON-able values, for a later session with the same model on the same device."""

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

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
"""An earlier session's loser is tried again after at most this many rounds."""

_Bucket = Annotated[int, Meta(ge=0, le=BUCKETS - 1)]
_Length = Annotated[int, Meta(ge=0, le=MAX_DRAFT)]
_Seconds = Annotated[float, Meta(ge=1e-9, le=1e6)]
_Chance = Annotated[float, Meta(ge=0, le=1)]
_Points = dict[_Bucket, dict[_Length, _Seconds]]
"""Seconds by context bucket and draft length."""


class _Kind(Struct):
    """A `KindRecord`. acceptance: mean and weight by position."""

    acceptance: list[tuple[_Chance, Annotated[float, Meta(ge=0)]]]
    interval: Annotated[float, Meta(ge=FIRST_INTERVAL, le=LAST_INTERVAL)]
    draft: _Points


class _Profile(Struct):
    version: int
    verify: _Points
    kinds: dict[str, _Kind]


def profile_of(costs: CostModel) -> dict[str, object]:
    """Return everything as JSON-able values, a few kilobytes."""
    kinds = {
        name: _Kind(
            [(_short(mean), _short(weight)) for mean, weight in record.acceptance.known()],
            record.interval,
            _points(record.drafts),
        )
        for name, record in costs.kinds.items()
    }
    profile = _Profile(VERSION, _points(costs.verifications), kinds)
    values: dict[str, object] = msgspec.json.decode(msgspec.json.encode(profile))
    return values


def load_profile(costs: CostModel, state: Mapping[str, object]) -> bool:
    """Start from an earlier session's profile, as a guess that the first rounds correct; return whether it is valid.

    Seconds are taken as proportions only, acceptance as a few rounds' worth. A damaged state, or one of another
    version, changes nothing.
    """
    try:
        profile = msgspec.convert(state, _Profile, str_keys=True)
    except msgspec.ValidationError:
        return False
    if profile.version != VERSION:
        return False
    costs.verifications = _costs(profile.verify)
    costs.kinds = {name: _record(saved) for name, saved in list(profile.kinds.items())[:KINDS]}
    return True


def _points(costs: Mapping[int, Costs]) -> _Points:
    return {
        bucket: {length: _short(seconds) for length, seconds in cost.measured().items()}
        for bucket, cost in costs.items()
    }


def _costs(saved: _Points) -> dict[int, Costs]:
    return {
        bucket: Costs(interpolated(seconds), max(FIRST_REACH, *seconds), inherited=True)
        for bucket, seconds in saved.items()
        if seconds
    }


def _record(saved: _Kind) -> KindRecord:
    record = KindRecord()
    record.interval = min(int(saved.interval), _LOADED_INTERVAL)
    record.acceptance.learn([(mean, min(_LOADED_WEIGHT, weight)) for mean, weight in saved.acceptance[:MAX_DRAFT]])
    record.drafts = _costs(saved.draft)
    return record


def _short(value: float) -> float:
    return float(f"{value:.4g}")
