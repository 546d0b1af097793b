"""What can go wrong with a download, and what is only an interruption."""

from dataclasses import dataclass

from laguna_tui.errors import UserError


class DownloadError(UserError):
    """A download cannot go on; what has arrived is kept, and the message says what to do."""


class OfflineError(DownloadError):
    """Something must be fetched, and the user said that nothing may be."""


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
