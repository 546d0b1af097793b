"""Figures from samples made by hand."""

import pytest

from laguna_tui.bench import statistics
from tests.app.bench.samples import sample


def test_a_rate_counts_the_tokens_after_the_first_over_all_answers():
    answers = [sample("a", "x", range(11), decode_s=2.0), sample("a", "y", range(21), decode_s=1.0)]
    assert statistics.rate(answers) == pytest.approx(30 / 3)
    assert statistics.rate([]) is None


def test_the_median_ratio_is_of_turns_that_have_both():
    answers = [
        sample("plain", "x", repeat=0, decode_s=2.0), sample("fast", "x", repeat=0, decode_s=1.0),
        sample("plain", "x", repeat=1, decode_s=3.0), sample("fast", "x", repeat=1, decode_s=1.0),
        sample("plain", "y", repeat=0, decode_s=8.0), sample("fast", "y", repeat=0, decode_s=1.0),
        sample("plain", "y", repeat=1, decode_s=1.0),
    ]  # fmt: skip
    assert statistics.ratio_median(answers, "fast", "plain") == pytest.approx(3.0)
    assert statistics.ratio_median(answers, "other", "plain") is None


def test_the_best_ratio_is_of_the_fastest_answers_to_each_prompt():
    answers = [
        sample("plain", "x", repeat=0, decode_s=9.0), sample("fast", "x", repeat=0, decode_s=1.0),
        sample("plain", "x", repeat=1, decode_s=2.0), sample("fast", "x", repeat=1, decode_s=7.0),
        sample("plain", "only plain", decode_s=100.0),
    ]  # fmt: skip
    assert statistics.ratio_best(answers, "fast", "plain") == pytest.approx(2.0)
