"""`laguna-tui models convert`: converts a drafter's folder of safetensors to GGUF."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_tui.base.errors import UserError
from laguna_tui.base.progress import ProgressLine
from laguna_tui.base.units import size
from laguna_tui.cli.arguments import add_force
from laguna_tui.cli.console import check_target, say

if TYPE_CHECKING:
    from laguna_tui.models.convert import Conversion, Provenance


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `convert` to the commands of `laguna-tui models`."""
    parser = commands.add_parser(
        "convert",
        help="convert a drafter published as safetensors to GGUF",
        description="Convert a DFlash drafter of Laguna that was published as safetensors (the speculator of XS.2, the"
        " DFlash drafters of XS-2.1 and S-2.1) to GGUF. Every tensor is checked against its config.json.",
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="folder with its config.json and *.safetensors")
    parser.add_argument("output", type=Path, metavar="OUT.gguf", help="the file to write")
    parser.add_argument(
        "--type", dest="kind", default="bf16", metavar="TYPE", help="bf16 (default: as published), q8_0 or q4_0"
    )
    parser.add_argument("--target", type=Path, metavar="MODEL.gguf", help="refuse a drafter made for another model")
    parser.add_argument("--repository", metavar="OWNER/NAME", help="where it was published, for the file's metadata")
    parser.add_argument("--revision", metavar="COMMIT", help="its revision, for the file's metadata")
    parser.add_argument("--license", dest="licence", metavar="NAME", help="its license (default: its model card's)")
    add_force(parser, "OUT.gguf")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Convert and print a summary; returns the exit code.

    Raises:
        UserError: An argument is wrong.
        EngineError: The folder is not a drafter, or not the target's.
    """
    # Not imported at the top: the other actions of `models` do without.
    from laguna_tui.models.convert import KINDS, Provenance, convert, plan

    folder, output = arguments.folder.expanduser(), arguments.output.expanduser()
    target = arguments.target and arguments.target.expanduser()
    if not folder.is_dir():
        raise UserError(f"{folder}: not a folder; give the one with the drafter's config.json and safetensors")
    check_target(output, force=arguments.force)
    if arguments.kind not in KINDS:
        raise UserError(f"--type {arguments.kind}: it must be one of {', '.join(KINDS)}")
    planned = plan(folder, arguments.kind)
    given = {name: getattr(arguments, name) for name in ("repository", "revision", "licence")}
    provenance = replace(Provenance.from_folder(folder), **{name: value for name, value in given.items() if value})
    with ProgressLine(f"reading {folder.name}") as reading, ProgressLine(f"converting {folder.name}") as converting:
        lines = {"verify": reading, "convert": converting}
        convert(planned, output, provenance, lambda phase, done, total: lines[phase].show_share(done, total), target)
    _print_summary(planned, provenance, output)
    return 0


def _print_summary(planned: "Conversion", provenance: "Provenance", output: Path) -> None:
    config, formats = planned.config, list(planned.formats)
    count = ", ".join(f"{formats.count(name)} {name}" for name in dict.fromkeys(formats))
    lines = [
        f"{output.name}: {size(output.stat().st_size)}; tensors: {count}",
        f"a drafter of {config.n_layer} layers that drafts up to {config.block - 1} tokens from the target's layers "
        f"{', '.join(map(str, config.taps))}",
    ]
    if planned.unaligned:
        lines.append(f"not quantized, because their row length is not a multiple of 32: {', '.join(planned.unaligned)}")
    if provenance.licence:
        lines.append(f"license: {provenance.licence}")
    say(lines)
