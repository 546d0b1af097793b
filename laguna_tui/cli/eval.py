"""`laguna-tui eval`: tasks with a verdict, run with a model."""

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from laguna_tui.base.errors import UserError
from laguna_tui.base.text import sanitize
from laguna_tui.cli.arguments import number_above_zero, whole_number
from laguna_tui.cli.console import say
from laguna_tui.cli.session_options import add_setting_options, chosen_settings

if TYPE_CHECKING:
    from laguna_tui.base.progress import ProgressLine
    from laguna_tui.evals.evaluation import Evaluation
    from laguna_tui.evals.samples import Sample

E = TypeVar("E", bound="Evaluation")
_SETS = ("functions", "edits", "repositories", "lookups")
_EPILOG = """\
Without --out nothing is kept. With it, Ctrl-C and any other end lose no sample: the same command resumes.
--compare pairs two runs by task: McNemar's exact test, and an interval of the difference. --gate runs such pairs.
exit codes: 0 run to the end, or equal, 1 not shown to be equal, 2 wrong usage or a model that cannot be opened,
4 the model failed, 130 interrupted
"""
_FAILED = 4
_MOST = 1_000_000
_MOST_HOURS = 10_000
_MOST_POINTS = 100
_VARIED = ("speculation", "kv", "constrain", "keep", "thinking")
_KEEP_WITHOUT_LOOKUPS = "--keep {keep:g} is for look-ups alone; add --set lookups, or leave it out"
_POINTS = 3.0
"""Two runs of all tasks that never differ are equal within so much; most changes of a model are larger."""
_GO_ON = "the samples so far are in {file}; the same command resumes with what is missing"


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `eval` to the command line."""
    parser = commands.add_parser(
        "eval",
        help="run tasks with a verdict, and say how many a model solves",
        description="Let a model solve tasks that ship with the app, check each answer by running it in the sandbox,"
        " and report pass@k with intervals.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--list", action="store_true", help="list the tasks, and run none")
    add_run_options(parser)
    _add_comparison_options(parser)
    add_setting_options(parser, nested=True)
    parser.set_defaults(run=run)


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which tasks are run, how often, how long, and where the results go."""
    several = "may be given several times"
    limit = whole_number(1, _MOST)
    share, hours = number_above_zero("a share", 1), number_above_zero("a number of hours", _MOST_HOURS)
    add = parser.add_argument
    add("--set", dest="sets", action="append", choices=_SETS, default=[], help=f"run this set; {several}")
    add("--task", dest="tasks", action="append", metavar="NAME", default=[], help="run this task; likewise")
    add("--samples", type=limit, metavar="K", default=1, help="samples of each task (default: 1)")
    keep = "answer look-ups without tools, with their files in the prompt, shortened to this share of their tokens"
    add("--keep", type=share, metavar="X", help=keep)
    add("--out", type=Path, metavar="FILE", help="keep every sample in this file, and resume from it")
    add("--markdown", type=Path, metavar="FILE", help="write the report to this file too")
    timeout = "stop an attempt after this long (default: 1800)"
    add("--timeout", type=limit, metavar="SECONDS", default=1800, help=timeout)
    end = "begin no attempt after so many hours; the same command resumes with the rest"
    add("--hours", type=hours, metavar="H", help=end)
    add("--quiet", action="store_true", help="no progress on stderr")


