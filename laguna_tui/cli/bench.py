"""`laguna-tui bench`: arguments, exit codes and output. Heavy modules are imported when it runs."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_tui.base.errors import UserError
from laguna_tui.base.text import sanitize
from laguna_tui.cli.arguments import add_commands

if TYPE_CHECKING:
    from laguna_tui.base.progress import ProgressLine
    from laguna_tui.bench.report import Report
    from laguna_tui.bench.workload import BenchOptions


INTERRUPTED = 130

_KINDS = {
    "ab": ("plain decoding against each drafter", "Decode the same prompts plainly and with each drafter, in turns."),
    "sweep": ("one drafter at every draft length", "Draft a fixed number of tokens every round, for every length."),
    "kv": ("KV cache types, each plain and drafted", "Open the model again with each KV cache type."),
    "profile": ("where the time of a round goes", "Time the phases of every round: draft, verify, sample, the rest."),
    "model": (
        "the predicted speed-up beside the measured one",
        "Predict each length's speed-up from what was measured.",
    ),
}

_EPILOG = """\
Ctrl-C ends it early; the results so far are reported.
exit codes: 0 measured, 2 wrong usage or a file that cannot be used, 130 interrupted
"""


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `bench` and its benchmarks to the command line."""
    bench = commands.add_parser(
        "bench",
        help="measure what speculative decoding gains here",
        description="Measure what speculative decoding gains on this machine. Prints a Markdown table.",
    )
    kinds = add_commands(bench, "what to measure", "kind")
    for name, (summary, description) in _KINDS.items():
        parser = kinds.add_parser(
            name,
            help=summary,
            description=description,
            epilog=_EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        _add_options(parser, drafter_choice=name in ("sweep", "profile", "model"))
        parser.set_defaults(run=run)


def _add_options(parser: argparse.ArgumentParser, *, drafter_choice: bool) -> None:
    # A sub-command's default would overwrite an option before the command's name.
    def add(flag: str, kind: Callable[[str], object], meta: str, text: str) -> None:
        parser.add_argument(flag, type=kind, metavar=meta, help=text, default=argparse.SUPPRESS)

    add("--model", str, "NAME|FILE", "a model from the catalogue, or a GGUF file (default: nano)")
    add("--drafter", str, "NAME|FILE", "a drafter from the catalogue, a GGUF, or none (default: the recommended one)")
    add("--threads", int, "N", "CPU threads, 0 for one per core (default: as planned for the app)")
    add("--kv", str, "TYPE", "KV cache type: f16, q8_0 or q4_0")
    add("--context", int, "N", "context size in tokens (default: 8192)")
    add("--gpu-layers", int, "N", "layers on the GPU, -1 for all")
    add("--temperature", float, "T", "sampling temperature (default: 0, greedy)")
    add("--seed", int, "N", "seed for sampling at temperatures above 0 (default: 1)")
    add("--speculation", str, "MODE", "fast (default), or strict: exactly the plain answer, on the CPU")
    parser.add_argument("--prompts", type=Path, metavar="FILE", help="messages to answer, separated by blank lines")
    parser.add_argument(
        "--tokens", type=int, metavar="N", default=128, help="token limit of each answer (default: 128)"
    )
    parser.add_argument("--repeats", type=int, metavar="N", default=3, help="answers per prompt (default: 3)")
    if drafter_choice:
        parser.add_argument("--use", metavar="WHO", help="drafter: dflash, copy or both (default: the model's drafter)")
    parser.add_argument(
        "--json", metavar="FILE", help="write all measurements as JSON; - for stdout, without the table"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")


def run(arguments: argparse.Namespace) -> int:
    """Run the benchmark and report it; returns the exit code."""
    from laguna_engine.errors import EngineError
    from laguna_tui.base.progress import ProgressLine
    from laguna_tui.bench.workload import from_arguments

    options = from_arguments(arguments)
    try:
        with ProgressLine(quiet=arguments.quiet) as progress:
            return _measured(arguments, options, progress)
    except EngineError as error:
        raise UserError(sanitize(str(error))) from error


def _measured(arguments: argparse.Namespace, options: "BenchOptions", progress: "ProgressLine") -> int:
    from laguna_tui.bench.report import MEASUREMENTS, Report

    measurement = MEASUREMENTS[arguments.kind](options)
    report = Report.begin(arguments.kind, options, progress)
    interrupted = False
    try:
        measurement.measure(progress)
    except KeyboardInterrupt:
        interrupted = True
    report.finish(measurement, interrupted=interrupted)
    progress.clear()
    _write(report, arguments.json)
    return INTERRUPTED if interrupted else 0


def _write(report: "Report", target: str | None) -> None:
    from laguna_engine.files import write_output

    if target is not None and target != "-":
        try:
            write_output(Path(target).expanduser(), report.json())
        except OSError as error:
            # The measurement took minutes; it must not be lost to a wrong path.
            sys.stdout.write(report.markdown())
            raise UserError(f"--json {target}: {error.strerror}; choose a writable file") from error
    sys.stdout.write(report.json() if target == "-" else report.markdown())
    sys.stdout.flush()
