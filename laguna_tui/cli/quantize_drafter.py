"""`laguna-tui quantize-drafter`: quantizes a drafter, and measures the cost in acceptance."""

import argparse
from pathlib import Path

from laguna_engine.ggml.gguf_writer import write_quantized
from laguna_engine.gguf import drafter_header, header
from laguna_engine.gguf.quantization import KINDS, QuantizationPlan, plan
from laguna_tui import __version__
from laguna_tui.base.errors import UserError
from laguna_tui.base.progress import ProgressLine
from laguna_tui.base.settings import load_settings
from laguna_tui.base.units import size
from laguna_tui.bench.acceptance import ANSWER_TOKENS, QUESTIONS, measure, table
from laguna_tui.cli.arguments import add_force
from laguna_tui.cli.console import check_target, say
from laguna_tui.models.records import SHA256, fingerprint_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `quantize-drafter`."""
    parser.description = (
        "Write a quantized copy of a DFlash drafter, with llama.cpp's quantizers. q4_0 keeps output head, embeddings,"
        " Markov matrices and gates at q8_0."
    )
    parser.add_argument("source", type=Path, metavar="IN.gguf", help="the drafter, unquantized")
    parser.add_argument("target", type=Path, metavar="OUT.gguf", help="where to write the copy")
    parser.add_argument("--type", dest="kind", default="q8_0", metavar="TYPE", help="q8_0 (default) or q4_0")
    add_force(parser, "OUT.gguf")
    parser.add_argument(
        "--target",
        dest="pair",
        type=Path,
        metavar="MODEL.gguf",
        help="also draft for this model with both drafters, and compare their acceptance",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Quantize and print a summary; returns the exit code.

    Raises:
        UserError: An argument is wrong.
        EngineError: A file is not a drafter, or not a drafter of the model.
    """
    source, target = arguments.source.expanduser(), arguments.target.expanduser()
    _check_paths(source, target, force=arguments.force)
    model = arguments.pair and arguments.pair.expanduser()
    if model is not None:
        # Before anything is written.
        drafter_header.check_pair(drafter_header.read(source), header.check(model))
    _quantize(source, target, arguments.kind)
    if model is not None:
        _compare(model, source, target)
    return 0


def _check_paths(source: Path, target: Path, *, force: bool) -> None:
    if not source.is_file():
        raise UserError(f"{source}: no such file; give the drafter's GGUF")
    if target.is_file() and target.samefile(source):
        raise UserError(f"{target}: is the drafter itself; give another name for the copy")
    check_target(target, force=force)


def _quantize(source: Path, target: Path, kind: str) -> None:
    if kind not in KINDS:
        raise UserError(f"--type {kind}: it must be one of {', '.join(KINDS)}")
    planned = plan(source, kind)
    with ProgressLine(f"reading {source.name}") as line:
        fingerprint = fingerprint_of(source, SHA256, line.counter(source.stat().st_size))
    origin = {
        "laguna_tui.quantized.by": f"laguna-tui {__version__}",
        "laguna_tui.quantized.from": source.name,
        "laguna_tui.quantized.from_sha256": fingerprint.value,
    }
    with ProgressLine(f"quantizing {source.name}") as line:
        write_quantized(planned, target, origin, line.show_share)
    _print_summary(planned, target)


def _print_summary(planned: QuantizationPlan, target: Path) -> None:
    before, after = planned.source.size, target.stat().st_size
    formats = ", ".join(f"{count} {name}" for name, count in planned.formats().items())
    lines = [
        f"{planned.source.path.name}: {size(before)}",
        f"{target.name}: {size(after)}, {after / before:.0%} of that; tensors: {formats}",
    ]
    if planned.unfit:
        lines.append(f"kept at 16 bits, because their row length is not a multiple of 32: {', '.join(planned.unfit)}")
    say(lines)


def _compare(model: Path, *drafters: Path) -> None:
    """Print each drafter's acceptance for a model, with the user's settings for devices and thinking."""
    settings, records = load_settings(), []
    for path in drafters:
        with ProgressLine(f"drafting with {path.name}") as line:
            records.append((path.name, measure(model, path, settings, line.show_share)))
    head = f"acceptance over {len(QUESTIONS)} answers of up to {ANSWER_TOKENS} tokens by {model.name}:"
    say([head, *table(records)])
