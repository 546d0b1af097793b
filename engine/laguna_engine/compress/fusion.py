"""Several opinions of the same units made one, by their ranks, as each speaks on a scale of its own.

Reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009). An opinion that says nothing of a unit (0 words in common,
no gain) gives it no points; what all opinions are silent about is worth 0.
"""

from collections.abc import Sequence
from math import isfinite

from laguna_engine.compress.result import Scores

# How fast points fall with the rank: the tenth has half of the first's. 60, as in the paper, is for lists of thousands
# that are cut off at the top; here the rank also says how much room a unit is worth.
_SOFTNESS = 10.0


def fuse(words: Sequence[float], scores: Sequence[Scores] | None) -> list[float]:
    """The value of each unit from 0 to 1, the best one's being 1.

    Args:
        words: lexical scores, 0 for no word in common. scores: a model's opinions, or None without one.
    """
    opinions = [_points(words)]
    if scores is not None:
        opinions += [_points([score.gain for score in scores]), _points(_above([score.attention for score in scores]))]
    sums = [sum(points) for points in zip(*opinions, strict=True)]
    best = max(sums, default=0.0)
    return [value / best for value in sums] if best else sums


def _points(values: Sequence[float]) -> list[float]:
    """Points by rank, those of equals the same; none for what is not above 0 (or no number)."""
    order = sorted((index for index, value in enumerate(values) if value > 0.0), key=lambda index: -values[index])
    points = [0.0] * len(values)
    rank = 0
    for place, index in enumerate(order):
        if place and values[index] < values[order[place - 1]]:
            rank = place
        points[index] = _SOFTNESS / (_SOFTNESS + rank)
    return points


def _above(values: Sequence[float]) -> list[float]:
    """Values with the least of them at 0: attention has no natural zero."""
    least = min((value for value in values if isfinite(value)), default=0.0)
    return [value - least if isfinite(value) else 0.0 for value in values]
