"""`laguna-tui map`: arguments and output; `repo/search` does the work."""

import argparse
from pathlib import Path

from laguna_tui.base.errors import UserError
from laguna_tui.base.text import sanitize_line
from laguna_tui.cli.arguments import add_folder, add_json, whole_number, working_folder
from laguna_tui.cli.console import print_json, warn
from laguna_tui.cli.index import index_gaps, opened_index, print_line

_TOKENS = 2048
_MIN_TOKENS, _MAX_TOKENS = 64, 1_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `map`."""
    parser.description = "Show the most important definitions in a folder, within a budget of tokens."
    add_folder(parser)
    add_json(parser)
    parser.add_argument(
        "--tokens",
        type=whole_number(_MIN_TOKENS, _MAX_TOKENS),
        default=_TOKENS,
        metavar="N",
        help=f"the budget (default: {_TOKENS})",
    )
    parser.add_argument("--focus", nargs="+", default=[], metavar="PATH", help="rank for these files or folders")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the map; returns the exit code."""
    with opened_index(arguments.folder) as (index, update):
        # Imported after the folder was checked: Python 3.13 cannot import numpy where the current folder was deleted.
        from laguna_tui.repo.search.repository_map import repository_map

        focus = [_inside(index.root, path) for path in arguments.focus]
        found = repository_map(index.connection, arguments.tokens, focus)
        gaps = [] if found.text else index_gaps(index, update)
        if arguments.json:
            print_json({**found._asdict(), "budget": arguments.tokens, "notes": [*index.notes, *gaps]})
        elif found.text:
            for line in found.text.splitlines():
                print_line(line)
        else:
            warn("; ".join([f"no definitions found{' outside --focus' if focus else ''}", *gaps]))
    return 0


def _inside(root: Path, path: str) -> str:
    """Return a path of the command line, relative to the folder."""
    for place in (working_folder() / path, root / path):
        if place.exists() and place.resolve().is_relative_to(root):
            inside = place.resolve().relative_to(root).as_posix()
            return "" if inside == "." else inside
    raise UserError(f"--focus {sanitize_line(path)}: no such file or folder in {root}; give a path inside it")
