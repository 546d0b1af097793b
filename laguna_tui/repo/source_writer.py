"""Atomic replacement of a file's bytes: readers find the old bytes or the new ones, never a part.

The new bytes are written to a temporary file beside the original, synced and renamed over it. Hard links to the
original keep the old bytes. The temporary file is noted in the user's state folder, so that one left by a killed
process is removed by the next session.
"""

import fcntl
import os
import re
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path

from laguna_engine.files import read_small_file
from laguna_tui.repo.relative_paths import escaped
from laguna_tui.repo.workspace import UnreadableError, Workspace, WorkspaceError

_FILE_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
_NEW_NAME = ".laguna-tui-{}.tmp"
_IS_NEW_NAME = re.compile(r"\.laguna-tui-[0-9a-f]{16}\.tmp")
# A note contains one path.
_NOTE_BYTES = 16 * 1024


class ChangedError(WorkspaceError):
    """The file has changed."""


class NotWrittenError(WorkspaceError):
    """The file cannot be written; it is unchanged."""


class TemporaryFiles:
    """Notes of the temporary files being written, one file each, locked by the writing process.

    Only a file named in a note is removed, and only when the note is unlocked: its writer has died then.
    """

    def __init__(self, folder: Path | None = None) -> None:
        """folder: of the notes; None keeps none."""
        self._folder = folder

    @contextmanager
    def noted(self, path: Path) -> Iterator[None]:
        """Keep a note of a temporary file while it exists. An edit is made even if the note cannot be written."""
        note, held = None, -1
        with suppress(OSError):
            if self._folder is not None:
                self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                note = self._folder / path.name
                held = os.open(note, _NEW_FLAGS, 0o600)
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.write(held, os.fsencode(path))
        try:
            yield
        finally:
            if held >= 0 and note is not None:
                with suppress(OSError):
                    note.unlink()
                os.close(held)

    def sweep(self) -> None:
        """Remove the temporary files left by killed processes, and their notes."""
        for note in self._folder.glob(_NEW_NAME.format("*")) if self._folder is not None else ():
            with suppress(OSError, ValueError):
                self._sweep(note)

    def _sweep(self, note: Path) -> None:
        held = os.open(note, _FILE_FLAGS)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while its writer lives
            path = Path(os.fsdecode(read_small_file(note, _NOTE_BYTES, follow=False)))
            if path.is_absolute() and path.name == note.name and _IS_NEW_NAME.fullmatch(path.name):
                with suppress(FileNotFoundError):
                    status = path.lstat()
                    if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid():
                        path.unlink()
            note.unlink()
        finally:
            os.close(held)


def digest(data: bytes) -> bytes:
    """Return a hash of the bytes."""
    return blake2b(data).digest()


def replace_file(
    workspace: Workspace, inside: str, before: bytes, data: bytes, unfinished: TemporaryFiles | None = None
) -> None:
    """Replace the bytes of a located file; its mode is kept, and where permitted its owner, access control list and
    extended attributes.

    Args:
        workspace: Its folder.
        inside: Its located path.
        before: Digest of the bytes it must have now.
        data: The new bytes.
        unfinished: Notes of temporary files; None keeps none.

    Raises:
        ChangedError: It has other bytes, or is gone.
        NotWrittenError: It is not a regular file, read-only, or the disk refuses.
    """
    try:
        with workspace.holding(inside) as (folder, name):
            status, attributes = _checked(folder, name, inside, before)
            new = _NEW_NAME.format(secrets.token_hex(8))
            noted = (unfinished or TemporaryFiles()).noted((workspace.root / inside).with_name(new))
            with noted, _written(folder, new, data, status, attributes):
                if _identity(os.stat(name, dir_fd=folder, follow_symlinks=False)) != _identity(status):
                    raise _changed(inside)
                os.replace(new, name, src_dir_fd=folder, dst_dir_fd=folder)
            # The change is made; only a power cut at this moment could still undo it.
            with suppress(OSError):
                os.fsync(folder)
    except (FileNotFoundError, UnreadableError) as error:
        raise _changed(inside) from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise NotWrittenError(f"{escaped(inside)} cannot be changed ({reason}); it is as it was") from error


def _checked(folder: int, name: str, inside: str, before: bytes) -> tuple[os.stat_result, dict[str, bytes]]:
    """Status and extended attributes of a file that is writable and has the expected bytes."""
    descriptor = os.open(name, _FILE_FLAGS, dir_fd=folder)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise NotWrittenError(f"{escaped(inside)} is not a regular file; edit another file")
        # The mode is checked as well: the superuser may write to read-only files.
        if not status.st_mode & _WRITABLE:
            raise NotWrittenError(f"{escaped(inside)} is read-only; it has to be made writable first")
        if digest(file.read()) != before:
            raise _changed(inside)
        return status, _attributes(descriptor)


def _attributes(descriptor: int) -> dict[str, bytes]:
    """A file's extended attributes, access control lists included; empty where the system or the disk has none.

    macOS stores its access control lists elsewhere, and Python cannot read its attributes.
    """
    found: dict[str, bytes] = {}
    if hasattr(os, "listxattr"):
        with suppress(OSError):
            for name in os.listxattr(descriptor):
                # An attribute that may not be read cannot be kept.
                with suppress(OSError):
                    found[name] = os.getxattr(descriptor, name)
    return found


@contextmanager
def _written(
    folder: int, name: str, data: bytes, like: os.stat_result, attributes: Mapping[str, bytes]
) -> Iterator[None]:
    """A new file in the folder with these bytes; removed at the end, unless it was renamed."""
    descriptor = os.open(name, _NEW_FLAGS, 0o600, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            with suppress(PermissionError):
                os.fchown(descriptor, like.st_uid, like.st_gid)
            os.fchmod(descriptor, stat.S_IMODE(like.st_mode))
            for attribute, value in attributes.items():
                # Attributes that only the system may set (a security label) it sets itself.
                with suppress(OSError):
                    os.setxattr(descriptor, attribute, value)
            file.flush()
            os.fsync(descriptor)
        yield
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)


def _identity(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size


def _changed(inside: str) -> ChangedError:
    return ChangedError(f"{escaped(inside)} changed since the edit was proposed; read it and call again")
