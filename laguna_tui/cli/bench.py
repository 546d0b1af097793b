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
    from laguna_tui.bench.measurement import Measurement
    from laguna_tui.bench.workload import BenchOptions

EPILOG = """\
Ctrl-C ends it early; the results so far are reported.
exit codes: 0 measured, 2 wrong usage or an unusable file, 130 interrupted
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `bench` and its one benchmark."""
    parser.description = "Measure what speculative decoding gains on this machine. Prints a Markdown table."
    kinds = add_commands(parser, "what to measure", "kind")
    kind = kinds.add_parser(
        "ab",
        help="compare plain decoding with each drafter",
        description="Decode the same prompts plainly and with each drafter, in turns.",
        epilog=EPILOG,
    )
    add_options(kind)
    kind.set_defaults(run=run)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of every benchmark of speculation."""

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
    parser.add_argument(
        "--json", metavar="FILE", help="write all measurements as JSON; - for stdout, without the table"
    )
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run `bench ab` and report it; returns the exit code."""
    # Not imported at the top: it takes most of a second, and nobody waits so long for the help.
    from laguna_tui.bench.comparison import DrafterComparison

    return measure(arguments, DrafterComparison)


def measure(arguments: argparse.Namespace, kind: "Callable[[BenchOptions], Measurement]") -> int:
    """Run a benchmark and report it; returns the exit code."""
    from laguna_tui.bench.report import Report
    from laguna_tui.bench.workload import from_arguments

    options = from_arguments(arguments)
    with ProgressLine(quiet=arguments.quiet) as progress:
        measurement = kind(options)
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
