"""Figures from samples: pure arithmetic. None stands for what cannot be said of these samples."""

from collections.abc import Iterable, Sequence
from statistics import median

from laguna_engine.events import Round
from laguna_engine.speculate.metrics import SpeculationMetrics, Summary
from laguna_tui.bench.runner import Sample

PHASES = ("draft", "verify", "sample", "other")
"""Of a round; "other" is the engine's own."""


def of_way(samples: Iterable[Sample], way: str) -> list[Sample]:
    """The samples of one way."""
    return [sample for sample in samples if sample.way == way]


def rate(samples: Iterable[Sample]) -> float | None:
    """Tokens a second over all of them."""
    chosen = list(samples)
    seconds = sum(sample.seconds for sample in chosen)
    return sum(sample.later for sample in chosen) / seconds if seconds > 0 else None


def ratio_median(samples: Sequence[Sample], way: str, base: str) -> float | None:
    """The middle one of the speed-ups of `way` over `base` in the turns that have both."""
    ratios = []
    turns = {(each.prompt, each.repeat): each.rate for each in of_way(samples, base)}
    for sample in of_way(samples, way):
        other = turns.get((sample.prompt, sample.repeat))
        if sample.rate and other:
            ratios.append(sample.rate / other)
    return median(ratios) if ratios else None


def ratio_best(samples: Sequence[Sample], way: str, base: str) -> float | None:
    """The speed-up between the fastest answers to each prompt, which were disturbed least."""
    fast, slow = _fastest(of_way(samples, way)), _fastest(of_way(samples, base))
    both = [name for name in fast if name in slow]
    ours, theirs = rate(fast[name] for name in both), rate(slow[name] for name in both)
    return ours / theirs if ours and theirs else None


def rounds_of(samples: Iterable[Sample], length: int | None = None) -> list[Round]:
    """All rounds, or those that drafted `length` tokens."""
    told = (spun for sample in samples for spun in sample.rounds)
    return [spun for spun in told if length is None or spun.drafted == length]


def summed(rounds: Iterable[Round]) -> Summary:
    """Acceptance and lengths over all of them."""
    tally = SpeculationMetrics()
    tally.extend(rounds)
    return tally.summary()


def drafted_per_round(summary: Summary) -> float | None:
    """Tokens drafted on average, rounds without a draft included."""
    return summary.together.drafted / summary.rounds if summary.rounds else None


def conditional(rounds: Iterable[Round]) -> list[float]:
    """For each position the chance that it stands when those before it do; ends where they never did."""
    chances = []
    for chance in summed(rounds).together.conditional:
        if chance is None:
            break
        chances.append(chance)
    return chances


def seconds(rounds: Iterable[Round], phase: str) -> list[float]:
    """What a phase took in each round; "total" for the whole."""
    if phase == "other":
        return [spun.total_s - spun.draft_s - spun.verify_s - spun.sample_s for spun in rounds]
    return [getattr(spun, f"{phase}_s") for spun in rounds]


def between_rounds(samples: Iterable[Sample]) -> float | None:
    """Seconds from the end of one round to the next, on average: committing tokens and telling of them."""
    chosen = [sample for sample in samples if sample.rounds]
    count = sum(len(sample.rounds) for sample in chosen)
    spent = sum(sample.seconds - sum(seconds(sample.rounds, "total")) for sample in chosen)
    return spent / count if count else None


def middle(values: Sequence[float]) -> float | None:
    """The median."""
    return median(values) if values else None


def percentile(values: Sequence[float], share: float) -> float | None:
    """The value that `share` of them do not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else None


def _fastest(samples: Iterable[Sample]) -> dict[str, Sample]:
    best: dict[str, Sample] = {}
    for sample in samples:
        known = best.get(sample.prompt)
        if sample.rate and (known is None or sample.rate > (known.rate or 0)):
            best[sample.prompt] = sample
    return best
