"""The folder whose code is read: one that was named, or else the current one, if it is one project."""

from pathlib import Path

from laguna_tui.arguments import folder_of
from laguna_tui.base.paths import what_holds_more
from laguna_tui.errors import UserError
from laguna_tui.text import sanitize_line

TOO_WIDE = "{folder} {what}, not one project; go to a project's folder, or read all of it: --folder {folder}"


def project_folder(named: Path | None) -> Path:
    """The folder whose code is read; one that holds more than a project only when it was named.

    Raises:
        UserError: it is not there, or was not named and is the home folder or the top of all.
    """
    folder = folder_of(named)
    what = "" if named else what_holds_more(folder)
    if what:
        raise UserError(TOO_WIDE.format(folder=sanitize_line(str(folder)), what=what))
    return folder
