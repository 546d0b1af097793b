"""`laguna-tui models`: arguments and exit codes. What they ask for is done in `models_actions`, imported when asked."""

import argparse
from typing import Any

from laguna_tui.cli import convert
from laguna_tui.cli.arguments import add_commands, add_offline

_EPILOG = """\
exit codes: 0 done, 1 it failed or is not here, 2 wrong usage, 130 interrupted (run it again to resume)
"""


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `models` and what can be done with them to the command line."""
    models = commands.add_parser(
        "models",
        help="list, download, check and remove models",
        description="The models that laguna-tui knows, and those that are on this machine.",
    )
    actions = add_commands(models, "what to do", "action")
    _add(actions, "list", "all models, and which of them are downloaded")
    _add(actions, "info", "everything known about a model", names=1)
    download = _add(actions, "download", "download models; resumes where it stopped", names="+")
    download.add_argument("--only", action="store_true", help="without the drafter that goes with a model")
    add_offline(download, "open no connections; use only what is on this machine")
    download.add_argument("--quiet", action="store_true", help="no progress on stderr")
    _add(actions, "verify", "read downloaded models again and compare them (default: all)", names="*")
    _add(actions, "remove", "delete a downloaded model", names=1)
    _add(actions, "path", "where a model's file is", names=1)
    convert.add_parser(actions)


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked; returns the exit code."""
    from laguna_tui.cli.models_actions import ACTIONS

    return ACTIONS[arguments.action](arguments)


def _add(actions: Any, name: str, summary: str, *, names: int | str | None = None) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if names is not None:
        parser.add_argument("names", nargs=names, metavar="NAME", help="as `laguna-tui models list` shows it")
    parser.add_argument("--json", action="store_true", help="machine-readable, on stdout")
    parser.set_defaults(run=run)
    return parser
