"""`laguna-tui trust`: whose AGENTS.md the model may be given. What trust covers is in `context/trust.py`."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_tui.errors import UserError
from laguna_tui.output import say
from laguna_tui.text import sanitize_line

if TYPE_CHECKING:
    from laguna_tui.context.trust import Trust

_EPILOG = """\
A trusted folder's AGENTS.md files are given to the model as your instructions. Trust covers a whole repository, and the
folders below, up to where another repository begins. Nothing in a folder can make it trusted.
"""
_NONE = "no folder is trusted; trust the current one with: laguna-tui trust"


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `trust` to the command line."""
    parser = commands.add_parser(
        "trust",
        help="let a folder's AGENTS.md instruct the model",
        description="Trust a folder, or trust it no more.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", nargs="?", type=Path, metavar="FOLDER", help="default: the current folder")
    wish = parser.add_mutually_exclusive_group()
    wish.add_argument("--revoke", action="store_true", help="trust it no more")
    wish.add_argument("--list", action="store_true", help="the folders that are trusted")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked; returns the exit code.

    Raises:
        UserError: the folder cannot be trusted, or the list not be kept.
    """
    from laguna_tui.context.trust import Trust
    from laguna_tui.settings import state_dir

    trust = Trust(state_dir())
    for note in trust.notes:
        sys.stderr.write(f"laguna-tui: {sanitize_line(note)}\n")
    say(map(sanitize_line, _done(trust, arguments)))
    return 0


def _done(trust: "Trust", arguments: argparse.Namespace) -> Iterator[str]:
    from laguna_tui.folder import chosen_folder

    folder = (arguments.folder or (Path() if arguments.list else chosen_folder(None))).expanduser()
    if arguments.list:
        if arguments.folder is not None:
            raise UserError("--list takes no folder; it lists all that are trusted")
        yield from map(_listed, trust.folders()) if trust.folders() else (_NONE,)
    elif arguments.revoke:
        revoked = trust.revoke(folder)
        yield f"{revoked} is trusted no more" if revoked else f"{folder} was not trusted; nothing changed"
    elif not folder.is_dir():
        raise UserError(f"{sanitize_line(str(folder))}: not a folder; give the folder of a project")
    else:
        yield f"{trust.grant(folder)} is trusted; its AGENTS.md is read from the next conversation on"


def _listed(folder: Path) -> str:
    return str(folder) if folder.is_dir() else f"{folder} (not there any more)"
