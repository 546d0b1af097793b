"""The figures of a run as a table: for the terminal and for Markdown alike."""

from collections.abc import Sequence
from dataclasses import dataclass

from laguna_tui.base.units import count, duration, plural, rate, share
from laguna_tui.evals.estimates import Interval, mean_interval, pass_at_k
from laguna_tui.evals.samples import RunFacts, Sample
from laguna_tui.evals.task import TaskSet


@dataclass(frozen=True, slots=True)
class Score:
    """The figures of one set.

    Attributes:
        title: of the row.
        tasks: that have a sample.
        samples: of all of them.
        passed: pass@k with its interval, by k, for each k that every task has samples for.
        steps: of a sample, on average.
        tokens: generated, on average.
        drafted, accepted: tokens of all samples.
        per_second: tokens generated per second of generating; None where nothing was.
        seconds: of all samples.
    """

    title: str
    tasks: int
    samples: int
    passed: dict[int, Interval]
    steps: float
    tokens: float
    drafted: int
    accepted: int
    per_second: float | None
    seconds: float


def scores(samples: Sequence[Sample]) -> list[Score]:
    """A score for each set that has samples, and one for all where there are several."""
    rows = [(each.value, [sample for sample in samples if sample.set == each.value]) for each in TaskSet]
    rows = [(title, found) for title, found in rows if found]
    if len(rows) > 1:
        rows.append(("all", list(samples)))
    return [_score(title, found) for title, found in rows]


def _score(title: str, samples: Sequence[Sample]) -> Score:
    tasks: dict[str, list[bool]] = {}
    for sample in samples:
        tasks.setdefault(sample.task, []).append(sample.reward > 0)
    least = min(map(len, tasks.values()))
    passed = {}
    for k in (k for k in (1, 2, 5, 10, 20, 50, 100) if k <= least):
        values = [pass_at_k(len(each), sum(each), k) for each in tasks.values()]
        passed[k] = mean_interval(values, len(samples) // k)
    decode = sum(sample.decode_s for sample in samples)
    generated = sum(sample.generated_tokens for sample in samples)
    return Score(
        title=title,
        tasks=len(tasks),
        samples=len(samples),
        passed=passed,
        steps=sum(sample.steps for sample in samples) / len(samples),
        tokens=generated / len(samples),
        drafted=sum(sample.drafted for sample in samples),
        accepted=sum(sample.accepted for sample in samples),
        per_second=generated / decode if decode > 0 and generated else None,
        seconds=sum(sample.seconds for sample in samples),
    )


def percent(interval: Interval) -> str:
    """A share with its interval, in percent."""
    return f"{100 * interval.value:.1f} [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


def markdown_report(facts: RunFacts, samples: Sequence[Sample], notes: Sequence[str] = ()) -> str:
    """What a run came to. notes: sentences below the table, such as what was skipped."""
    found = scores(samples)
    ks = sorted({k for each in found for k in each.passed})
    passed = [f"pass@{k} %" for k in ks]
    head = ["set", "tasks", "samples", *passed, "steps", "tokens", "acceptance", "speed", "time"]
    rows = [
        [
            each.title,
            count(each.tasks),
            count(each.samples),
            *(percent(each.passed[k]) if k in each.passed else "–" for k in ks),
            f"{each.steps:.1f}",
            f"{each.tokens:,.0f}",
            share(each.accepted, each.drafted),
            "–" if each.per_second is None else rate(each.per_second),
            duration(each.seconds),
        ]
        for each in found
    ]
    settings = ", ".join(f"{name} {value}" for name, value in facts.settings.items() if name != "model")
    lines = [
        f"# {facts.model}: {count(len(samples))} {plural(len(samples), 'sample')}",
        "",
        f"Seed {facts.seed}; {settings}.",
        "",
        *markdown_table(head, rows),
        "",
        "In brackets the interval of 95 %, over tasks. Steps and tokens are of a sample, on average.",
    ]
    ends: dict[str, int] = {}
    for sample in samples:
        ends[sample.end] = ends.get(sample.end, 0) + 1
    lines.append("Turns ended: " + ", ".join(f"{end} {number}" for end, number in sorted(ends.items())) + ".")
    return "\n".join([*lines, *notes]) + "\n"


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table whose columns are as wide as their texts, so that it reads well as it is."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        first, *others = zip(cells, widths, strict=True)
        padded = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]
        return "| " + " | ".join(padded) + " |"

    rule = "|" + "|".join("-" * (width + 1) + ("-" if at == 0 else ":") for at, width in enumerate(widths)) + "|"
    return [line(head), rule, *map(line, rows)]
