"""`laguna-tui trust`: whose AGENTS.md the model may be given. What trust covers is in `context/trust.py`."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_tui.base.errors import UserError
from laguna_tui.base.text import sanitize_line
from laguna_tui.cli.arguments import working_folder
from laguna_tui.cli.console import say

if TYPE_CHECKING:
    from laguna_tui.context.trust import Trust


_EPILOG = """\
A trusted folder's AGENTS.md files are given to the model as your instructions: those from the repository's top down to
the folder, as they are now. One that changes, or that was not there, is not given before you trust the folder again,
which shows the difference. Trust ends where another repository begins. Nothing in a folder can make it trusted.
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
    parser.add_argument("named", nargs="?", type=Path, metavar="FOLDER", help="default: the current folder")
    wish = parser.add_mutually_exclusive_group()
    wish.add_argument("--revoke", action="store_true", help="trust it no more")
    wish.add_argument("--list", action="store_true", help="the folders that are trusted")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked; returns the exit code.

    Raises:
        UserError: the folder cannot be trusted, or the list not be kept.
    """
    from laguna_tui.base.paths import state_dir
    from laguna_tui.context.trust import Trust

    trust = Trust(state_dir())
    for note in trust.notes:
        sys.stderr.write(f"laguna-tui: {sanitize_line(note)}\n")
    say(map(sanitize_line, _done(trust, arguments)))
    return 0


def _done(trust: "Trust", arguments: argparse.Namespace) -> Iterator[str]:
    from laguna_tui.context.instructions import agree

    named = arguments.named or arguments.folder
    if arguments.list:
        if named is not None:
            raise UserError("--list takes no folder; it lists all that are trusted")
        yield from (_listed(trust, folder) for folder in trust.folders()) if trust.folders() else (_NONE,)
        return
    folder = (named or working_folder()).expanduser()
    if arguments.revoke:
        revoked = trust.revoke(folder)
        yield f"{revoked} is trusted no more" if revoked else f"{folder} was not trusted; nothing changed"
    elif not folder.is_dir():
        raise UserError(f"{sanitize_line(str(folder))}: not a folder; give the folder of a project")
    else:
        agreed = agree(folder, trust)
        yield f"{agreed.folder} is trusted; its AGENTS.md is read from the next conversation on"
        yield from agreed.lines


def _listed(trust: "Trust", folder: Path) -> str:
    if not folder.is_dir():
        return f"{folder} (not there any more)"
    trusted = trust.of(folder)
    outdated = trusted is not None and trusted.digests is None
    return f"{folder} (by an earlier version; trust it again)" if outdated else str(folder)
