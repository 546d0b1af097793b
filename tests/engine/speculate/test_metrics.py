"""Rounds and tokens added up: what a view or a benchmark reads off."""

import pytest

from laguna_engine.draft.dflash import DFlash
from laguna_engine.draft.suffix import FileDrafter, SuffixDrafter
from laguna_engine.events import Finished, FinishReason, Round, Source, Stats, Token
from laguna_engine.speculate.metrics import HISTORY, Seconds, SpeculationMetrics


def round_of(drafter: Source | None, drafted: int, accepted: int, reason: str = "", rejected: str = "") -> Round:
    return Round(drafter, drafted, accepted, 0.01, 0.2, 0.03, 0.25, rejected, reason)


def tally_of(*events) -> SpeculationMetrics:
    tally = SpeculationMetrics()
    tally.extend(events)
    return tally


def test_nothing_has_no_rates_and_no_shares():
    nothing = SpeculationMetrics().summary()
    assert (nothing.rounds, nothing.tokens, nothing.steps, nothing.reason) == (0, 0, (), "")
    assert (nothing.tokens_per_round, nothing.rate, nothing.together.acceptance) == (None, None, None)
    assert nothing.together.by_position == nothing.together.conditional == ()


def test_acceptance_by_position_is_of_all_drafts_and_conditional_of_those_that_got_there():
    dflash = DFlash.source
    record = (
        tally_of(round_of(dflash, 3, 3), round_of(dflash, 3, 1), round_of(dflash, 3, 0), round_of(dflash, 1, 1))
        .summary()
        .drafters[dflash]
    )
    assert (record.rounds, record.drafted, record.accepted) == (4, 10, 5)
    assert (record.proposed, record.reached, record.accepted_at) == ((4, 3, 3), (4, 2, 1), (3, 1, 1))
    assert record.by_position == pytest.approx((3 / 4, 1 / 3, 1 / 3))
    assert record.conditional == pytest.approx((3 / 4, 1 / 2, 1.0))
    assert record.acceptance == 0.5


def test_a_position_that_was_never_reached_has_no_conditional_acceptance():
    assert tally_of(round_of(FileDrafter.source, 2, 0)).summary().together.conditional == (0.0, None)


def test_each_drafter_has_its_own_record_and_all_have_one_together():
    summary = tally_of(
        round_of(DFlash.source, 4, 2), round_of(SuffixDrafter.source, 8, 8), round_of(None, 0, 0)
    ).summary()
    assert {source: record.accepted for source, record in summary.drafters.items()} == {
        DFlash.source: 2,
        SuffixDrafter.source: 8,
    }
    assert (summary.together.rounds, summary.together.drafted, summary.together.accepted) == (2, 12, 10)
    assert summary.together.proposed == (2, 2, 2, 2, 1, 1, 1, 1)
    assert (summary.rounds, summary.together.rounds) == (3, 2)
    assert summary.tokens_per_round == pytest.approx(13 / 3)


def test_seconds_are_told_by_phase_and_the_rest_is_the_engines_own():
    seconds = tally_of(round_of(None, 0, 0), round_of(None, 0, 0)).summary().seconds
    assert seconds == Seconds(pytest.approx(0.02), pytest.approx(0.4), pytest.approx(0.06), pytest.approx(0.02))
    assert seconds.total == pytest.approx(0.5)


def test_rates_count_what_was_committed():
    summary = tally_of(*[round_of(None, 0, 0)] * 8, *[round_of(SuffixDrafter.source, 4, 3)] * 8).summary()
    assert summary.rate == pytest.approx((8 + 32) / 4.0)


def test_tokens_are_counted_by_who_proposed_them():
    tokens = [
        Token(1, "a", FileDrafter.source, 0),
        Token(2, "b", FileDrafter.source, 1),
        Token(3, "c", Source.TARGET, 2),
    ]
    summary = tally_of(*tokens, Finished(FinishReason.MAX_TOKENS, Stats(1, 0, 0.0, 3, 0.0))).summary()
    assert (summary.tokens, dict(summary.sources)) == (3, {FileDrafter.source: 2, Source.TARGET: 1})


def test_the_latest_round_says_why_and_what_was_wrong():
    summary = tally_of(round_of(None, 0, 0, "off"), round_of(DFlash.source, 2, 0, "trying", " rejected")).summary()
    assert (summary.reason, summary.rejected) == ("trying", " rejected")


def test_the_history_is_bounded_and_the_sums_are_not():
    tally = tally_of(*[round_of(DFlash.source, 2, 1)] * HISTORY, *[round_of(DFlash.source, 3, 1)] * 10)
    summary = tally.summary()
    assert summary.lengths == (2,) * (HISTORY - 10) + (3,) * 10
    assert (summary.rounds, summary.together.drafted) == (HISTORY + 10, 2 * HISTORY + 30)


def test_a_summary_stays_as_it_was_and_a_cleared_tally_starts_again():
    tally = tally_of(round_of(DFlash.source, 2, 1))
    before = tally.summary()
    tally.add(round_of(DFlash.source, 2, 2))
    assert before == tally_of(round_of(DFlash.source, 2, 1)).summary()
    tally.clear()
    assert tally.summary() == SpeculationMetrics().summary()
