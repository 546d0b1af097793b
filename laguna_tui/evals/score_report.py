"""The report of a run: a table that reads well in a terminal and as Markdown."""

from collections import Counter
from collections.abc import Sequence

from laguna_tui.base.markdown_table import markdown_table
from laguna_tui.base.units import count, duration, plural, rate, share
from laguna_tui.evals.estimates import Interval, mean_interval, pass_at_k
from laguna_tui.evals.samples import RunFacts, Sample
from laguna_tui.evals.task import TaskSet

_COLUMNS = ("steps", "tokens", "acceptance", "speed", "time")


def by_set(samples: Sequence[Sample]) -> dict[str, list[Sample]]:
    """Return the samples of each set, and all of them as a last one where there are several."""
    found = {kind.value: [sample for sample in samples if sample.set == kind.value] for kind in TaskSet}
    found = {name: group for name, group in found.items() if group}
    return {**found, "all": list(samples)} if len(found) > 1 else found


def pass_rates(samples: Sequence[Sample]) -> dict[int, Interval]:
    """Return pass@k with its interval, by k, for each k that every task has samples for."""
    tasks: dict[str, list[bool]] = {}
    for sample in samples:
        tasks.setdefault(sample.task, []).append(sample.reward > 0)
    least = min(map(len, tasks.values()))
    return {
        k: mean_interval([pass_at_k(len(each), sum(each), k) for each in tasks.values()], len(samples) // k)
        for k in (1, 2, 5, 10, 20, 50, 100)
        if k <= least
    }


def percent(interval: Interval) -> str:
    """Return a share with its interval, in percent."""
    return f"{100 * interval.value:.1f} [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


def markdown_report(facts: RunFacts, samples: Sequence[Sample], notes: Sequence[str] = ()) -> str:
    """Return the report of a run. notes: sentences below the table, such as what was skipped."""
    groups = by_set(samples)
    rates = {name: pass_rates(group) for name, group in groups.items()}
    ks = sorted({k for each in rates.values() for k in each})
    head = ["set", "tasks", "samples", *(f"pass@{k} %" for k in ks), *_COLUMNS]
    rows = []
    for name, group in groups.items():
        passed = [percent(rates[name][k]) if k in rates[name] else "–" for k in ks]
        tasks = len({sample.task for sample in group})
        rows.append([name, count(tasks), count(len(group)), *passed, *_averages(group)])
    settings = ", ".join(f"{name} {value}" for name, value in facts.settings.items() if name != "model")
    ends = sorted(Counter(sample.end for sample in samples).items())
    lines = [
        f"# {facts.model}: {count(len(samples))} {plural(len(samples), 'sample')}",
        "",
        f"Seed {facts.seed}; {settings}.",
        "",
        *markdown_table(head, rows),
        "",
        "In brackets: 95 % interval over tasks. Steps and tokens: mean of a sample.",
        f"Turns ended: {', '.join(f'{end} {number}' for end, number in ends)}.",
        *notes,
    ]
    return "\n".join(lines) + "\n"


def _averages(samples: Sequence[Sample]) -> list[str]:
    """Return the cells of `_COLUMNS`."""
    generated, decode_s = sum(each.generated_tokens for each in samples), sum(each.decode_s for each in samples)
    return [
        f"{sum(each.steps for each in samples) / len(samples):.1f}",
        f"{generated / len(samples):,.0f}",
        share(sum(each.accepted for each in samples), sum(each.drafted for each in samples)),
        rate(generated / decode_s) if decode_s > 0 and generated else "–",
        duration(sum(each.seconds for each in samples)),
    ]
