"""Trusted folders, and the texts they were trusted with: whose AGENTS.md may instruct the model.

Saved in one private file in the user's state folder, never in the folder itself, which must not trust itself. Trust is
for a project: the repository that a folder is in, else the folder itself. It covers everything below it, but ends where
another repository begins, so that a clone put into a trusted folder is asked about again. Paths are compared with every
link resolved. A file that is damaged, or that others can write, counts as an empty list.

A project is trusted with the hashes of its files' contents: whatever a pull brings, or another project at that path
says, is asked about again. The texts are saved beside the list, so that the difference can be shown.
"""

import hashlib
import json
import os
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec
from filelock import FileLock, Timeout

from laguna_engine.files import read_small_file, write_atomically
from laguna_tui.base.errors import UserError
from laguna_tui.base.paths import too_wide_reason
from laguna_tui.base.text import sanitize_line

FILE = "trusted.json"
"""The file's name in the state folder."""
TEXTS = "trusted"
"""The folder in the state folder with the texts that were trusted, each named by its hash."""
_VERSION = 2
_VERSION_WITHOUT_HASHES = 1
# Thousands of folders take less.
_LIMIT_BYTES = 1024 * 1024
# Another process changes the list in a few milliseconds.
_LOCK_S = 10.0
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH

DAMAGED = "no folder is trusted, because {path} {reason}; trust your folders again to replace the file"
TOO_WIDE = "{folder} contains all your files, so it cannot be trusted as a whole; trust one project's folder"
NO_STATE = "no folder can be trusted in a session that saves no state"
NOT_KEPT = "the trusted folders cannot be saved in {path} ({reason}); make it writable"
THROUGH_ANOTHER = "{folder} is trusted because {other} is; run: laguna-tui trust {other} --revoke"

_Digests = dict[str, str]
_Folders = dict[str, _Digests | None]


@dataclass(frozen=True, slots=True)
class Trusted:
    """A folder that was trusted.

    Attributes:
        folder: without links in its path.
        digests: the hash of each file that was trusted, by its path below the folder; None when an earlier version
            trusted it, which saved none: nothing is accepted then.
    """

    folder: Path
    digests: Mapping[str, str] | None

    def digest(self, file: Path) -> str | None:
        """Return the hash that a file had when it was trusted; None when it was not."""
        return (self.digests or {}).get(file.relative_to(self.folder).as_posix())

    def accepts(self, file: Path, data: bytes) -> bool:
        """Return whether a file was trusted with exactly these bytes."""
        return self.digest(file) == digest_of(data)


