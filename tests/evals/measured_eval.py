"""`python -m tests.evals eval`: as `laguna-tui eval`, with a forecast of its length, its energy and a page of plots."""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from laguna_tui.base.progress import ProgressLine
from laguna_tui.cli.console import write_file
from laguna_tui.cli.eval import add_run_options, chosen_evaluation, report, run_samples, show_progress
from laguna_tui.cli.session_options import add_setting_options
from laguna_tui.evals.attempt import EvaluatedModel
from laguna_tui.evals.evaluation import Evaluation
from laguna_tui.evals.samples import Sample
from laguna_tui.evals.score_report import by_set, markdown_report
from laguna_tui.evals.task import Task
from laguna_tui.models.entry import ModelKind
from laguna_tui.models.model_selection import select_model
from laguna_tui.models.remote_entry import is_loopback
from tests.evals.energy import EnergyCounter
from tests.evals.expected_length import TIMED, ExpectedLength, timed_first
from tests.evals.html_report import html_report

_NO_ENERGY = "Energy is unknown: no NVIDIA card here reports it, or the model runs elsewhere."


class MeteredModel(EvaluatedModel):
    """A model on this machine, whose samples have the energy that the cards took for them."""

    _counter: EnergyCounter | None = None

    def attempt(self, task: Task, index: int, seed: int, limit_s: float) -> Sample:
        self._counter = self._counter or EnergyCounter.open()
        before = self._counter.joules()
        sample = super().attempt(task, index, seed, limit_s)
        after = self._counter.joules()
        return sample if before is None or after is None else replace(sample, joules=round(after - before, 3))

    def close(self) -> None:
        super().close()
        if self._counter is not None:
            self._counter.close()


class MeasuredEvaluation(Evaluation):
    """An evaluation that begins with some tasks of each set, so that its length is known early."""

    def missing(self, done: Sequence[Sample]) -> list[tuple[Task, int]]:
        return timed_first(super().missing(done), done)

    def open_model(self) -> EvaluatedModel:
        entry = select_model(self.settings).entry
        here = entry.kind is not ModelKind.REMOTE or is_loopback(entry.url)
        return MeteredModel(self.settings, self.keep) if here else super().open_model()


class Forecast:
    """Says on stderr how long the rest of a run will take, once some tasks of each of its sets are timed."""

    def __init__(self, evaluation: Evaluation, *, quiet: bool) -> None:
        self._evaluation, self._said = evaluation, quiet
        self._reports, self._reported_at = 0, 0.0
        self._checks_s: list[float] = []

    def update(self, progress: ProgressLine, samples: Sequence[Sample], total: int) -> None:
        """Show the progress, and the forecast as soon as it can be made."""
        show_progress(progress, samples, total)
        now = time.monotonic()
        if self._reports > 1:  # the first sample opens the model
            self._checks_s.append(max(0.0, now - self._reported_at - samples[-1].seconds))
        self._reports, self._reported_at = self._reports + 1, now
        if self._said:
            return
        left = [task.set.value for task, _ in self._evaluation.missing(samples)]
        timed = Counter(sample.set for sample in samples)
        if left and all(timed[name] >= TIMED for name in left):
            self._said = True
            checks_s = sum(self._checks_s) / max(1, len(self._checks_s))
            progress.clear()
            sys.stderr.write(f"{ExpectedLength.of(samples, left, checks_s).sentence()}\n")


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `eval` to the command line."""
    parser = commands.add_parser(
        "eval",
        help="run the tasks of `laguna-tui eval`, with a forecast, energy and plots",
        description="Run the tasks of `laguna-tui eval`. Four tasks of each set come first; then stderr says how long"
        " the rest will take. The report says how much energy NVIDIA cards took.",
    )
    add_run_options(parser)
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the report to this file as a page with plots")
    add_setting_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the tasks and report; returns the exit code."""
    evaluation = chosen_evaluation(MeasuredEvaluation, arguments)
    samples, code = run_samples(evaluation, arguments, Forecast(evaluation, quiet=arguments.quiet).update)
    if samples:
        text = markdown_report(evaluation.facts, samples, [energy_note(samples), *evaluation.skipped])
        report(text, arguments.markdown)
        if arguments.html is not None:
            write_file("--html", arguments.html, html_report(evaluation.facts, samples, text))
    return code


def energy_note(samples: Sequence[Sample]) -> str:
    """Return a sentence with the energy of each set all of whose samples have theirs, and of all together."""
    groups = {name: [sample.joules for sample in group] for name, group in by_set(samples).items()}
    sums = [f"{name} {energy(sum(filter(None, found)))}" for name, found in groups.items() if None not in found]
    return f"Energy of this machine's NVIDIA cards: {', '.join(sums)}." if sums else _NO_ENERGY


def energy(joules: float) -> str:
    """Return an energy: 812 J, 41.3 kJ, 1.2 kWh."""
    if joules < 1000:
        return f"{joules:.0f} J"
    return f"{joules / 1e3:.1f} kJ" if joules < 1e6 else f"{joules / 3.6e6:.2f} kWh"
