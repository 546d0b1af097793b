"""Experience by drafter and context, and its way through a file: trusted little, and never a reason to fail."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laguna_engine.speculate.cost_model import LENGTHS, CostModel, bucket_of
from laguna_engine.speculate.cost_profile import load_profile, profile_of
from laguna_engine.speculate.draft_policy import DraftPolicy
from tests.engine.speculate.simulation import COPIES, PLAIN_S, Simulated, play

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


def experienced() -> DraftPolicy:
    policy = DraftPolicy()
    copying = Simulated("suffix/3-4", 0.001, lambda _: 0.4, offered=lambda index: index % 3 == 0)
    play(policy, [Simulated(), copying], 400)
    return policy


def through_json(state: dict[str, object]) -> dict[str, object]:
    copied: dict[str, object] = json.loads(json.dumps(state, allow_nan=False))
    return copied


def test_buckets_are_powers_of_two_from_1_k():
    contexts = (0, 1023, 1024, 2047, 2048, 4095, 32_768, 262_143, 10_000_000)
    assert [bucket_of(context) for context in contexts] == [0, 0, 1, 1, 2, 2, 6, 8, 9]


def test_another_context_length_begins_with_what_the_nearest_one_knows():
    experience = CostModel()
    for _ in range(5):
        experience.verify(1).add(0, 0.02)
        experience.verify(1).add(4, 0.04)
    near = experience.verify(3)
    assert near.expected == experience.verify(1).expected
    near.add(4, 0.08)
    assert near.expected[0] == pytest.approx(0.04)
    assert experience.verify(1).expected[0] == pytest.approx(0.02)


def test_longer_matches_are_trusted_more_before_any_was_tried():
    kinds = ("suffix/1-2", "file/3-4", "suffix/5-7", "file/8+")
    guesses = [CostModel().kind(kind, COPIES[kind].prior).acceptance.chances[0] for kind in kinds]
    assert guesses == sorted(set(guesses))


def test_what_was_learned_survives_a_file():
    policy, later = experienced(), DraftPolicy()
    assert later.load(through_json(policy.state()))
    before, after = (
        json.loads(json.dumps(each.state()))["kinds"]["dflash"]["acceptance"][0] for each in (policy, later)
    )
    assert after[0] == before[0]
    assert later.state() == through_json(later.state())


def test_a_kind_that_an_earlier_session_learned_of_keeps_its_own_first_guess():
    saved = {"acceptance": [], "interval": 4, "draft": {}}
    costs = CostModel()
    assert load_profile(costs, {"version": 1, "verify": {}, "kinds": {"suffix/1-2": saved, "gone/forever": saved}})
    assert costs.kind("suffix/1-2", prior=0.35).acceptance.chances[0] == 0.35


def test_a_later_session_drafts_at_once():
    later = DraftPolicy()
    later.load(through_json(experienced().state()))
    early = play(later, [Simulated()], 10)
    assert all(choice.length > 4 for choice in early.choices)


@pytest.mark.parametrize("speed", [0.1, 10.0])
def test_old_seconds_do_not_matter_on_a_machine_that_is_slower_or_faster_now(speed):
    later = DraftPolicy()
    later.load(through_json(experienced().state()))
    play(later, [Simulated()], 5, speed=speed)
    costs = later._cost_model.verify(0).expected
    assert costs[0] == pytest.approx(PLAIN_S / speed, rel=0.3)


def test_old_acceptance_yields_to_new_rounds():
    later = DraftPolicy()
    later.load(through_json(experienced().state()))
    wrong = play(later, [Simulated(acceptance=lambda _: 0.0)], 60)
    assert wrong.lengths(60).count(0) >= 25
    assert wrong.lengths(20).count(0) >= 17


def test_an_old_loser_is_tried_again_soon():
    policy = DraftPolicy()
    play(policy, [Simulated(acceptance=lambda _: 0.0)], 3000)
    later = DraftPolicy()
    later.load(through_json(policy.state()))
    again = play(later, [Simulated(acceptance=lambda _: 0.9)], 300)
    assert set(again.lengths(50)) & {0} == set()


def test_the_state_is_small_however_much_was_seen():
    experience = CostModel()
    for kind in range(40):
        for bucket in range(10):
            for length in range(LENGTHS):
                experience.kind(f"drafter-{kind}").draft(bucket).add(length, 0.123456789)
                experience.verify(bucket).add(length, 0.123456789)
    assert len(json.dumps(profile_of(experience))) < 128 * 1024


def test_the_drafter_that_was_not_asked_for_longest_is_forgotten_first():
    experience = CostModel()
    for kind in range(16):
        experience.kind(f"drafter-{kind}").interval = 99
    experience.kind("drafter-0")
    experience.kind("one more")
    assert experience.kind("drafter-0").interval == 99
    assert experience.kind("drafter-1").interval != 99


@pytest.mark.parametrize("name", ["version", "verify", "kinds"])
@given(damage=JSON)
def test_a_damaged_state_is_ignored_or_understood_but_never_an_error(name, damage):
    state = {**DAMAGEABLE, name: damage}
    experience = CostModel()
    load_profile(experience, state)
    assert all(0 < seconds < math.inf for seconds in experience.verify(3).expected)


@pytest.mark.parametrize(
    "kind",
    [
        {},
        [],
        {"acceptance": [[0.5]], "interval": 4, "draft": {}},
        {"acceptance": [[math.nan, 1]], "interval": 4, "draft": {}},
        {"acceptance": [[0.5, -1]], "interval": 4, "draft": {}},
        {"acceptance": [], "interval": "4", "draft": {}},
        {"acceptance": [], "interval": 10**400, "draft": {}},
        {"acceptance": [], "interval": 4, "draft": {"0": {"1": 0.0}}},
        {"acceptance": [], "interval": 4, "draft": {"0": {"99": 1.0}}},
        {"acceptance": [], "interval": 4, "draft": {"-1": {"1": 1.0}}},
        {"acceptance": [], "interval": 4, "draft": {"x": {"1": 1.0}}},
    ],
    ids=str,
)
def test_a_record_that_cannot_be_true_changes_nothing(kind):
    experience = CostModel()
    experience.verify(0).add(0, 0.02)
    before = profile_of(experience)
    assert not load_profile(experience, {"version": 1, "verify": {}, "kinds": {"dflash": kind}})
    assert profile_of(experience) == before


def test_a_state_of_another_version_is_left_alone():
    assert not load_profile(CostModel(), {**DAMAGEABLE, "version": 2})
    assert not load_profile(CostModel(), {})
    assert load_profile(CostModel(), DAMAGEABLE)


DAMAGEABLE = through_json(experienced().state())
