"""Which folders the user trusts: whose AGENTS.md may speak to the model.

Kept in one private file in the user's state folder, never in the folder that is asked about; a folder cannot trust
itself. Trust is for a project: the repository that a folder lies in, else the folder itself. It covers everything below
it, but ends where another repository begins, so that a clone put into a trusted folder is asked about again. Paths are
compared with every link resolved. A file that is damaged, or that others can write, counts as if it named no folder.
"""

import json
import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from laguna_tui.errors import UserError
from laguna_tui.text import sanitize_line

FILE = "trusted.json"
"""The file's name in the state folder."""
_VERSION = 1
# Thousands of folders take less; what is larger is no list of ours.
_LIMIT_BYTES = 1024 * 1024
# Another process changes the list in a few milliseconds.
_LOCK_S = 10.0
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH

DAMAGED = "no folder is trusted, because {path} {reason}; trust folders again, and the file is begun anew"
TOO_WIDE = "{folder} holds everything of yours, so it cannot be trusted as a whole; trust one project's folder"
NOT_KEPT = "the trusted folders cannot be kept in {path} ({reason}); make that place writable"
THROUGH_ANOTHER = "{folder} is trusted because {other} is; run: laguna-tui trust {other} --revoke"


class Trust:
    """The list of trusted folders. Reads the file whenever it is asked, so that other processes' changes count.

    state: the user's state folder; None means that nothing is kept, and nothing trusted.
    """

    def __init__(self, state: Path | None) -> None:
        self._path = state / FILE if state is not None else None

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about the list, as sentences."""
        note = self._read()[1]
        return (note,) if note else ()

    def folders(self) -> tuple[Path, ...]:
        """The folders that were trusted, sorted."""
        return tuple(Path(folder) for folder in sorted(self._read()[0]))

    def covers(self, folder: Path) -> bool:
        """Whether a folder is trusted, itself or with one around it."""
        return self._through(folder, self._read()[0]) is not None

    def grant(self, folder: Path) -> Path:
        """Trust a folder's project; returns what is trusted now.

        Raises:
            UserError: it is too wide, or the list cannot be kept.
        """
        root = project_root(folder)
        if _too_wide(root):
            raise UserError(TOO_WIDE.format(folder=root))
        self._change(lambda trusted: trusted | {str(root)})
        return root

    def revoke(self, folder: Path) -> Path | None:
        """Trust a folder's project no more; returns what was trusted, None when it was not.

        Raises:
            UserError: it stays trusted with a folder around it; or the list cannot be kept.
        """
        # As it was written, for a folder that is gone or a link to elsewhere by now.
        named = {str(project_root(folder)), str(folder.absolute())}
        trusted = self._read()[0]
        if not named & trusted:
            other = self._through(folder, trusted)
            if other is not None:
                raise UserError(sanitize_line(THROUGH_ANOTHER.format(folder=folder, other=other)))
            return None
        self._change(lambda current: current - named)
        return Path(min(named & trusted))

    def _through(self, folder: Path, trusted: frozenset[str]) -> Path | None:
        """The trusted folder that covers a folder."""
        real = Path(os.path.realpath(folder))
        for place in (real, *real.parents):
            if str(place) in trusted and not _too_wide(place):
                return place
            if _has_repository(place):
                return None
        return None

    def _read(self) -> tuple[frozenset[str], str]:
        """The list, and a sentence about the file if it cannot be believed."""
        if self._path is None:
            return frozenset(), ""
        try:
            return _listed(self._path), ""
        except FileNotFoundError:
            return frozenset(), ""
        except OSError as error:
            reason = f"cannot be read ({error.strerror})"
        except ValueError as error:
            reason = str(error)
        return frozenset(), DAMAGED.format(path=self._path, reason=reason)

    def _change(self, change: Callable[[frozenset[str]], frozenset[str]]) -> None:
        """Write the list anew, alone among all processes; a damaged file is moved aside first."""
        if self._path is None:
            raise UserError(NOT_KEPT.format(path="memory", reason="this session keeps no state"))
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with FileLock(f"{self._path}.lock", timeout=_LOCK_S):
                trusted, damage = self._read()
                if damage:
                    self._path.replace(self._path.with_suffix(".damaged"))
                _write(self._path, change(trusted))
        except Timeout as error:
            reason = "another laguna-tui is writing it"
            raise UserError(NOT_KEPT.format(path=self._path, reason=reason)) from error
        except OSError as error:
            raise UserError(NOT_KEPT.format(path=self._path, reason=error.strerror or error)) from error


def project_root(folder: Path) -> Path:
    """The repository's top folder, links resolved; outside of one, the folder itself.

    A home folder that is a repository (of settings, mostly) makes no project of everything in it.
    """
    real = Path(os.path.realpath(folder))
    for place in (real, *real.parents):
        if _too_wide(place):
            break
        if _has_repository(place):
            return place
    return real


def _has_repository(place: Path) -> bool:
    """Whether a repository begins here: `.git` is a folder, or a file in worktrees and submodules."""
    return os.path.lexists(place / ".git")


def _too_wide(place: Path) -> bool:
    """Whether a folder is the user's home or holds it; the top of all folders always is."""
    with suppress(RuntimeError):  # the user may have no home
        return Path(os.path.realpath(Path.home())).is_relative_to(place)
    return place == place.parent


def _listed(path: Path) -> frozenset[str]:
    """The folders in the file; ValueError says why it cannot be believed."""
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        if status.st_mode & _OTHERS_WRITE or status.st_uid not in (os.getuid(), 0):
            raise ValueError("can be written by others")
        data = file.read(_LIMIT_BYTES + 1)
    if len(data) > _LIMIT_BYTES:
        raise ValueError("is too large")
    try:
        table = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError("is damaged") from error
    folders = table.get("folders") if isinstance(table, dict) and table.get("version") == _VERSION else None
    if not isinstance(folders, list) or not all(isinstance(each, str) and each.startswith("/") for each in folders):
        raise ValueError("is no list of folders")
    return frozenset(folders)


def _write(path: Path, folders: frozenset[str]) -> None:
    """Replace the file in one step: whoever reads it sees the old list or the new one."""
    text = json.dumps({"version": _VERSION, "folders": sorted(folders)}, indent=1)
    # mkstemp creates the file with mode 0600.
    descriptor, temporary = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except OSError:
        with suppress(OSError):
            Path(temporary).unlink()
        raise
