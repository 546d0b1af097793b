"""Folders of the user."""

from contextlib import suppress
from pathlib import Path

_HOME, _TOP = "is your home folder", "holds all folders"


def what_holds_more(folder: Path) -> str:
    """Why a folder is more than one project, as the end of a sentence; empty when it may be one.

    Args:
        folder: without links in its path.
    """
    with suppress(RuntimeError):  # the user may have no home
        home = Path.home().resolve()
        if folder == home:
            return _HOME
        if home.is_relative_to(folder):
            return _TOP if folder == folder.parent else "holds your home folder"
    return _TOP if folder == folder.parent else ""
