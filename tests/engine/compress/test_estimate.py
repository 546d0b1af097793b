"""The estimate says before compression whether it saves time, and a scorer keeps to its time."""

from functools import partial

import pytest

from laguna_engine.compress.estimate import estimate, score_in_time
from laguna_engine.compress.scores import UNSCORED, Scores
from laguna_engine.errors import Stopped


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


def test_a_scorer_takes_half_of_what_is_saved_and_never_more_than_its_limit():
    half = estimate(64_000, 6_400, prefill_rate=1_000, score_rate=2_000)
    assert (half.limit_s, half.scoring_s, half.worth) == (pytest.approx(28.8), pytest.approx(28.8), True)
    assert half.short_s < half.full_s
    limited = estimate(64_000, 6_400, prefill_rate=1_000, score_rate=16_000, limit_s=3.0)
    assert (limited.limit_s, limited.scoring_s) == (3.0, 3.0)


def test_a_scorer_that_could_read_less_than_half_is_not_asked():
    assert not estimate(64_000, 6_400, prefill_rate=1_000, score_rate=16_000, limit_s=1.9).worth


def test_without_a_speed_of_reading_the_limit_alone_counts():
    unknown = estimate(64_000, 6_400, prefill_rate=float("inf"), score_rate=16_000, limit_s=20.0)
    assert (unknown.limit_s, unknown.scoring_s, unknown.worth) == (20.0, 4.0, True)


@pytest.mark.parametrize("prefill", [10, 300, 5_000, 1e6])
@pytest.mark.parametrize("scoring", [54, 900, 20_000])
@pytest.mark.parametrize("keep", [0.05, 0.3, 0.9])
def test_what_is_chosen_is_never_slower_than_reading_everything(prefill, scoring, keep):
    chosen = estimate(100_000, int(100_000 * keep), prefill, scoring)
    taken = chosen.short_s if chosen.worth else 100_000 * keep / prefill
    assert taken <= chosen.full_s


class Timed:
    """A scorer on a clock of its own: a text's tokens are its characters, `pace` of them a second."""

    def __init__(self, pace, rate=0.0):
        self.now, self.rate, self._pace = 0.0, rate, pace
        self.batches = []

    def clock(self):
        return self.now

    def measure(self):
        self.now += 0.5
        self.rate = self._pace
        return self.rate

    def count(self, text):
        return len(text)

    def score(self, texts, query, should_stop, progress):
        tokens = sum(map(len, texts))
        self.batches.append(texts)
        for done in (0.5, 1.0):
            self.now += tokens / self._pace / 2
            progress(done)
        return [Scores(1.0, 1.0)] * len(texts)


def timed(scorer, texts, seconds, progress=lambda share: None):
    return score_in_time(scorer, texts, "?", seconds, progress=progress, clock=scorer.clock)


def test_everything_is_scored_when_there_is_time_for_it():
    scorer, shares = Timed(100), []
    assert UNSCORED not in timed(scorer, ["x" * 50] * 10, 20.0, shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    # Measured once, before anything else.
    assert scorer.now == pytest.approx(5.5)


def test_the_first_texts_are_scored_when_there_is_not_time_for_all():
    scorer = Timed(100)
    found = timed(scorer, ["x" * 50] * 100, 10.0)
    done = sum(score is not UNSCORED for score in found)
    assert found == [Scores(1.0, 1.0)] * done + [UNSCORED] * (100 - done)
    assert 15 <= done < 20
    assert scorer.now <= 10.0


def test_a_text_that_would_take_too_long_does_not_keep_others_out():
    scorer = Timed(100)
    assert timed(scorer, ["x" * 5_000, "y" * 50], 10.0) == [UNSCORED, Scores(1.0, 1.0)]


def test_a_scorer_that_turns_out_slower_ends_within_the_batch_that_was_begun():
    scorer = Timed(50, rate=100.0)
    score = scorer.score

    def slower(*arguments):
        found = score(*arguments)
        scorer.rate = 50.0
        return found

    scorer.score = slower
    found = timed(scorer, ["x" * 10] * 1_000, 10.0)
    assert 30 < sum(score is not UNSCORED for score in found) <= 50
    assert scorer.now <= 10.0


def test_what_was_scored_before_a_stop_counts():
    scorer, shares = Timed(100, rate=100.0), []
    score = scorer.score

    def stopped(texts, query, should_stop, progress):
        if should_stop():
            raise Stopped("scoring was stopped")
        return score(texts, query, should_stop, progress)

    scorer.score = stopped
    stop = partial(score_in_time, scorer, ["x" * 50] * 100, "?", 60.0, clock=scorer.clock, progress=shares.append)
    found = stop(should_stop=lambda: scorer.now > 5.0)
    done = sum(score is not UNSCORED for score in found)
    assert found == [Scores(1.0, 1.0)] * done + [UNSCORED] * (100 - done)
    assert 5 < done < 20
    with pytest.raises(Stopped):
        stop(should_stop=lambda: True)


def test_no_time_is_no_work():
    scorer = Timed(100, rate=100.0)
    assert timed(scorer, ["x"] * 5, 0.0) == [UNSCORED] * 5
    assert not scorer.batches
