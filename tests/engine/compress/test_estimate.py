"""The estimate says before compression whether it saves time."""

import pytest

from laguna_engine.compress.estimate import estimate


def test_scoring_that_takes_longer_than_reading_is_not_worth_it():
    slow = estimate(10_000, 3_000, prefill_rate=1_000, score_rate=1_000)
    assert (slow.full_s, slow.scoring_s, slow.short_s, slow.worth) == (10.0, 10.0, 13.0, False)
    assert "not worth it" in slow.sentence


def test_a_fast_scorer_is_worth_it():
    fast = estimate(64_000, 6_400, prefill_rate=1_000, score_rate=16_000)
    assert fast.short_s == pytest.approx(4.0 + 6.4)
    assert fast.worth
    assert "4.0 s of scoring" in fast.sentence


def test_words_alone_take_no_time():
    assert estimate(2_000, 1_000, 500, None).short_s == 2.0


def test_what_fits_is_read_as_it_is():
    fits = estimate(900, 1_000, 500, 10)
    assert not fits.worth
    assert fits.short_s == fits.full_s == 1.8


@pytest.mark.parametrize("arguments", [(1, 1, 0, None), (1, 1, 1, 0), (-1, 1, 1, 1), (1, -1, 1, 1)])
def test_impossible_rates_are_refused(arguments):
    with pytest.raises(ValueError, match="no estimate"):
        estimate(*arguments)
