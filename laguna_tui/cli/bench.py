"""`laguna-tui bench`: arguments, exit codes and output."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_tui.base.exit_codes import ExitCode
from laguna_tui.base.progress import ProgressLine
from laguna_tui.cli.arguments import add_commands, add_inherited, add_quiet
from laguna_tui.cli.console import write_file

if TYPE_CHECKING:
    from laguna_tui.bench.workload import BenchOptions

_KINDS = {
    "ab": (
        "compare plain decoding with each drafter",
        "Decode the same prompts plainly and with each drafter, in turns.",
    ),
    "sweep": ("try one drafter at every draft length", "Draft a fixed number of tokens every round, for every length."),
    "kv": ("compare the KV cache types, plain and drafted", "Open the model again with each KV cache type."),
    "profile": (
        "show where the time of a round goes",
        "Time the phases of every round: draft, verify, sample, the rest.",
    ),
    "model": ("compare the predicted with the measured speed-up", "Predict the speed-up of each draft length."),
}
_EPILOG = """\
Ctrl-C ends it early; the results so far are reported.
exit codes: 0 measured, 2 wrong usage or an unusable file, 130 interrupted
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `bench` and its benchmarks."""
    parser.description = "Measure what speculative decoding gains on this machine. Prints a Markdown table."
    kinds = add_commands(parser, "what to measure", "kind")
    for name, (summary, description) in _KINDS.items():
        kind = kinds.add_parser(name, help=summary, description=description, epilog=_EPILOG)
        _add_options(kind, drafter_choice=name in ("sweep", "profile", "model"))
        kind.set_defaults(run=run)


def _add_options(parser: argparse.ArgumentParser, *, drafter_choice: bool) -> None:
    def add(flag: str, kind: Callable[[str], object], placeholder: str, text: str) -> None:
        add_inherited(parser, flag, type=kind, metavar=placeholder, help=text)

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
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the benchmark and report it; returns the exit code."""
    # Not imported at the top: it takes most of a second, and nobody waits so long for the help.
    from laguna_tui.bench.workload import from_arguments

    options = from_arguments(arguments)
    with ProgressLine(quiet=arguments.quiet) as progress:
        return _measured(arguments, options, progress)


def _measured(arguments: argparse.Namespace, options: "BenchOptions", progress: ProgressLine) -> int:
    from laguna_tui.bench.report import MEASUREMENTS, Report

    measurement = MEASUREMENTS[arguments.kind](options)
    report = Report.begin(arguments.kind, options, progress)
    code = 0
    try:
        measurement.measure(progress)
    except KeyboardInterrupt:
        code = ExitCode.INTERRUPTED
    report.finish(measurement, interrupted=bool(code))
    progress.clear()
    on_stdout = report.json() if arguments.json == "-" else report.markdown()
    try:
        if arguments.json not in (None, "-"):
            write_file("--json", Path(arguments.json), report.json())
    finally:
        # Also if the file cannot be written: the measurement took minutes.
        sys.stdout.write(on_stdout)
        sys.stdout.flush()
    return code
