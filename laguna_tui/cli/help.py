"""`laguna-tui help`: prints a page of the documentation that ships with the app."""

import argparse
from pathlib import Path

from laguna_tui.base.errors import UserError
from laguna_tui.base.paths import data_root
from laguna_tui.base.spelling import did_you_mean
from laguna_tui.cli.console import say


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `help` to the command line."""
    parser = commands.add_parser(
        "help", help="print a page of the documentation", description="Print a page of the documentation."
    )
    parser.add_argument("page", nargs="?", help="name of the page; without one, list the pages")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print a page, or the names of all; returns the exit code.

    Raises:
        UserError: There is no such page.
    """
    pages = {path.stem: path for path in sorted((data_root() / "assets" / "docs").glob("*.md"))}
    if arguments.page is None:
        width = max(map(len, pages), default=0)
        say(f"laguna-tui help {name:<{width}}  {_title(path)}" for name, path in pages.items())
        return 0
    if arguments.page not in pages:
        hint = did_you_mean(arguments.page, tuple(pages))
        raise UserError(f"there is no page {arguments.page!r}{hint}; there are: {', '.join(pages)}")
    say(pages[arguments.page].read_text(encoding="utf-8").splitlines())
    return 0


def _title(page: Path) -> str:
    """The first heading of a page."""
    lines = page.read_text(encoding="utf-8").splitlines()
    return next((line.lstrip("# ") for line in lines if line.startswith("#")), page.stem)
