"""Statistics over samples: pure arithmetic. None means that the samples do not determine the figure."""

from collections.abc import Iterable, Sequence
from statistics import median

from laguna_engine.events import Round
from laguna_engine.speculate.metrics import SpeculationMetrics, Summary
from laguna_tui.bench.answer_runs import AnswerSample

PHASES = ("draft", "verify", "sample", "other")
"""Phases of a round; "other" is the engine's own work."""


def of_variant(samples: Iterable[AnswerSample], way: str) -> list[AnswerSample]:
    """Return the samples of one variant."""
    return [sample for sample in samples if sample.way == way]


def rate(samples: Iterable[AnswerSample]) -> float | None:
    """Return tokens per second over all of them."""
    chosen = list(samples)
    seconds = sum(sample.seconds for sample in chosen)
    return sum(sample.decoded for sample in chosen) / seconds if seconds > 0 else None


def ratio_median(samples: Sequence[AnswerSample], way: str, base: str) -> float | None:
    """Return the median speed-up of `way` over `base` in the turns that have both."""
    ratios = []
    turns = {(each.prompt, each.repeat): each.rate for each in of_variant(samples, base)}
    for sample in of_variant(samples, way):
        other = turns.get((sample.prompt, sample.repeat))
        if sample.rate and other:
            ratios.append(sample.rate / other)
    return median(ratios) if ratios else None


def ratio_best(samples: Sequence[AnswerSample], way: str, base: str) -> float | None:
    """Return the speed-up between the fastest answers to each prompt, which were disturbed least."""
    fast, slow = _fastest(of_variant(samples, way)), _fastest(of_variant(samples, base))
    both = [name for name in fast if name in slow]
    ours, theirs = rate(fast[name] for name in both), rate(slow[name] for name in both)
    return ours / theirs if ours and theirs else None


def rounds_of(samples: Iterable[AnswerSample], length: int | None = None) -> list[Round]:
    """Return all rounds, or those that drafted `length` tokens."""
    rounds = (round_ for sample in samples for round_ in sample.rounds)
    return [round_ for round_ in rounds if length is None or round_.drafted == length]


def summary_of(rounds: Iterable[Round]) -> Summary:
    """Return acceptance and lengths over all of them."""
    metrics = SpeculationMetrics()
    metrics.extend(rounds)
    return metrics.summary()


def drafted_per_round(summary: Summary) -> float | None:
    """Return the mean number of drafted tokens, rounds without a draft included."""
    return summary.together.drafted / summary.rounds if summary.rounds else None


def conditional(rounds: Iterable[Round]) -> list[float]:
    """Return each position's acceptance rate given all before it; ends where those never were accepted."""
    chances = []
    for chance in summary_of(rounds).together.conditional:
        if chance is None:
            break
        chances.append(chance)
    return chances


def seconds(rounds: Iterable[Round], phase: str) -> list[float]:
    """Return the seconds of a phase in each round; "total" for the whole."""
    if phase == "other":
        return [round_.total_s - round_.draft_s - round_.verify_s - round_.sample_s for round_ in rounds]
    return [getattr(round_, f"{phase}_s") for round_ in rounds]


def between_rounds(samples: Iterable[AnswerSample]) -> float | None:
    """Return the mean seconds between two rounds, in which tokens are committed and reported."""
    chosen = [sample for sample in samples if sample.rounds]
    count = sum(len(sample.rounds) for sample in chosen)
    spent = sum(sample.seconds - sum(seconds(sample.rounds, "total")) for sample in chosen)
    return spent / count if count else None


def median_of(values: Sequence[float]) -> float | None:
    """Return the median."""
    return median(values) if values else None


def percentile(values: Sequence[float], share: float) -> float | None:
    """Return the value that `share` of them do not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else None


def _fastest(samples: Iterable[AnswerSample]) -> dict[str, AnswerSample]:
    best: dict[str, AnswerSample] = {}
    for sample in samples:
        known = best.get(sample.prompt)
        if sample.rate and (known is None or sample.rate > (known.rate or 0)):
            best[sample.prompt] = sample
    return best
