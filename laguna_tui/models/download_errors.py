"""Errors of a download, and the hub's error responses as sentences for the user."""

import errno
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from laguna_tui.base.errors import UserError


class DownloadError(UserError):
    """A download cannot continue; received bytes are kept, and the message says what to do."""


class DiskFullError(DownloadError):
    """The disk has no room for the rest of the download."""


@dataclass
class Unsteady(Exception):
    """A temporary network error; a retry may succeed.

    Attributes:
        reason: What happened, as part of a sentence.
        wait_s: Seconds that the server asks to wait, if it does.
        progressed: New bytes were received before it.
    """

    reason: str
    wait_s: float | None = None
    progressed: bool = False


def disk_error(error: OSError, folder: Path) -> DownloadError:
    """Return the error to raise for an OSError of the disk that the store is on."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFullError(
            f"{folder}: the disk is full; the download so far is kept: make room and try again, or move the "
            "models to another disk with LAGUNA_TUI_MODELS=FOLDER"
        )
    where = error.filename or folder
    return DownloadError(f"{where}: {error.strerror or error}; check the disk and its permissions, then run it again")


_TRY_AGAIN = {408: "it timed out", 425: "it was too early", 429: "too many requests"}
_SERVER_ERROR = 500
_DAY_S = 86400
LONGEST_WAIT_S = 300.0
"""Longest Retry-After to wait for; beyond it the download ends with an error."""


def refusal(status: int, headers: Mapping[str, str], repository: str, *, by_hub: bool = True) -> Exception:
    """Return the error for a response without content.

    Args:
        status: HTTP status.
        headers: Lower-case names, or a case-insensitive mapping.
        repository: "owner/name", for the message.
        by_hub: False when the hub redirected to another server that answered. Its links expire, so any status may
            change after the hub is asked again.
    """
    who = "the hub" if by_hub else "the hub's storage"
    if status in _TRY_AGAIN or status >= _SERVER_ERROR or not by_hub:
        wait = _seconds(headers.get("retry-after"))
        if wait is not None and wait > LONGEST_WAIT_S:
            return DownloadError(
                f"{repository}: {who} asks to wait {_in_words(wait)}; the download so far is kept, so run the same "
                "command again after that"
            )
        return Unsteady(f"{who} answered {status}: {_TRY_AGAIN.get(status, 'server error')}", wait)
    return DownloadError(f"{repository}: {_why(status, headers, repository)}")


def _why(status: int, headers: Mapping[str, str], repository: str) -> str:
    code = headers.get("x-error-code", "")
    if code == "GatedRepo":
        return (
            f"its owner requires you to accept terms: open https://huggingface.co/{repository}, accept them, then "
            "log in here with `hf auth login` or set HF_TOKEN"
        )
    if code == "EntryNotFound":
        return "the file was removed from the hub; update laguna-tui, or name another file in your own models.toml"
    if code == "RevisionNotFound":
        return "the revision does not exist; update laguna-tui, or change it in your own models.toml"
    if code == "RepoNotFound" or status == 404:
        return "the repository does not exist, or is private; check the name, or log in with `hf auth login`"
    if status == 401:
        return "the hub requires a login; run `hf auth login`, or set HF_TOKEN to a valid token"
    if status == 403:
        return "your token has no access to it; ask its owner, or use another token"
    return f"the hub answered {status}; try again later, and report it if it persists"


def _in_words(wait_s: float) -> str:
    return "days" if wait_s > _DAY_S else f"{wait_s / 60:.0f} minutes"


def _seconds(value: str | None) -> float | None:
    text = (value or "").strip()
    return float(text) if text.isascii() and text.isdigit() else None
