"""`laguna-tui eval`: tasks with a verdict, run with a model."""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from laguna_engine.errors import EngineError
from laguna_tui.base.errors import UserError
from laguna_tui.base.exit_codes import ExitCode
from laguna_tui.base.progress import ProgressLine
from laguna_tui.base.settings import load_settings
from laguna_tui.cli.arguments import add_quiet, number, whole_number
from laguna_tui.cli.console import say, warn, write_file
from laguna_tui.cli.session_options import add_setting_options, chosen_settings
from laguna_tui.evals.evaluation import Evaluation, chosen_tasks
from laguna_tui.evals.gate import compare, comparison_report
from laguna_tui.evals.gate_runs import Gate, gate_report
from laguna_tui.evals.samples import Sample, read_samples
from laguna_tui.evals.score_report import markdown_report
from laguna_tui.evals.verdict import missing_program

E = TypeVar("E", bound=Evaluation)
_SETS = ("functions", "edits", "repositories", "lookups")
_EPILOG = """\
Without --out nothing is saved. With it, nothing is lost when it is interrupted: run the same command again to resume.
--compare pairs two runs by task: McNemar's exact test, and an interval of the difference. --gate runs such pairs.
exit codes: 0 run to the end, or equal, 1 not shown to be equal, 2 wrong usage or a model that cannot be opened, \
4 the model failed, 130 interrupted
"""
_MOST = 1_000_000
_MOST_HOURS = 10_000
_MOST_POINTS = 100
_VARIED = ("speculation", "kv", "constrain", "keep", "thinking")
_POINTS = 3.0
"""Two runs of all tasks that never differ are equal within so much; most changes of a model are larger."""
_RESUME = "the samples so far are in {file}; run the same command again to resume"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `eval`."""
    parser.description = (
        "Let a model solve tasks that ship with the app, check each answer by running it in the sandbox, and report"
        " pass@k with intervals."
    )
    parser.epilog = _EPILOG
    parser.add_argument("--list", action="store_true", help="list the tasks and exit")
    add_run_options(parser)
    _add_comparison_options(parser)
    add_setting_options(parser, nested=True)
    parser.set_defaults(run=run)


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for which tasks are run, how often and how long, and where the results go."""
    several = "may be given several times"
    limit = whole_number(1, _MOST)
    add = parser.add_argument
    add("--set", dest="sets", action="append", choices=_SETS, default=[], help=f"run this set of tasks; {several}")
    add("--task", dest="tasks", action="append", metavar="NAME", default=[], help=f"run this task; {several}")
    add("--samples", type=limit, metavar="K", default=1, help="samples of each task (default: 1)")
    keep = "answer look-ups without tools, from their files shortened to this share of their tokens"
    add("--keep", type=number(1), metavar="X", help=keep)
    add("--out", type=Path, metavar="FILE", help="save every sample in this file, and resume from it")
    add("--markdown", type=Path, metavar="FILE", help="also write the report to this file")
    timeout = "stop an attempt after so many seconds (default: 1800)"
    add("--timeout", type=limit, metavar="SECONDS", default=1800, help=timeout)
    end = "begin no attempt after so many hours; run the same command again for the rest"
    add("--hours", type=number(_MOST_HOURS), metavar="H", help=end)
    add_quiet(parser)


