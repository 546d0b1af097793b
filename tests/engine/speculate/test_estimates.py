"""What was measured: seconds by length with guesses between, acceptance by position, and how both forget."""

import pytest

from laguna_engine.draft.base import MAX_DRAFT
from laguna_engine.speculate.cost_model import LENGTHS, Acceptance, Costs, interpolated

SLOPE = [1 + 0.05 * length for length in range(LENGTHS)]


def measured(costs: Costs, length: int, seconds: float, times: int = 10) -> Costs:
    for _ in range(times):
        costs.add(length, seconds)
    return costs


def accepting(asked: int, accepted: int, rounds: int, guess: float = 0.7) -> Acceptance:
    acceptance = Acceptance(guess)
    for _ in range(rounds):
        acceptance.add(asked, accepted)
    return acceptance


def test_the_first_measurement_gives_a_guess_its_level():
    costs = Costs(SLOPE, reach=2)
    costs.add(0, 0.02)
    assert costs.expected == pytest.approx([0.02 * guess for guess in SLOPE])


def test_lengths_between_measured_ones_are_interpolated_and_others_scaled():
    costs = Costs([1.0] * LENGTHS, reach=2)
    measured(costs, 2, 0.02)
    measured(costs, 6, 0.06)
    assert costs.expected[:8] == pytest.approx([0.02, 0.02, 0.02, 0.03, 0.04, 0.05, 0.06, 0.06])
    measured(costs, 4, 0.02)
    assert costs.expected[2:7] == pytest.approx([0.02, 0.02, 0.02, 0.04, 0.06])


def test_one_slow_round_hardly_counts():
    costs = measured(Costs(SLOPE, reach=2), 4, 0.02)
    costs.add(4, 2.0)
    assert costs.expected[4] < 0.02 * 1.08


def test_a_slow_round_counts_even_less_when_it_had_to_prepare_something():
    cold, warm = (measured(Costs(SLOPE, reach=2), 4, 0.02) for _ in range(2))
    cold.add(4, 0.024, cold=True)
    warm.add(4, 0.024)
    assert 0.02 < cold.expected[4] < warm.expected[4]


def test_a_first_round_that_was_slow_is_forgotten_by_the_second():
    costs = Costs(SLOPE, reach=2)
    costs.add(3, 0.5)
    costs.add(3, 0.02)
    assert costs.expected[3] == 0.02


def test_lasting_change_is_followed():
    costs = measured(Costs(SLOPE, reach=2), 4, 0.02)
    assert measured(costs, 4, 0.03, times=30).expected[4] == pytest.approx(0.03, rel=0.01)


def test_costs_that_began_at_nothing_can_grow():
    costs = measured(Costs([1e-6] * LENGTHS, MAX_DRAFT), 4, 1e-9)
    assert measured(costs, 4, 0.01, times=400).expected[4] == pytest.approx(0.01, rel=0.01)


def test_longer_drafts_are_allowed_step_by_step():
    costs = Costs(SLOPE, reach=2)
    reaches = []
    for _ in range(6):
        costs.add(costs.reach, 0.02)
        reaches.append(costs.reach)
    assert reaches == [6, 14, 16, 16, 16, 16]


def test_hope_is_that_an_untried_length_costs_no_more_than_a_shorter_one():
    costs = Costs([1.0] * LENGTHS, reach=2)
    measured(costs, 2, 0.02, times=1000)
    measured(costs, 6, 0.06, times=1000)
    assert costs.hopeful()[2:7] == pytest.approx([0.02, 0.02, 0.02, 0.02, 0.06], rel=1e-3)


def test_hope_fades_with_every_measurement():
    costs = Costs(SLOPE, reach=2)
    hopes = [measured(costs, 4, 0.02, times=5).hopeful()[4] for _ in range(4)]
    assert hopes == sorted(hopes)
    assert 0.0185 < hopes[0] < hopes[-1] < 0.02


def test_inherited_costs_are_a_shape_that_one_measurement_scales():
    costs = Costs([1.0] * LENGTHS, reach=2)
    measured(costs, 0, 0.02)
    measured(costs, 8, 0.06)
    heir = costs.inherit()
    heir.add(4, 0.08)
    assert (heir.expected[0], heir.expected[8]) == pytest.approx((0.04, 0.12))
    assert (heir.reach, heir.inherited) == (costs.reach, True)


