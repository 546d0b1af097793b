"""`laguna-tui index`, and what `search` and `map` share: the folder's index, opened and brought up to date."""

import argparse
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from laguna_tui.base.errors import UserError
from laguna_tui.base.progress import ProgressLine
from laguna_tui.base.text import sanitize_line
from laguna_tui.base.units import size
from laguna_tui.cli.arguments import add_folder, add_json, project_folder
from laguna_tui.cli.console import print_json, warn
from laguna_tui.repo.files.unsearched import Unsearched, unindexed
from laguna_tui.repo.search.index import Index
from laguna_tui.repo.search.index_database import explained, index_path
from laguna_tui.repo.search.index_state import IndexUpdate

_ELSEWHERE = "use --folder"
_UPDATE = ("files", "read", "dropped", "refused", "complete", "full", "disk_full", "left_out", "seconds")
"""What the JSON has of an update."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `index`."""
    parser.description = "Index the files, definitions and words of a folder."
    add_folder(parser)
    add_json(parser)
    parser.add_argument("--rebuild", action="store_true", help="delete the index and build it again")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Index the folder and report; returns the exit code."""
    with opened_index(arguments.folder, wait=True, rebuild=arguments.rebuild) as (index, update):
        assert update is not None, "waiting for the lock always gives an update"
        counts = _counts(index)
        gaps = index_gaps(index, update)
        if arguments.json:
            print_json({**{name: getattr(update, name) for name in _UPDATE}, **counts, "notes": [*index.notes, *gaps]})
            return 0
        total = f"{update.files:,} files, {counts['symbols']:,} definitions, {counts['units']:,} units"
        where = f"{size(counts['bytes'])} in {index.path}" if index.path else "in memory"
        print_line(
            f"{total}; {update.read:,} files read, {update.dropped:,} removed, in {update.seconds:.1f} s; {where}"
        )
        for gap in gaps:
            warn(gap)
    return 0


@contextmanager
def opened_index(
    named: Path | None, *, wait: bool = False, rebuild: bool = False
) -> Iterator[tuple[Index, IndexUpdate | None]]:
    """Open a folder's index, up to date unless another process is writing it; its notes go to stderr.

    Args:
        named: The folder of `--folder`; None for the current one.
        wait: Wait for a process that writes the index, so that there always is an update.
        rebuild: Build the index from nothing.

    Raises:
        UserError: The folder or its index cannot be read.
    """
    folder = project_folder(named)
    try:
        with Index.open(folder) as index:
            if rebuild:
                index.rebuild()
            with ProgressLine("reading the folder's code") as line:
                update = index.refresh(line.show_share, wait=wait)
            for note in [*index.notes, *(update.notes if update else ())]:
                warn(sanitize_line(note))
            yield index, update
    except sqlite3.Error as error:
        raise UserError(sanitize_line(explained(error, index_path(folder)))) from error


def index_gaps(index: Index, update: IndexUpdate | None) -> list[str]:
    """Return the sentence about what no search covers, if anything."""
    sentence = unindexed(index.connection, update.unsearched if update else Unsearched()).sentence(_ELSEWHERE)
    return [sentence] if sentence else []


def print_line(text: str) -> None:
    """Print a line of a result."""
    sys.stdout.write(sanitize_line(text) + "\n")


def _counts(index: Index) -> dict[str, int]:
    counts = {
        name: int(index.connection.execute(f"select count(*) from {name}").fetchone()[0])
        for name in ("symbols", "units")
    }
    return {**counts, "bytes": index.path.stat().st_size if index.path else 0}
