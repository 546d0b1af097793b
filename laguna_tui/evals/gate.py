"""The gate: two runs of the same tasks, compared task by task, and whether they are equal within some points.

A fault in what drafts are made of, such as taps of the wrong layer, never changes an answer. So the share of drafted
tokens that is accepted is compared too, and a run that accepts less does not pass.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from laguna_tui.base.errors import UserError
from laguna_tui.base.markdown_table import markdown_table
from laguna_tui.base.units import count
from laguna_tui.evals.estimates import Interval, PairedDifference, compared, ratio_change
from laguna_tui.evals.samples import RunFacts, Sample
from laguna_tui.evals.score_report import percent
from laguna_tui.evals.task import TaskSet

_NOTHING = "the two files have no sample of the same task; compare runs of the same tasks"
_NONE_PASSED = "no task passed in either run, so they cannot be compared; choose a set that the model can solve"
_CHOICE = 10.0
"""Points by which acceptance may differ by chance: drafters are chosen by measured times; seven were seen."""
_LEAVE_DRAFTS = {"speculation", "kv", "constrain"}
"""Settings that leave the text as it is, so that no less of a draft is to be accepted."""


@dataclass(frozen=True, slots=True)
class GateAcceptance:
    """Which share of the drafted tokens was accepted in either run.

    Attributes:
        change: the second run's less the first one's, over tasks.
        counts: whether the runs differ in nothing that makes other text likely, and drafts are of a fixed length, so
            that less is a fault.
    """

    first: float
    second: float
    change: Interval
    counts: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs, side by side.

    Attributes:
        sets: by the set's name, the difference over its tasks; "all" over all of them, always the last.
        differing: settings that differ: name, of the first run, of the second one.
        shares: by the set's name, the shares that passed in either run.
        same: pairs of samples that are equal token by token; of models behind an endpoint, in their text.
        pairs: pairs of samples.
        changed: tasks that passed more often in one of the runs: the name, and by how many samples in the second one.
        acceptance: None where either run was without speculation.
    """

    sets: Mapping[str, PairedDifference]
    differing: Sequence[tuple[str, object, object]]
    shares: Mapping[str, tuple[float, float]]
    same: int
    pairs: int
    changed: Sequence[tuple[str, int]]
    acceptance: GateAcceptance | None

    @property
    def all(self) -> PairedDifference:
        """Return the difference over all tasks."""
        return self.sets[_ALL]

    @property
    def passed(self) -> tuple[float, float]:
        """Return the shares of all tasks that passed in either run."""
        return self.shares[_ALL]

    @property
    def accepts_less(self) -> bool:
        """Return whether the second run certainly accepts less of its drafts, and nothing else explains it."""
        found = self.acceptance
        return found is not None and found.counts and found.change.high < -_CHOICE / 100

    def problems(self, points: float) -> list[str]:
        """Return why the runs are not equal within these percentage points; empty if they are."""
        found = []
        if not any(self.passed):
            found.append(_NONE_PASSED)
        elif not self.all.equal_within(points / 100):
            what = f"not shown to be equal within {points:g} points"
            found.append(what if self.all.p_value > _LIKELY else f"{what}, and different beyond chance")
        if self.accepts_less:
            found.append(f"accepts less of its drafts, by more than {_CHOICE:g} points")
        return found


_ALL = "all"
_LIKELY = 0.05
"""Below it a difference is taken for more than chance."""


def compare(first: tuple[RunFacts, Sequence[Sample]], second: tuple[RunFacts, Sequence[Sample]]) -> Comparison:
    """Compare two runs by the samples that both have; as many of each task as every task has.

    Raises:
        UserError: they have none in common.
    """
    left, right = ({(each.task, each.index): each for each in samples} for _, samples in (first, second))
    tasks: dict[str, list[tuple[Sample, Sample]]] = {}
    for key in sorted(left.keys() & right.keys()):
        tasks.setdefault(key[0], []).append((left[key], right[key]))
    if not tasks:
        raise UserError(_NOTHING)
    each = min(map(len, tasks.values()))
    tasks = {name: pairs[:each] for name, pairs in tasks.items()}
    changes = {name: sum(_passed(b) - _passed(a) for a, b in pairs) for name, pairs in tasks.items()}
    groups = {kind.value: [name for name in tasks if tasks[name][0][0].set == kind.value] for kind in TaskSet}
    groups = {kind: names for kind, names in groups.items() if names}
    groups = {**(groups if len(groups) > 1 else {}), _ALL: list(tasks)}
    flat = [pair for pairs in tasks.values() for pair in pairs]
    return Comparison(
        {kind: compared([changes[name] for name in names], each) for kind, names in groups.items()},
        first[0].differing(second[0]),
        {kind: _shares([pair for name in names for pair in tasks[name]]) for kind, names in groups.items()},
        sum(_answer_of(a) == _answer_of(b) for a, b in flat),
        len(flat),
        [(name, change) for name, change in changes.items() if change],
        _acceptance(first[0], second[0], list(tasks.values())),
    )


