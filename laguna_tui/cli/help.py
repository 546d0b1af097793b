"""`laguna-tui help`: shows a page of the manual."""

import argparse
import sys

from laguna_tui.base.manual import manual_pages, page_title, read_page
from laguna_tui.cli.console import say, table

_WIDTH = 100
"""Columns: longer lines are hard to read."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `help`."""
    parser.description = "Show a page of the manual."
    parser.add_argument("page", nargs="?", help="name of the page; without one, list the pages")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print a page, formatted on a terminal and as Markdown elsewhere, or the list of pages; returns the exit code.

    Raises:
        UserError: There is no such page.
    """
    if arguments.page is None:
        say(table([(f"laguna-tui help {name}", page_title(path)) for name, path in manual_pages().items()]))
        return 0
    text = read_page(arguments.page)
    if not sys.stdout.isatty():
        say(text.splitlines())
        return 0
    # Not imported at the top: the list, and a page in a pipe, do without.
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    console.print(Markdown(text), width=min(_WIDTH, console.width))
    return 0
