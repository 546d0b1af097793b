"""`laguna-tui help`: show a page of the manual."""

import argparse
import sys

from laguna_tui.base.manual import manual_pages, page_title, read_page
from laguna_tui.cli.console import say

_WIDTH = 100
"""Columns: longer lines are hard to read."""


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `help` to the command line."""
    parser = commands.add_parser("help", help="show a page of the manual", description="Show a page of the manual.")
    parser.add_argument("page", nargs="?", help="name of the page; without one, list the pages")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print a page, formatted on a terminal and as Markdown elsewhere, or the list of pages; return the exit code.

    Raises:
        UserError: there is no such page.
    """
    if arguments.page is None:
        pages = manual_pages()
        width = max(map(len, pages))
        say(f"laguna-tui help {name:<{width}}  {page_title(path)}" for name, path in pages.items())
        return 0
    text = read_page(arguments.page)
    if not sys.stdout.isatty():
        say(text.splitlines())
        return 0
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    console.print(Markdown(text), width=min(_WIDTH, console.width))
    return 0