def _add_comparison_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--compare",
        type=Path,
        nargs=2,
        metavar="FILE",
        help="compare two runs saved with --out, and run nothing; see --points",
    )
    parser.add_argument(
        "--gate",
        type=Path,
        metavar="FOLDER",
        help="run the tasks with settings that must not change their scores, compare the runs in pairs, and save them"
        " in FOLDER; see --vary",
    )
    parser.add_argument(
        "--vary",
        action="append",
        choices=_VARIED,
        default=[],
        help="with --gate: vary this setting; may be given several times (default: all)",
    )
    parser.add_argument(
        "--points",
        type=number(_MOST_POINTS),
        metavar="X",
        default=_POINTS,
        help=f"with --compare and --gate: runs are equal within X percentage points (default: {_POINTS:g})",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the tasks and report; returns the exit code."""
    if arguments.list:
        return _list(arguments)
    if arguments.compare:
        return _compare(arguments)
    evaluation = chosen_evaluation(Evaluation, arguments)
    if arguments.gate is not None:
        return _gate(evaluation, arguments)
    samples, code = run_samples(evaluation, arguments)
    if samples:
        report(markdown_report(evaluation.facts, samples, evaluation.skipped), arguments.markdown)
    return code


def chosen_evaluation(kind: type[E], arguments: argparse.Namespace) -> E:
    """Return the evaluation that the options of `add_run_options` and the settings choose."""
    settings = load_settings().merged(chosen_settings(arguments))
    if arguments.keep is not None and arguments.sets != ["lookups"]:
        raise UserError(f"--keep {arguments.keep:g} is for look-ups alone; add --set lookups, or leave --keep out")
    return kind.chosen(settings, arguments.sets, arguments.tasks, arguments.samples, arguments.timeout, arguments.keep)


def run_samples(
    evaluation: Evaluation,
    arguments: argparse.Namespace,
    on_progress: Callable[[ProgressLine, Sequence[Sample], int], None] | None = None,
) -> tuple[list[Sample], int]:
    """Run the tasks; returns the samples and the exit code.

    on_progress: Called as by `Evaluation.run`, after the line to show it on; None for `show_progress`.
    """
    samples: list[Sample] = []
    code = 0
    try:
        with ProgressLine(quiet=arguments.quiet) as progress:
            show = partial(on_progress or show_progress, progress)
            for sample in evaluation.run(arguments.out, show, arguments.hours):
                samples.append(sample)  # noqa: PERF402 (those before an interruption stay)
    except KeyboardInterrupt:
        code = ExitCode.INTERRUPTED
    except EngineError as error:
        warn(str(error))
        code = ExitCode.UNFINISHED
    unfinished = len(samples) < len(evaluation.tasks) * evaluation.samples
    if (code or unfinished) and arguments.out is not None:
        warn(_RESUME.format(file=arguments.out))
    return samples, code


def show_progress(progress: ProgressLine, samples: Sequence[Sample], total: int) -> None:
    """Show the number of samples, and the verdict of the newest."""
    newest = "".join(f", {each.task}: {'passed' if each.reward else 'failed'}" for each in samples[-1:])
    progress.show(f"{len(samples)} of {total}{newest}", at_once=True)


def report(text: str, markdown: Path | None) -> None:
    """Print a report, and write it to the file of `--markdown`."""
    say(text.splitlines())
    if markdown is not None:
        write_file("--markdown", markdown, text)


def _list(arguments: argparse.Namespace) -> int:
    tasks = chosen_tasks(arguments.sets, arguments.tasks)
    for task in tasks:
        missing = missing_program(task.language)
        skipped = f"  (skipped: {missing} is not installed)" if missing else ""
        say([f"{task.set:<13} {task.language:<11} {task.name}{skipped}"])
    say([f"{len(tasks)} tasks"])
    return 0


def _compare(arguments: argparse.Namespace) -> int:
    first, second = (read_samples(path.expanduser()) for path in arguments.compare)
    comparison = compare(first, second)
    report(comparison_report(comparison, arguments.points), arguments.markdown)
    return 1 if comparison.problems(arguments.points) else 0


def _gate(evaluation: Evaluation, arguments: argparse.Namespace) -> int:
    gate = Gate(evaluation, arguments.gate.expanduser(), arguments.vary)
    try:
        with ProgressLine(quiet=arguments.quiet) as progress:
            pairs = list(
                gate.pairs(lambda title, done, total: progress.show(f"{title}: {done} of {total}", at_once=True))
            )
    except KeyboardInterrupt:
        warn(_RESUME.format(file=arguments.gate))
        return ExitCode.INTERRUPTED
    report(gate_report(pairs, arguments.points), arguments.markdown)
    return 1 if any(each.problems(arguments.points) for each in pairs) else 0