def _add_comparison_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--compare",
        type=Path,
        nargs=2,
        metavar="FILE",
        help="compare two runs that --out kept, and run nothing; see --points",
    )
    parser.add_argument(
        "--gate",
        type=Path,
        metavar="FOLDER",
        help="run the tasks with settings that must not change their scores, compare the runs in pairs, and keep them"
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
        type=number_above_zero("a number of points", _MOST_POINTS),
        metavar="X",
        default=_POINTS,
        help=f"with --compare and --gate: whether they are equal within X points of a hundred (default: {_POINTS:g})",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the tasks and report; returns the exit code."""
    from laguna_tui.evals.evaluation import Evaluation
    from laguna_tui.evals.score_report import markdown_report

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


def chosen_evaluation(kind: "type[E]", arguments: argparse.Namespace) -> "E":
    """Return what the options of `add_run_options` and the settings choose, as an `Evaluation` of this kind."""
    from laguna_tui.base.settings import load_settings

    settings = load_settings().merged(chosen_settings(arguments))
    if arguments.keep is not None and arguments.sets != ["lookups"]:
        raise UserError(_KEEP_WITHOUT_LOOKUPS.format(keep=arguments.keep))
    return kind.chosen(settings, arguments.sets, arguments.tasks, arguments.samples, arguments.timeout, arguments.keep)


def run_samples(
    evaluation: "Evaluation",
    arguments: argparse.Namespace,
    on_progress: "Callable[[ProgressLine, Sequence[Sample], int], None] | None" = None,
) -> "tuple[list[Sample], int]":
    """Run the tasks, and return the samples and the exit code.

    on_progress: called as by `Evaluation.run`, with the line to show it on first; None for `show_progress`.
    """
    from laguna_engine.errors import EngineError
    from laguna_tui.base.progress import ProgressLine

    samples: list[Sample] = []
    code = 0
    try:
        with ProgressLine(quiet=arguments.quiet) as progress:
            show = partial(on_progress or show_progress, progress)
            for sample in evaluation.run(arguments.out, show, arguments.hours):
                samples.append(sample)  # noqa: PERF402 (those before an interruption stay)
    except KeyboardInterrupt:
        code = 130
    except EngineError as error:
        sys.stderr.write(f"laguna-tui: {sanitize(str(error))}\n")
        code = _FAILED
    unfinished = len(samples) < len(evaluation.tasks) * evaluation.samples
    if (code or unfinished) and arguments.out is not None:
        sys.stderr.write(f"laguna-tui: {_GO_ON.format(file=arguments.out)}\n")
    return samples, code


def show_progress(progress: "ProgressLine", samples: "Sequence[Sample]", total: int) -> None:
    """Show how many samples there are, and the verdict of the newest."""
    newest = "".join(f", {each.task}: {'passed' if each.reward else 'failed'}" for each in samples[-1:])
    progress.show(f"{len(samples)} of {total}{newest}", at_once=True)


def report(text: str, markdown: Path | None) -> None:
    """Print a report, and write it to the file of `--markdown`."""
    say(text.splitlines())
    if markdown is not None:
        write_report(markdown, text, "--markdown")


def write_report(path: Path, text: str, flag: str) -> None:
    """Write a report to the file that an option names."""
    from laguna_engine.files import write_output

    try:
        write_output(path.expanduser(), text)
    except OSError as error:
        raise UserError(f"{flag} {path}: {error.strerror or error}; choose a file that can be written") from error


def _list(arguments: argparse.Namespace) -> int:
    from laguna_tui.evals.evaluation import chosen_tasks
    from laguna_tui.evals.verdict import missing_program

    tasks = chosen_tasks(arguments.sets, arguments.tasks)
    for task in tasks:
        missing = missing_program(task.language)
        say(
            [f"{task.set:<13} {task.language:<11} {task.name}" + (f"  (skipped: no {missing} here)" if missing else "")]
        )
    say([f"{len(tasks)} tasks"])
    return 0


def _compare(arguments: argparse.Namespace) -> int:
    from laguna_tui.evals.gate import compare, comparison_report
    from laguna_tui.evals.samples import read_samples

    first, second = (read_samples(path.expanduser()) for path in arguments.compare)
    comparison = compare(first, second)
    report(comparison_report(comparison, arguments.points), arguments.markdown)
    return 1 if comparison.problems(arguments.points) else 0


def _gate(evaluation: "Evaluation", arguments: argparse.Namespace) -> int:
    from laguna_tui.base.progress import ProgressLine
    from laguna_tui.evals.gate_runs import Gate, gate_report

    gate = Gate(evaluation, arguments.gate.expanduser(), arguments.vary)
    try:
        with ProgressLine(quiet=arguments.quiet) as progress:
            pairs = list(
                gate.pairs(lambda title, done, total: progress.show(f"{title}: {done} of {total}", at_once=True))
            )
    except KeyboardInterrupt:
        sys.stderr.write(f"laguna-tui: {_GO_ON.format(file=arguments.gate)}\n")
        return 130
    report(gate_report(pairs, arguments.points), arguments.markdown)
    return 1 if any(each.problems(arguments.points) for each in pairs) else 0
