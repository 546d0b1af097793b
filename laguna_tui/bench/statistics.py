"""Statistics over samples: pure arithmetic. None means that the samples do not determine the figure."""

from collections.abc import Iterable, Sequence
from statistics import median

from laguna_engine.events import Round
from laguna_engine.speculate.metrics import SpeculationMetrics, Summary
from laguna_tui.bench.answer_runs import AnswerSample


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


def _fastest(samples: Iterable[AnswerSample]) -> dict[str, AnswerSample]:
    best: dict[str, AnswerSample] = {}
    for sample in samples:
        known = best.get(sample.prompt)
        if sample.rate and (known is None or sample.rate > (known.rate or 0)):
            best[sample.prompt] = sample
    return best