class Trust:
    """The list of trusted folders. Reads the file at every query, so that other processes' changes count."""

    def __init__(self, state: Path | None) -> None:
        self._path = state / FILE if state is not None else None

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what the user should know about the list, as sentences."""
        note = self._read()[1]
        return (note,) if note else ()

    def folders(self) -> tuple[Path, ...]:
        return tuple(Path(folder) for folder in sorted(self._read()[0]))

    def covers(self, folder: Path) -> bool:
        """Return whether a folder is trusted, itself or with one around it, with hashes of its files."""
        trusted = self.of(folder)
        return trusted is not None and trusted.digests is not None

    def of(self, folder: Path) -> Trusted | None:
        """Return the trusted folder that covers a folder; None if none does."""
        listed = self._read()[0]
        place = self._through(folder, listed)
        return None if place is None else Trusted(place, listed[str(place)])

    def grant(self, folder: Path, texts: Mapping[str, bytes | None] | None = None) -> Path:
        """Trust a folder's project with these texts; returns the trusted folder.

        Args:
            folder: the folder, or one inside its project.
            texts: bytes by the file's path below the project's top folder; None for a missing file. Other files stay
                trusted as they were.

        Raises:
            UserError: it is too wide, or the list cannot be written.
        """
        root = project_root(folder)
        if too_wide_reason(root):
            raise UserError(TOO_WIDE.format(folder=root))
        given = texts or {}

        def granted(listed: _Folders) -> _Folders:
            stay = {path: digest for path, digest in (listed.get(str(root)) or {}).items() if path not in given}
            now = {path: self._keep(data) for path, data in given.items() if data is not None}
            return {**listed, str(root): {**stay, **now}}

        self._change(granted)
        return root

    def text(self, digest: str) -> bytes | None:
        """Return the text that was trusted under a hash; None when it is no longer saved."""
        if self._path is None:
            return None
        try:
            data = read_small_file(self._path.parent / TEXTS / digest, _LIMIT_BYTES)
        except (OSError, ValueError):
            return None
        return data if digest_of(data) == digest else None

    def revoke(self, folder: Path) -> Path | None:
        """Trust a folder's project no more; returns what was trusted, None when it was not.

        Raises:
            UserError: it stays trusted with a folder around it; or the list cannot be kept.
        """
        # Also as written, for a folder that is gone or has become a link.
        named = {str(project_root(folder)), str(folder.absolute())}
        trusted = self._read()[0]
        if not named & trusted.keys():
            other = self._through(folder, trusted)
            if other is not None:
                raise UserError(sanitize_line(THROUGH_ANOTHER.format(folder=folder, other=other)))
            return None
        self._change(lambda current: {place: kept for place, kept in current.items() if place not in named})
        return Path(min(named & trusted.keys()))

    def _through(self, folder: Path, trusted: _Folders) -> Path | None:
        """Return the trusted folder that covers a folder."""
        real = Path(os.path.realpath(folder))
        for place in (real, *real.parents):
            if str(place) in trusted and not too_wide_reason(place):
                return place
            if _has_repository(place):
                return None
        return None

    def _read(self) -> tuple[_Folders, str]:
        """Return the list, and a sentence about the file if it cannot be used."""
        if self._path is None:
            return {}, ""
        try:
            return _listed(self._path), ""
        except FileNotFoundError:
            return {}, ""
        except OSError as error:
            reason = f"cannot be read ({error.strerror})"
        except ValueError as error:
            reason = str(error)
        return {}, DAMAGED.format(path=self._path, reason=reason)

    def _keep(self, data: bytes) -> str:
        """Keep a text that is trusted now, readable by the user alone; its hash."""
        assert self._path is not None, "a list that is kept nowhere is not changed"
        digest = digest_of(data)
        texts = self._path.parent / TEXTS
        write_atomically(texts / digest, data, durable=True)
        return digest

    def _forget_texts(self, listed: _Folders) -> None:
        """Delete the texts that nothing is trusted with any more."""
        assert self._path is not None, "a list that is kept nowhere is not changed"
        used = {digest for digests in listed.values() for digest in (digests or {}).values()}
        for path in (self._path.parent / TEXTS).glob("*"):
            if path.name not in used:
                with suppress(OSError):
                    path.unlink()

    def _change(self, change: Callable[[_Folders], _Folders]) -> None:
        """Change the list under a lock; a damaged file is moved aside first."""
        if self._path is None:
            raise UserError(NO_STATE)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with FileLock(f"{self._path}.lock", timeout=_LOCK_S):
                trusted, damage = self._read()
                if damage:
                    self._path.replace(self._path.with_suffix(".damaged"))
                changed = change(trusted)
                _write(self._path, changed)
                self._forget_texts(changed)
        except Timeout as error:
            reason = "another laguna-tui is writing it"
            raise UserError(NOT_KEPT.format(path=self._path, reason=reason)) from error
        except OSError as error:
            raise UserError(NOT_KEPT.format(path=self._path, reason=error.strerror or error)) from error


def project_root(folder: Path) -> Path:
    """Return the repository's top folder, links resolved; outside of one, the folder itself.

    A home folder that is a repository (of settings, mostly) does not make a project of everything in it.
    """
    real = Path(os.path.realpath(folder))
    for place in (real, *real.parents):
        if too_wide_reason(place):
            break
        if _has_repository(place):
            return place
    return real


def _has_repository(place: Path) -> bool:
    """Return whether a repository begins here: `.git` is a folder, or a file in worktrees and submodules."""
    return os.path.lexists(place / ".git")


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class _FileVersion(msgspec.Struct):
    """The version of the file, whose form a later one may change."""

    version: int = 0


class _Saved(msgspec.Struct):
    """The file; version 1 has a list of folders without hashes."""

    folders: _Folders | list[str]


def _listed(path: Path) -> _Folders:
    """Return the folders in the file; ValueError says why it cannot be used."""
    data = read_small_file(path, _LIMIT_BYTES, check=_check_owner)
    try:
        # Not by msgspec, which refuses names that are not text.
        table = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError("is damaged") from error
    try:
        version = msgspec.convert(table, _FileVersion).version
        if version > _VERSION:
            raise ValueError("was written by a newer laguna-tui")
        saved = msgspec.convert(table, _Saved).folders
    except msgspec.ValidationError as error:
        raise ValueError("is not a list of folders") from error
    folders: _Folders = dict.fromkeys(saved) if isinstance(saved, list) else saved
    if isinstance(saved, list) != (version == _VERSION_WITHOUT_HASHES) or not all(map(os.path.isabs, folders)):
        raise ValueError("is not a list of folders")
    return folders


def _check_owner(status: os.stat_result) -> None:
    if status.st_mode & _OTHERS_WRITE or status.st_uid not in (os.getuid(), 0):
        raise ValueError("can be written by others")


def _write(path: Path, folders: _Folders) -> None:
    text = json.dumps({"version": _VERSION, "folders": folders}, indent=1, sort_keys=True)
    write_atomically(path, f"{text}\n", durable=True)
