"""Figures of many samples and how sure they are: pass@k, intervals, and the paired comparison of two runs.

Tasks are the sampling unit: a set is a sample of all tasks of its kind, and samples of one task are not independent.
So every interval is over tasks, and a task's samples only make its own value more certain.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Z = 1.959963984540054
"""Of a two-sided interval of 95 %."""
_RESAMPLES = 4000
_SEED = 1


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure with its interval of 95 %; all shares of 1."""

    value: float
    low: float
    high: float


def pass_at_k(samples: int, passed: int, k: int) -> float:
    """Return an unbiased estimate of the chance that at least one of k samples of a task passes.

    1 - C(n - c, k) / C(n, k), as in "Evaluating Large Language Models Trained on Code" (arXiv 2107.03374).

    Args:
        samples: n, at least k.
        passed: c.
        k: samples drawn.
    """
    if not 0 < k <= samples:
        raise ValueError(f"pass@{k} needs at least {k} samples, and there are {samples}")
    return 1.0 - math.comb(samples - passed, k) / math.comb(samples, k)


def mean_interval(values: Sequence[float], samples: int) -> Interval:
    """Return the mean of the tasks' values, each 0 to 1, with Wilson's interval, continuity corrected.

    With one sample a task it is the interval of a share (Newcombe 1998, method 4), whose coverage is at least about
    95 % for every true share. Values between 0 and 1 vary less than that: then the count of tasks is raised to the
    number of yes and no answers whose share would vary as much, at most to all samples.

    Args:
        values: one for each task; at least one.
        samples: of all tasks together.
    """
    tasks = len(values)
    mean = float(np.mean(values))
    count = float(tasks)
    if tasks > 1 and 0.0 < mean < 1.0:
        # With a task that always passes and one that never does: few tasks that are alike say little of the others.
        variance = float(np.var([*values, 0.0, 1.0], ddof=1)) / tasks
        count = min(float(max(samples, tasks)), max(count, mean * (1 - mean) / variance))
    return Interval(mean, *_wilson(mean, count))


def _wilson(share: float, count: float) -> tuple[float, float]:
    center, width = 2 * count * share + Z * Z, 2 * (count + Z * Z)
    low = Z * math.sqrt(max(0.0, Z * Z - 2 - 1 / count + 4 * share * (count * (1 - share) + 1)))
    high = Z * math.sqrt(max(0.0, Z * Z + 2 - 1 / count + 4 * share * (count * (1 - share) - 1)))
    return (
        0.0 if share == 0 else max(0.0, (center - 1 - low) / width),
        1.0 if share == 1 else min(1.0, (center + 1 + high) / width),
    )


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Two runs of the same tasks, the second one less the first.

    Attributes:
        tasks: tasks of both runs.
        better, worse: tasks of which the second run passed more samples, or fewer.
        mean: the difference of the shares that passed, with its interval.
        p_value: exact probability of so large a difference if both are equally good.
    """

    tasks: int
    better: int
    worse: int
    mean: Interval
    p_value: float

    def equal_within(self, share: float) -> bool:
        """Return whether the whole interval is within `share` of 0."""
        return -share <= self.mean.low and self.mean.high <= share


def compared(differences: Sequence[int], samples: int) -> PairedDifference:
    """Compare two runs, paired by task.

    The p-value is of the test that gives every task's difference a random sign; with one sample a task that is
    McNemar's exact test. The interval is the wider one of two: the bootstrap over tasks, and Bonett and Price's (2012),
    which adds a task of either sign, so that two runs that never differ are not taken for equal whatever the number of
    tasks.

    Args:
        differences: by task, how many samples more passed in the second run.
        samples: of each task in each run.
    """
    counts = np.asarray(differences, dtype=np.int64)
    shares = counts / samples
    low, high = _bonett_price(shares)
    means = np.random.default_rng(_SEED).choice(shares, (_RESAMPLES, len(shares))).mean(axis=1)
    resampled_low, resampled_high = np.quantile(means, (0.025, 0.975))
    mean = Interval(float(shares.mean()), min(low, float(resampled_low)), max(high, float(resampled_high)))
    return PairedDifference(
        len(counts), int((counts > 0).sum()), int((counts < 0).sum()), mean, sign_flip_p(differences)
    )


def ratio_change(first: Sequence[tuple[int, int]], second: Sequence[tuple[int, int]]) -> Interval:
    """Return the change of the share over all tasks together, with the interval of the bootstrap over tasks.

    Args:
        first, second: by task, how many of how many; 0 of 0 counts as nothing, and a share of nothing as 0.
    """
    counts = np.asarray([(*a, *b) for a, b in zip(first, second, strict=True)], dtype=np.float64)

    def change(sums: np.ndarray) -> np.ndarray:
        before, of_before, after, of_after = np.moveaxis(sums, -1, 0)
        return np.asarray(after / np.maximum(of_after, 1) - before / np.maximum(of_before, 1))

    drawn = np.random.default_rng(_SEED).integers(len(counts), size=(_RESAMPLES, len(counts)))
    low, high = np.quantile(change(counts[drawn].sum(axis=1)), (0.025, 0.975))
    return Interval(float(change(counts.sum(axis=0))), float(low), float(high))


def _bonett_price(shares: np.ndarray) -> tuple[float, float]:
    added = np.concatenate([shares, [1.0, -1.0]])
    margin = Z * math.sqrt(float(np.var(added)) / len(added))
    middle = float(added.mean())
    return max(-1.0, middle - margin), min(1.0, middle + margin)


def sign_flip_p(differences: Sequence[int]) -> float:
    """Return the exact two-sided p-value of the sum of the differences if either sign of each is as likely."""
    sizes = [abs(each) for each in differences if each]
    chances = np.ones(1)
    for size in sizes:
        grown = np.zeros(len(chances) + 2 * size)
        grown[: len(chances)] += chances / 2
        grown[2 * size :] += chances / 2
        chances = grown
    middle = sum(sizes)
    sums = np.arange(len(chances)) - middle
    return min(1.0, float(chances[np.abs(sums) >= abs(sum(differences))].sum()))
