"""What can go wrong with a download, what is only an interruption, and what the hub's refusals mean for the user."""

import errno
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from laguna_tui.base.errors import UserError


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


def disk_error(error: OSError, folder: Path) -> DownloadError:
    """What an error of the disk under the store means for a download."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFullError(
            f"{folder}: the disk is full; what has arrived is kept: make room and try again, or move the "
            "models to another disk with LAGUNA_TUI_MODELS=FOLDER"
        )
    where = error.filename or folder
    return DownloadError(f"{where}: {error.strerror or error}; check the disk and its permissions, then run it again")


_TRY_AGAIN = {408: "it took too long", 425: "it was too early", 429: "it asks for fewer requests"}
_SERVER_ERROR = 500
_DAY_S = 86400
LONGEST_WAIT_S = 300.0
"""What a server may ask for and be waited for; beyond that the user should know, and come back."""


def refusal(status: int, headers: Mapping[str, str], repository: str, *, by_hub: bool = True) -> Exception:
    """The error for an answer that is none.

    Args:
        status: of the response. headers: with lower-case names, or a mapping that does not care.
        by_hub: False when another server answered, to which the hub had sent us on: its links run out, so that
            everything it says may be different after asking the hub again.
    """
    who = "the hub" if by_hub else "the hub's storage"
    if status in _TRY_AGAIN or status >= _SERVER_ERROR or not by_hub:
        wait = _seconds(headers.get("retry-after"))
        if wait is not None and wait > LONGEST_WAIT_S:
            return DownloadError(
                f"{repository}: {who} asks to be left alone for {_in_words(wait)}; what has arrived is kept, "
                "come back then"
            )
        return Unsteady(f"{who} answered {status}: {_TRY_AGAIN.get(status, 'it has trouble')}", wait)
    return DownloadError(f"{repository}: {_why(status, headers, repository)}")


def _why(status: int, headers: Mapping[str, str], repository: str) -> str:
    code = headers.get("x-error-code", "")
    if code == "GatedRepo":
        return (
            f"its owner wants you to agree to terms first: open https://huggingface.co/{repository}, accept them, then "
            "log in here with `hf auth login` or set HF_TOKEN"
        )
    if code == "EntryNotFound":
        return "the file is not there any more; update laguna-tui, or name another file in your own models.toml"
    if code == "RevisionNotFound":
        return "the revision that was asked for is gone; update laguna-tui, or change it in your own models.toml"
    if code == "RepoNotFound" or status == 404:
        return "there is no such repository, or it is private; check the name, or log in with `hf auth login`"
    if status == 401:
        return "the hub wants to know who asks; log in with `hf auth login`, or set HF_TOKEN to a token that is valid"
    if status == 403:
        return "your token may not read it; ask its owner, or use a token that may"
    return f"the hub answered {status}; try again later, and report it if it stays so"


def _in_words(wait_s: float) -> str:
    return "days" if wait_s > _DAY_S else f"{wait_s / 60:.0f} minutes"


def _seconds(value: str | None) -> float | None:
    text = (value or "").strip()
    return float(text) if text.isascii() and text.isdigit() else None
