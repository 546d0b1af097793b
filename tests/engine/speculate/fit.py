"""Whether counted outcomes fit a distribution: Pearson's chi-square and the total variation distance."""

from collections.abc import Hashable, Mapping
from math import sqrt

DRAWS = 200_000

FARTHEST = 0.01
"""Total variation: by chance 200,000 draws of up to 125 outcomes stay within about 0.01."""

_STANDARD_DEVIATIONS = 5
"""Chance exceeds this once in 3.5 million times; the draws are seeded, so it either does or does not."""

_RARE = 5
"""Outcomes expected less often are counted together, as the chi-square needs."""


def assert_fits(counts: Mapping[Hashable, int], expected: Mapping[Hashable, float]) -> None:
    """`counts` of outcomes look drawn from `expected`, and nothing came that cannot come."""
    impossible = {outcome for outcome in counts if expected.get(outcome, 0.0) <= 0}
    assert not impossible, f"these cannot come: {impossible}"
    assert abs(sum(expected.values()) - 1) < 1e-9
    total = sum(counts.values())
    distance = sum(abs(counts.get(outcome, 0) / total - share) for outcome, share in expected.items()) / 2
    assert distance < FARTHEST, f"total variation {distance:.4f}"
    statistic, cells = _chi_square(counts, {outcome: share * total for outcome, share in expected.items()})
    limit = _quantile(cells - 1)
    assert statistic < limit, f"chi-square {statistic:.1f}, not below {limit:.1f} with {cells - 1} degrees of freedom"


def _chi_square(counts: Mapping[Hashable, int], expected: Mapping[Hashable, float]) -> tuple[float, int]:
    cells = [(counts.get(outcome, 0), wanted) for outcome, wanted in expected.items() if wanted >= _RARE]
    rare = [(counts.get(outcome, 0), wanted) for outcome, wanted in expected.items() if wanted < _RARE]
    if sum(wanted for _, wanted in rare) >= _RARE:
        cells.append((sum(count for count, _ in rare), sum(wanted for _, wanted in rare)))
    return sum((count - wanted) ** 2 / wanted for count, wanted in cells), len(cells)


def _quantile(degrees: int) -> float:
    """Of the chi-square distribution, after Wilson and Hilferty."""
    if degrees == 0:
        return 1e-9
    scale = 2 / (9 * degrees)
    return degrees * float(1 - scale + _STANDARD_DEVIATIONS * sqrt(scale)) ** 3
