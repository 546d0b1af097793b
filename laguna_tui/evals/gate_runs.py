"""The runs that the gate compares: one for each value of a setting that must not change how good answers are.

The runs of a pair differ in one setting, so most pairs share a run. Each run has a file of its own and is resumed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from laguna_engine.errors import EngineError
from laguna_tui.base.errors import UserError
from laguna_tui.base.markdown_table import markdown_table
from laguna_tui.evals.evaluation import Evaluation
from laguna_tui.evals.gate import Comparison, compare
from laguna_tui.evals.samples import RunFacts, Sample
from laguna_tui.evals.score_report import percent
from laguna_tui.evals.task import TaskSet
from laguna_tui.models.model_selection import select_model

VARIED: Mapping[str, tuple[object, tuple[object, ...]]] = {
    "speculation": ("off", ("fast",)),
    "kv": ("f16", ("q8_0", "q4_0")),
    "constrain": ("off", ("on",)),
    "keep": (1.0, (0.3, 0.1)),
    "thinking": (False, (True,)),
}
"""What may be varied: the value to compare with, and those that are compared with it."""
_NO_FOLDER = "--gate {path}: {why}; give a folder that can be written"
_NO_LOOKUPS = "--vary keep: only look-ups can vary it, and there are none among the tasks; add --set lookups"


@dataclass(frozen=True, slots=True)
class GatePair:
    """Two runs that differ in one setting.

    Attributes:
        name: of what is varied.
        first, second: its values.
        comparison: None if one of the runs could not be made.
        why: the reason, then.
    """

    name: str
    first: object
    second: object
    comparison: Comparison | None
    why: str = ""

    def problems(self, points: float) -> list[str]:
        """Return why the runs are not equal; empty if they are."""
        return [f"not run: {self.why}"] if self.comparison is None else self.comparison.problems(points)


class Gate:
    """Runs what has to be run, each once."""

    def __init__(self, evaluation: Evaluation, folder: Path, varied: Sequence[str] = ()) -> None:
        """Run nothing yet.

        Args:
            evaluation: what is run, with the user's settings.
            folder: that keeps the runs; made if it is not there.
            varied: names of `VARIED`; all without any.

        Raises:
            UserError: the folder cannot be made, or there is nothing to vary it on.
        """
        settings = evaluation.settings
        constrain = "off" if settings.constrain == "off" else "on"
        same: dict[str, object] = {"kv": settings.kv or "f16", "constrain": constrain}
        if settings.thinking is None:
            same["thinking"] = select_model(settings).entry.thinking
        self._evaluation = replace(evaluation, settings=settings.merged(same))
        self._folder = folder
        self._lookups = [task for task in evaluation.tasks if task.set is TaskSet.LOOKUPS]
        self._varied = [name for name in VARIED if name in varied or not varied]
        if not self._lookups and "keep" in self._varied:
            if varied:
                raise UserError(_NO_LOOKUPS)
            self._varied.remove("keep")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(_NO_FOLDER.format(path=folder, why=error.strerror or error)) from error
        self._found: dict[Path, tuple[RunFacts, Sequence[Sample]] | str] = {}

    def pairs(self, on_progress: Callable[[str, int, int], None]) -> Iterator[GatePair]:
        """Run each pair and compare it; one that cannot be run is not equal.

        Args:
            on_progress: called with the name of the run, its finished samples and their number.
        """
        for name in self._varied:
            first, others = VARIED[name]
            for second in others:
                found = [self._run(name, value, on_progress) for value in (first, second)]
                before, after = found
                if isinstance(before, str) or isinstance(after, str):
                    why = next(each for each in found if isinstance(each, str))
                    yield GatePair(name, first, second, None, why)
                else:
                    yield GatePair(name, first, second, compare(before, after))

    def _run(
        self, name: str, value: object, on_progress: Callable[[str, int, int], None]
    ) -> tuple[RunFacts, Sequence[Sample]] | str:
        """Return the samples of a run, or why there are none."""
        base = self._evaluation
        if name == "keep":
            assert isinstance(value, float)
            run = replace(base, tasks=self._lookups, keep=value)
        else:
            run = replace(base, settings=base.settings.merged({name: value}))
        title = "base" if run == base else f"{name}-{str(value).lower()}"
        file = self._folder / f"{title}.jsonl"
        if file not in self._found:
            try:
                samples = run.run(file, lambda found, total: on_progress(title, len(found), total))
                self._found[file] = run.facts, list(samples)
            except (UserError, EngineError) as error:
                self._found[file] = str(error)
        return self._found[file]


def gate_report(pairs: Sequence[GatePair], points: float) -> str:
    """Return a row for each pair, as Markdown. points: percentage points within which the runs must be equal."""
    head = ["varied", "tasks", "first %", "second %", "difference, points", "p", "same tokens", "accepted %", "verdict"]
    rows = [_row(each, points) for each in pairs]
    return "\n".join(
        [
            *markdown_table(head, rows),
            "",
            "In brackets: 95 % interval over tasks. p: McNemar's exact test by task.",
            "",
        ]
    )


def _row(each: GatePair, points: float) -> list[str]:
    title = f"{each.name}: {_shown(each.first)}, then {_shown(each.second)}"
    verdict = "; ".join(each.problems(points)) or f"equal within {points:g} points"
    found = each.comparison
    if found is None:
        return [title, *["–"] * 7, verdict]
    before, after = (f"{100 * share:.1f}" for share in found.passed)
    drafts = found.acceptance
    return [
        title,
        str(found.all.tasks),
        before,
        after,
        percent(found.all.mean),
        f"{found.all.p_value:.3f}",
        f"{found.same} of {found.pairs}",
        "–" if drafts is None else f"{100 * drafts.first:.1f}, then {100 * drafts.second:.1f}",
        verdict,
    ]


def _shown(value: object) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
