"""What can go wrong with a download, and what is only an interruption."""

import errno
from dataclasses import dataclass
from pathlib import Path

from laguna_tui.errors import UserError


class DownloadError(UserError):
    """A download cannot go on; what has arrived is kept, and the message says what to do."""


class DiskFullError(DownloadError):
    """The disk has no room for what still has to come."""


@dataclass
class Unsteady(Exception):
    """The network let go, in a way that trying again may mend.

    reason: what happened, as part of a sentence. wait_s: how long the server asks to be left alone, if it does.
    """

    reason: str
    wait_s: float | None = None


class Stopped(Exception):
    """The user stopped it. Not an error: `Download.run` returns what became of it."""


class Paused(Stopped):
    """It shall go on later."""


class Cancelled(Stopped):
    """It shall not, and what has arrived may go."""


def disk_trouble(error: OSError, folder: Path) -> DownloadError:
    """What an error of the disk under the store means for a download."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFullError(
            f"{folder}: the disk is full; what has arrived is kept: make room and try again, or move the "
            "models to another disk with LAGUNA_TUI_MODELS=FOLDER"
        )
    where = error.filename or folder
    return DownloadError(f"{where}: {error.strerror or error}; check the disk and its permissions, then run it again")