def test_points_are_joined_by_straight_lines():
    assert interpolated({1: 1.0, 3: 2.0})[:5] == [1.0, 1.0, 1.5, 2.0, 2.0]
    assert interpolated({MAX_DRAFT: 3.0}) == [3.0] * LENGTHS


def test_before_anything_was_seen_a_guess_holds_for_every_position():
    assert Acceptance(0.5).chances == [0.5] * MAX_DRAFT
    assert Acceptance(0.5).committed[:4] == [1.0, 1.5, 1.75, 1.875]


def test_a_few_wrong_drafts_overcome_a_good_guess():
    assert accepting(asked=4, accepted=0, rounds=5).chances[0] < 0.2
    assert accepting(asked=4, accepted=0, rounds=100).chances[0] < 0.02


def test_positions_are_told_apart():
    chances = accepting(asked=3, accepted=2, rounds=60).chances
    assert chances[0] > 0.95
    assert chances[1] > 0.95
    assert chances[2] < 0.1


def test_a_position_that_was_never_reached_is_like_the_one_before():
    chances = accepting(asked=4, accepted=0, rounds=10).chances
    assert len({*chances}) == 1


def test_a_draft_that_stops_short_counts_as_wrong_where_it_stops():
    short, wrong = Acceptance(0.7), Acceptance(0.7)
    short.add(asked=8, accepted=3)
    wrong.add(asked=8, accepted=3)
    full = accepting(asked=3, accepted=3, rounds=1)
    assert short.chances == wrong.chances
    assert full.chances[3] > short.chances[3]


def test_what_is_not_tried_any_more_fades_towards_the_position_before():
    acceptance = accepting(asked=3, accepted=2, rounds=60)
    stale = acceptance.chances[2]
    for _ in range(800):
        acceptance.add(asked=2, accepted=2)
    assert stale < 0.1 < 0.8 < acceptance.chances[2]


def test_a_trial_that_succeeds_against_expectation_lets_the_next_rounds_decide():
    doubting, certain = (accepting(asked=2, accepted=0, rounds=200) for _ in range(2))
    doubting.reconsider(accepted=1)
    certain.reconsider(accepted=0)
    for drafter in (doubting, certain):
        for _ in range(4):
            drafter.add(asked=2, accepted=2)
    assert certain.chances[0] < 0.2 < 0.6 < doubting.chances[0]


def test_success_that_was_expected_casts_no_doubt():
    acceptance = accepting(asked=2, accepted=2, rounds=50)
    before = acceptance.known()
    acceptance.reconsider(accepted=2)
    assert acceptance.known() == before


def test_a_streak_of_failures_of_a_good_drafter_ends_the_trust_in_all_positions():
    acceptance = accepting(asked=4, accepted=4, rounds=200)
    for _ in range(4):
        acceptance.add(asked=4, accepted=0)
    before = accepting(asked=4, accepted=4, rounds=200).committed[4]
    assert (acceptance.committed[4] - 1) < (before - 1) / 2


def test_a_long_streak_of_failures_of_a_bad_drafter_raises_no_hope():
    acceptance = Acceptance(0.7)
    chances = []
    for _ in range(600):
        acceptance.add(asked=4, accepted=0)
        chances.append(acceptance.chances[0])
    assert chances == sorted(chances, reverse=True)


def test_what_is_known_can_be_learned_again():
    known = accepting(asked=5, accepted=3, rounds=30)
    learner = Acceptance(0.7)
    learner.learn(known.known())
    assert learner.chances == known.chances


def test_a_token_left_out_for_its_doubts_counts_as_much_as_the_drafter_believed_in_it():
    cut, rejected = Acceptance(0.7), Acceptance(0.7)
    for _ in range(200):
        cut.add(8, 2, doubted=0.4)
        rejected.add(8, 2)
    assert cut.chances[:2] == rejected.chances[:2]
    assert cut.chances[2] == pytest.approx(0.4, abs=0.02)
    assert rejected.chances[2] == pytest.approx(0.0, abs=0.02)


def test_drafts_left_out_altogether_are_no_streak_of_failures():
    acceptance = Acceptance(0.7)
    for _ in range(100):
        acceptance.add(4, 4)
    believed = acceptance.chances[1:4]
    for _ in range(10):
        acceptance.add(4, 0, doubted=0.3)
    assert acceptance.chances[0] > 0.7
    assert acceptance.chances[1:4] == pytest.approx(believed, abs=0.1)
