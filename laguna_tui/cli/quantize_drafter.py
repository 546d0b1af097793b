"""`laguna-tui quantize-drafter`: a drafter made smaller, and what that costs in acceptance.

Arguments, checks and words; the engine does the work and is imported only when there is some.
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_tui import __version__
from laguna_tui.base.errors import UserError
from laguna_tui.base.progress import ProgressLine
from laguna_tui.base.text import sanitize
from laguna_tui.base.units import size
from laguna_tui.cli.console import check_target, say

if TYPE_CHECKING:
    from laguna_engine.gguf.quantization import QuantizationPlan


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `quantize-drafter` to the command line."""
    parser = commands.add_parser(
        "quantize-drafter",
        help="make a drafter's file smaller",
        description="Write a quantized copy of a DFlash drafter, through llama.cpp's own quantizers. q4_0 keeps output "
        "head, embeddings, Markov matrices and gates at q8_0.",
    )
    parser.add_argument("source", type=Path, metavar="IN.gguf", help="the drafter, unquantized")
    parser.add_argument("target", type=Path, metavar="OUT.gguf", help="where to write the copy")
    parser.add_argument("--type", dest="kind", default="q8_0", metavar="TYPE", help="q8_0 (default) or q4_0")
    parser.add_argument("--force", action="store_true", help="replace OUT.gguf if it exists")
    parser.add_argument(
        "--target",
        dest="pair",
        type=Path,
        metavar="MODEL.gguf",
        help="also let both drafters draft for this model, and compare how much of it stands",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Quantize as asked, say what was done; returns the exit code."""
    from laguna_engine.errors import EngineError

    source, target = arguments.source.expanduser(), arguments.target.expanduser()
    _check_paths(source, target, force=arguments.force)
    model = arguments.pair and arguments.pair.expanduser()
    try:
        if model is not None:
            _check_pair(source, model)
        _quantize(source, target, arguments.kind)
        if model is not None:
            _compare(model, source, target)
    except EngineError as error:
        raise UserError(sanitize(str(error))) from error
    return 0


def _check_paths(source: Path, target: Path, *, force: bool) -> None:
    if not source.is_file():
        raise UserError(f"{source}: no such file; give the drafter's GGUF")
    if target.is_file() and target.samefile(source):
        raise UserError(f"{target}: is the drafter itself; give another name to write to")
    check_target(target, force=force)


def _check_pair(source: Path, model: Path) -> None:
    """Complain about the comparison's model before anything is written, not after."""
    from laguna_engine.gguf import drafter_header, header

    drafter_header.check_pair(drafter_header.read(source), header.check(model))


def _quantize(source: Path, target: Path, kind: str) -> None:
    from laguna_engine.gguf.quantization import KINDS, plan

    if kind not in KINDS:
        raise UserError(f"--type {kind}: it must be one of {', '.join(KINDS)}")
    planned = plan(source, kind)

    from laguna_engine.ggml.gguf_writer import write_quantized

    with ProgressLine(f"quantizing {source.name}") as line:
        write_quantized(planned, target, _provenance(source), line.show_share)
    _tell(planned, target)


def _provenance(source: Path) -> dict[str, str]:
    """Metadata that says where a quantized file comes from."""
    from laguna_tui.models.records import SHA256, fingerprint_of

    with ProgressLine(f"reading {source.name}") as line:
        fingerprint = fingerprint_of(source, SHA256, line.counter(source.stat().st_size))
    return {
        "laguna_tui.quantized.by": f"laguna-tui {__version__}",
        "laguna_tui.quantized.from": source.name,
        "laguna_tui.quantized.from_sha256": fingerprint.value,
    }


def _tell(planned: "QuantizationPlan", target: Path) -> None:
    before, after = planned.source.size, target.stat().st_size
    formats = ", ".join(f"{count} {name}" for name, count in planned.formats().items())
    lines = [
        f"{planned.source.path.name}: {size(before)}",
        f"{target.name}: {size(after)}, {after / before:.0%} of it; tensors: {formats}",
    ]
    if planned.unfit:
        lines.append(f"still 16 bits wide, because their rows are no whole blocks of 32: {', '.join(planned.unfit)}")
    say(lines)


def _compare(model: Path, *drafters: Path) -> None:
    """Show what each of `drafters` is worth to `model`, under the user's settings for devices and thinking."""
    from laguna_tui.base.settings import load_settings
    from laguna_tui.bench.acceptance import ANSWER_TOKENS, QUESTIONS, measure, table

    settings, found = load_settings(), []
    for path in drafters:
        with ProgressLine(f"drafting with {path.name}") as line:
            found.append((path.name, measure(model, path, settings, line.show_share)))
    head = f"of the drafts for {len(QUESTIONS)} answers of up to {ANSWER_TOKENS} tokens by {model.name}:"
    say([head, *table(found)])
