"""`laguna-tui trust`: trusts a folder's AGENTS.md. What trust covers is in `context/trust.py`."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from laguna_tui.base.errors import UserError
from laguna_tui.base.paths import state_dir
from laguna_tui.base.text import sanitize_line
from laguna_tui.cli.arguments import working_folder
from laguna_tui.cli.console import say, warn
from laguna_tui.context.instructions import trust_instructions
from laguna_tui.context.trust import Trust

_EPILOG = (
    "The AGENTS.md files of a trusted folder are given to the model as your instructions: those from the repository's"
    " top down to the folder, with their current text. A changed or new one is not given until you trust the folder"
    " again, which shows the difference. Trust ends where another repository begins. Nothing in a folder can make it"
    " trusted."
)
_NONE = "no folder is trusted; to trust the current one: laguna-tui trust"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `trust`."""
    parser.description = "Trust a folder, or stop trusting it."
    parser.epilog = _EPILOG
    parser.add_argument("named", nargs="?", type=Path, metavar="FOLDER", help="default: the current folder")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--revoke", action="store_true", help="stop trusting it")
    action.add_argument("--list", action="store_true", help="list the trusted folders")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Trust, revoke or list; returns the exit code.

    Raises:
        UserError: The folder cannot be trusted, or the list cannot be saved.
    """
    trust = Trust(state_dir())
    for note in trust.notes:
        warn(sanitize_line(note))
    say(map(sanitize_line, _done(trust, arguments)))
    return 0


def _done(trust: Trust, arguments: argparse.Namespace) -> Iterator[str]:
    named = arguments.named or arguments.folder
    if arguments.list:
        if named is not None:
            raise UserError("--list takes no folder; it lists all trusted folders")
        yield from (_listed(trust, folder) for folder in trust.folders()) if trust.folders() else (_NONE,)
        return
    folder = (named or working_folder()).expanduser()
    if arguments.revoke:
        revoked = trust.revoke(folder)
        yield f"{revoked} is no longer trusted" if revoked else f"{folder} was not trusted; nothing changed"
    elif not folder.is_dir():
        raise UserError(f"{sanitize_line(str(folder))}: not a folder; give the folder of a project")
    else:
        granted = trust_instructions(folder, trust)
        yield f"{granted.folder} is trusted; its AGENTS.md applies from the next conversation on"
        yield from granted.lines


def _listed(trust: Trust, folder: Path) -> str:
    if not folder.is_dir():
        return f"{folder} (no longer exists)"
    trusted = trust.of(folder)
    outdated = trusted is not None and trusted.digests is None
    return f"{folder} (by an earlier version; trust it again)" if outdated else str(folder)
