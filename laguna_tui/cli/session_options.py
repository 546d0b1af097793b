"""The options of a session and of the settings, the same before a command's name and after `ask`."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_tui.base.errors import UserError
from laguna_tui.base.paths import cache_dir, state_dir
from laguna_tui.base.schema import DeclaredField, declarations
from laguna_tui.base.settings import KEYS, Settings
from laguna_tui.cli.arguments import FOLDER_HELP

if TYPE_CHECKING:
    from laguna_tui.store.session_store import SessionStore

_NONE_HERE = "there is no saved session of this folder; to choose from all sessions: laguna-tui --resume"
_NOTHING_TO_FORK = "--fork copies a session: add --resume SESSION or -c; in the list of sessions, fork the one to copy"


def add_session_options(parser: argparse.ArgumentParser, *, nested: bool = False) -> None:
    """Add `--folder`, the options that choose a session, and one option per setting.

    nested: The parser is a command's; an option before the command's name counts where it is missing after it.
    """
    # A default of a command would overwrite an option before the command's name.
    default = argparse.SUPPRESS if nested else None
    group = parser.add_argument_group("session")
    group.add_argument("--folder", type=Path, metavar="DIR", help=FOLDER_HELP, default=default)
    resumed = group.add_mutually_exclusive_group()
    resumed.add_argument(
        "--resume",
        metavar="SESSION",
        nargs=None if nested else "?",
        const=None if nested else "",
        help="resume a session, by its ID, the beginning of its ID, or its title"
        + ("" if nested else "; without one, choose from a list"),
        default=default,
    )
    resumed.add_argument(
        "-c",
        "--continue",
        dest="go_on",
        action="store_true",
        help="resume the last session of this folder",
        default=argparse.SUPPRESS if nested else False,
    )
    group.add_argument(
        "--fork",
        action="store_true",
        help="with --resume or -c: resume a copy of the session, even if it is open elsewhere",
        default=argparse.SUPPRESS if nested else False,
    )
    add_setting_options(parser, nested=nested, group=group)


def add_setting_options(
    parser: argparse.ArgumentParser, *, nested: bool = False, group: "argparse._ArgumentGroup | None" = None
) -> None:
    """Add one option per setting. nested: as for `add_session_options`; group: where the help lists them."""
    default = argparse.SUPPRESS if nested else None
    group = group or parser.add_argument_group("settings")
    for setting in declarations(Settings).values():
        # argparse formats its help with "%".
        text = _help(setting).replace("%", "%%")
        if setting.kind is bool:
            group.add_argument(setting.flag, action=argparse.BooleanOptionalAction, help=text, default=default)
        else:
            metavar = setting.rule.placeholder
            group.add_argument(setting.flag, type=setting.kind, metavar=metavar, help=text, default=default)


def chosen_settings(arguments: argparse.Namespace) -> dict[str, object]:
    """Return the options by setting; None for those not given."""
    return {key: getattr(arguments, key) for key in KEYS}


def given_settings(arguments: argparse.Namespace) -> frozenset[str]:
    """Return the names of the settings that were given as options."""
    return frozenset(key for key, value in chosen_settings(arguments).items() if value is not None)


def chosen_session(arguments: argparse.Namespace, folder: Path) -> str | None:
    """Return the session of `--resume` or `-c`; empty to let the user choose one, None for a new one.

    With `--fork`, the session is copied, and the copy returned.

    Raises:
        UserError: There is no session of this folder to resume, or none to copy.
    """
    chosen: str | None = arguments.resume
    if arguments.go_on:
        newest = saved_sessions().newest(folder)
        if not newest:
            raise UserError(_NONE_HERE)
        chosen = newest[0].id
    elif chosen and arguments.folder is not None:
        _move_if_lost(chosen, folder)
    return chosen if chosen is None and not arguments.fork else forked(arguments, chosen or "", folder)


def forked(arguments: argparse.Namespace, session: str, folder: Path) -> str:
    """Return the session, by its ID or title; with `--fork` the ID of a copy.

    Raises:
        UserError: There is none, or it cannot be copied.
    """
    if not arguments.fork:
        return session
    if not session:
        raise UserError(_NOTHING_TO_FORK)
    store = saved_sessions()
    return store.fork(store.find(session, folder).id)


def _move_if_lost(session: str, folder: Path) -> None:
    """Move a session to the folder that was named, if its own no longer exists.

    Raises:
        UserError: There is no such session, or it cannot be written.
    """
    store = saved_sessions()
    found = store.find(session, folder)
    if not found.folder.is_dir():
        store.move(found.id, folder)


def saved_sessions() -> "SessionStore":
    """Return the user's sessions."""
    # Not imported at the top: it would take half the time of `laguna-tui --help`.
    from laguna_tui.store.session_store import SessionStore

    return SessionStore(state_dir(), cache_dir())


def _help(setting: DeclaredField) -> str:
    """Return the purpose, range and default of a setting."""
    parts = [setting.rule.help, setting.allowed] if setting.allowed else [setting.rule.help]
    default = "" if setting.kind is bool else setting.default_text
    return "; ".join(parts) + (f" (default: {default})" if default else "")
