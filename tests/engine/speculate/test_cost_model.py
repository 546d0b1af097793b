"""Whether drafting pays: the closed form, the tables, and the best length."""

import pytest

from laguna_engine.speculate.cost_model import (
    best_length,
    constant_acceptance_tokens,
    cut_length,
    expected_tokens,
    speedup,
)


@pytest.mark.parametrize("acceptance", [0.0, 0.3, 0.8, 1.0])
def test_constant_acceptance_is_a_special_case_of_acceptance_by_position(acceptance):
    table = expected_tokens([acceptance] * 16)
    assert table == pytest.approx([constant_acceptance_tokens(acceptance, length) for length in range(17)])


def test_positions_accept_in_order():
    assert expected_tokens([0.5, 0.0, 1.0]) == [1.0, 1.5, 1.5, 1.5]
    assert expected_tokens([]) == [1.0]


@pytest.mark.parametrize(
    "acceptance, length, faster", [(0.6, 2, 1.96), (0.7, 3, 2.53), (0.8, 5, 3.69), (0.9, 10, 6.86)]
)
def test_the_papers_speeds_with_a_free_drafter(acceptance, length, faster):
    """Leviathan et al., arXiv 2211.17192, table 1."""
    committed = constant_acceptance_tokens(acceptance, length)
    assert speedup(committed, round_s=1.0, plain_s=1.0) == pytest.approx(faster, abs=0.005)


def test_free_verification_wants_the_longest_draft_and_dear_one_the_shortest():
    committed = expected_tokens([0.8] * 8)
    free, dear = [1.0] * 9, [1.0 + length for length in range(9)]
    assert best_length(committed, free, [0.1] * 9, 8).length == 8
    assert best_length(committed, free, [0.1] * 9, 5).length == 5
    assert best_length(committed, dear, [0.1] * 9, 8).length == 1


def test_the_best_length_stops_before_the_stair():
    stairs = [1.0, 1.1, 1.1, 1.1, 2.5, 2.5, 2.5, 2.5]
    assert best_length(expected_tokens([0.8] * 7), stairs, [0.1] * 8, 7).length == 3


def test_the_rate_is_committed_tokens_a_second():
    plan = best_length([1.0, 1.5], [0.02, 0.025], [0.0, 0.005], 1)
    assert (plan.length, plan.rate) == (1, pytest.approx(50.0))


def test_a_draft_is_cut_where_its_own_doubts_cost_more_than_they_bring():
    verify = [1.0 + 0.1 * length for length in range(9)]
    rate = 2.0
    assert cut_length([0.9, 0.9, 0.2, 0.9], verify, rate) == 2
    assert cut_length([0.9, 0.9, 0.9, 0.9], verify, rate) == 4
    assert cut_length([0.1, 0.9, 0.9, 0.9], verify, rate) == 0
    assert cut_length([], verify, rate) == 0