def _shares(pairs: Sequence[tuple[Sample, Sample]]) -> tuple[float, float]:
    """Return the shares of the first and of the second samples that passed."""
    return sum(_passed(a) for a, _ in pairs) / len(pairs), sum(_passed(b) for _, b in pairs) / len(pairs)


def _acceptance(
    first: RunFacts, second: RunFacts, tasks: Sequence[Sequence[tuple[Sample, Sample]]]
) -> GateAcceptance | None:
    by_task = [[_drafts([pair[run] for pair in found]) for found in tasks] for run in (0, 1)]
    accepted, drafted = (tuple(sum(each[at] for each in run) for run in by_task) for at in (0, 1))
    if "off" in (first.settings.get("speculation"), second.settings.get("speculation")) or not any(drafted):
        return None
    before, after = (a / max(1, d) for a, d in zip(accepted, drafted, strict=True))
    alike = {name for name, _, _ in first.differing(second)} <= _LEAVE_DRAFTS
    counts = alike and first.settings.get("draft_length") is not None
    return GateAcceptance(before, after, ratio_change(by_task[0], by_task[1]), counts)


def _drafts(samples: Sequence[Sample]) -> tuple[int, int]:
    return sum(sample.accepted for sample in samples), sum(sample.drafted for sample in samples)


def _passed(sample: Sample) -> int:
    return int(sample.reward > 0)


def _answer_of(sample: Sample) -> object:
    return [list(turn.generated) for turn in sample.tokens] or sample.answer


def comparison_report(comparison: Comparison, points: float) -> str:
    """Return a comparison as Markdown. points: percentage points within which the runs must be equal."""
    head = ["set", "tasks", "first %", "second %", "difference, points", "better", "worse", "p"]
    rows = [
        [
            name,
            count(each.tasks),
            f"{100 * comparison.shares[name][0]:.1f}",
            f"{100 * comparison.shares[name][1]:.1f}",
            percent(each.mean),
            str(each.better),
            str(each.worse),
            f"{each.p_value:.3f}",
        ]
        for name, each in comparison.sets.items()
    ]
    what = "; ".join(f"{name}: {before}, then {after}" for name, before, after in comparison.differing)
    changed = ", ".join(f"{name} {change:+d}" for name, change in comparison.changed)
    problems = comparison.problems(points)
    return "\n".join(
        [
            f"The runs differ in: {what or 'nothing that is known'}.",
            "",
            *markdown_table(head, rows),
            "",
            "In brackets: 95 % interval over tasks. p: McNemar's exact test by task.",
            f"Answers with the same tokens: {comparison.same} of {comparison.pairs}.",
            *([] if comparison.acceptance is None else [_acceptance_line(comparison.acceptance)]),
            *([f"Tasks that differ: {changed}."] if changed else []),
            *([f"Not equal: {'; '.join(problems)}."] if problems else [f"Equal within {points:g} points."]),
            *([_NARROWER] if problems and comparison.all.p_value > _LIKELY else []),
            "",
        ]
    )


_NO_EFFECT = " This has no effect on the result: the drafts are for other text, or their lengths depend on timing."
_NARROWER = "More tasks or samples make the interval narrower."


def _acceptance_line(found: GateAcceptance) -> str:
    why = (
        ""
        if found.counts
        else " This has no effect on the result: the drafts are for other text, or their lengths depend on timing."
    )
    return (
        f"Accepted drafts: {100 * found.first:.1f} %, then {100 * found.second:.1f} %; "
        f"difference {percent(found.change)} points.{why}"
    )
