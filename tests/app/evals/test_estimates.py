"""Estimates are unbiased, and their intervals hold what they promise: the true value in at least 95 of 100 runs."""

import math
from itertools import combinations

import numpy as np
import pytest

from laguna_tui.evals.estimates import compared, mean_interval, pass_at_k, sign_flip_p

RUNS = 1000


def covered(intervals, truth):
    return sum(each.low <= truth <= each.high for each in intervals)


@pytest.mark.parametrize(("samples", "passed", "k"), [(5, 2, 1), (5, 2, 3), (6, 0, 2), (6, 6, 6), (7, 3, 5)])
def test_pass_at_k_is_the_share_of_choices_with_a_passing_sample(samples: int, passed: int, k: int):
    choices = list(combinations(range(samples), k))
    assert pass_at_k(samples, passed, k) == pytest.approx(sum(min(c) < passed for c in choices) / len(choices))


def test_pass_at_k_of_more_samples_than_there_are_is_refused():
    with pytest.raises(ValueError, match="pass@3 needs at least 3 samples"):
        pass_at_k(2, 1, 3)


@pytest.mark.parametrize("share", [0.0, 0.02, 0.1, 0.5, 0.7, 0.97, 1.0])
@pytest.mark.parametrize("tasks", [20, 80])
def test_the_interval_of_one_sample_a_task_covers_the_true_share(tasks: int, share: float):
    drawn = np.random.default_rng(1).binomial(1, share, (RUNS, tasks))
    assert covered((mean_interval(list(map(float, run)), tasks) for run in drawn), share) >= 0.95 * RUNS


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("spread", [0.3, 1.0, 5.0, math.inf])
def test_the_interval_of_several_samples_of_unlike_tasks_covers_the_true_mean(share: float, spread: float):
    """Tasks whose own chances come from a beta distribution, from nearly all or nothing to all alike."""
    generator, tasks, samples = np.random.default_rng(2), 80, 4
    alike = np.full((RUNS, tasks), share)
    own = alike if spread == math.inf else generator.beta(share * spread, (1 - share) * spread, (RUNS, tasks))
    drawn = generator.binomial(samples, own) / samples
    assert covered((mean_interval(list(run), tasks * samples) for run in drawn), share) >= 0.95 * RUNS


@pytest.mark.parametrize("share", [0.02, 0.05, 0.2, 0.441, 0.7, 0.97])
def test_the_chance_that_the_interval_of_a_share_covers_it_is_at_least_95_percent(share: float):
    """Exactly, by all outcomes; pass@k of k samples a task is such a share."""
    tasks = 80
    found = [mean_interval([1.0] * passed + [0.0] * (tasks - passed), tasks) for passed in range(tasks + 1)]
    chances = (
        math.comb(tasks, passed) * share**passed * (1 - share) ** (tasks - passed) for passed in range(tasks + 1)
    )
    assert sum(chance for chance, each in zip(chances, found, strict=True) if each.low <= share <= each.high) >= 0.95


@pytest.mark.parametrize("share", [0.05, 0.3, 0.6])
@pytest.mark.parametrize("spread", [0.3, 1.0, 5.0])
@pytest.mark.parametrize("k", [2, 5])
def test_the_interval_of_pass_at_k_covers_the_known_rate(share: float, spread: float, k: int):
    """Ten samples of each of 80 tasks; what a table says of a set, by the same two calls."""
    generator, tasks, samples = np.random.default_rng(4), 80, 10
    # The mean of (1 - p)^k where p comes from a beta distribution.
    truth = 1 - math.prod(((1 - share) * spread + at) / (spread + at) for at in range(k))
    own = generator.beta(share * spread, (1 - share) * spread, (RUNS, tasks))
    drawn = generator.binomial(samples, own).tolist()
    values = [pass_at_k(samples, passed, k) for passed in range(samples + 1)]
    intervals = (mean_interval([values[passed] for passed in run], tasks * samples // k) for run in drawn)
    assert covered(intervals, truth) >= 0.95 * RUNS


def test_several_samples_of_like_tasks_make_the_interval_narrower():
    one, four = mean_interval([0.0, 1.0] * 40, 80), mean_interval([0.5] * 80, 320)
    assert four.high - four.low < 0.7 * (one.high - one.low)


@pytest.mark.parametrize(("better", "worse"), [(0, 0), (3, 1), (8, 8), (12, 2), (0, 5)])
def test_with_one_sample_a_task_the_p_value_is_that_of_mcnemars_exact_test(better: int, worse: int):
    flips = better + worse
    tail = sum(math.comb(flips, k) for k in range(min(better, worse) + 1)) / 2**flips
    assert sign_flip_p([1] * better + [-1] * worse + [0] * 30) == pytest.approx(min(1.0, 2 * tail))


@pytest.mark.parametrize(("better", "worse"), [(0.0, 0.0), (0.02, 0.0), (0.05, 0.05), (0.1, 0.02), (0.25, 0.05)])
def test_the_interval_of_a_difference_covers_the_true_one(better: float, worse: float):
    generator, tasks, runs = np.random.default_rng(3), 80, 200
    drawn = generator.choice([1, -1, 0], p=[better, worse, 1 - better - worse], size=(runs, tasks))
    assert covered((compared(list(map(int, run)), 1).mean for run in drawn), better - worse) >= 0.95 * runs


def test_runs_that_never_differ_are_equal_only_as_far_as_the_tasks_say():
    few, many = compared([0] * 20, 1), compared([0] * 180, 1)
    assert not few.equal_within(0.05)
    assert many.equal_within(0.05)
    assert few.p_value == many.p_value == 1.0
