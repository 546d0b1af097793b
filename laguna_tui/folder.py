"""The folder that a command is about: the one that was named, or else the current one, which must be one project."""

from contextlib import suppress
from pathlib import Path

from laguna_tui.errors import UserError
from laguna_tui.text import sanitize_line

NOT_THERE = "--folder {folder}: not a folder; give the top folder of the code"
GONE = "the current folder was deleted; go to another one, or name the code's with --folder DIR"
TOO_WIDE = "{folder} {what}, not one project; go to a project's folder, or read all of it: --folder {folder}"
_HOME, _TOP = "is your home folder", "holds all folders"


def chosen_folder(named: Path | None) -> Path:
    """The folder, links resolved. Named or not: `what_holds_more` says whether to ask.

    Raises:
        UserError: it is not there.
    """
    try:
        folder = (named or Path.cwd()).expanduser().resolve()
    except FileNotFoundError as error:
        raise UserError(GONE) from error
    if not folder.is_dir():
        raise UserError(NOT_THERE.format(folder=sanitize_line(str(named))) if named else GONE)
    return folder


def project_folder(named: Path | None) -> Path:
    """The folder whose code is read; one that holds more than a project only when it was named.

    Raises:
        UserError: it is not there, or was not named and is the home folder or the top of all.
    """
    folder = chosen_folder(named)
    what = "" if named else what_holds_more(folder)
    if what:
        raise UserError(TOO_WIDE.format(folder=sanitize_line(str(folder)), what=what))
    return folder


def what_holds_more(folder: Path) -> str:
    """Why a folder is more than one project, as the end of a sentence; empty when it may be one."""
    with suppress(RuntimeError):  # the user may have no home
        home = Path.home().resolve()
        if folder == home:
            return _HOME
        if home.is_relative_to(folder):
            return _TOP if folder == folder.parent else "holds your home folder"
    return _TOP if folder == folder.parent else ""
