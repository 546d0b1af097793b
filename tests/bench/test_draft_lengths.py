"""The prediction, from samples whose costs and acceptance are known."""

import pytest

from laguna_engine.speculate.cost_model import constant_acceptance_tokens
from tests.app.bench.samples import sample, spun
from tests.bench import draft_lengths as lengths
from tests.bench.draft_lengths import DraftCosts, PredictionRow, constant_for

# A plain token takes 1 s; a round of two drafted tokens 0.2 + 1.2 + 0.1 s.
ROUND_S = (0.2, 1.2, 0.1, 1.6)


def answers() -> list:
    plain = sample("plain", "x", range(11), decode_s=10.0)
    # 5 rounds commit 3, 3, 1, 2 and 1 tokens: 10 of them.
    rounds = [spun(2, accepted, ROUND_S) for accepted in (2, 2, 0, 1, 0)]
    return [plain, sample("2", "x", range(11), decode_s=8.0, rounds=rounds)]


def test_acceptance_and_costs_predict_the_speed_up():
    costs = DraftCosts.of(answers())
    assert costs.plain_s == pytest.approx(1.0)
    assert costs.chances == pytest.approx((3 / 5, 2 / 3))
    row = PredictionRow.of(answers(), 2, costs)
    assert row.expected == pytest.approx(1 + 3 / 5 + 2 / 5)
    assert row.predicted == pytest.approx(2 / 1.5)
    assert row.measured == pytest.approx(10 / 8)
    assert row.difference == pytest.approx((2 / 1.5) / (10 / 8) - 1)


def test_nothing_is_predicted_without_a_plain_answer_or_a_draft():
    plain, drafted = answers()
    assert DraftCosts.of([drafted]) is None
    assert DraftCosts.of([plain]) is None


@pytest.mark.parametrize("acceptance", [0.0, 0.3, 0.95, 1.0])
def test_one_acceptance_for_all_positions_brings_as_many_tokens(acceptance):
    tokens = constant_acceptance_tokens(acceptance, 7)
    assert constant_for(tokens, 7) == pytest.approx(acceptance, abs=1e-6)


def test_conditional_acceptance_ends_where_nothing_was_ever_reached():
    rounds = [spun(4, 0), spun(4, 1), spun(4, 2), spun(2, 2), spun(0, 0)]
    assert lengths.conditional(rounds) == pytest.approx([3 / 4, 2 / 3, 0.0])


def test_what_no_phase_explains_is_the_engines_own():
    assert lengths.seconds([spun(1, 1, (1.0, 2.0, 0.5, 4.0))], "other") == [0.5]
    assert lengths.between_rounds([sample("a", "x", decode_s=10.0, rounds=[spun(1, 1), spun(1, 0)])]) == 1.0


def test_a_percentile_is_a_value_that_was_measured():
    assert lengths.percentile([5.0, 1.0, 3.0], 0.9) == 5.0
    assert lengths.percentile([], 0.9) is None
