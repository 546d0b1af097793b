"""A file's bytes replaced at a stroke: who reads it finds the old ones or the new ones, and never a part of them.

The new bytes are written beside the file, brought to the disk and renamed over it. A link elsewhere to the same file
(a hard link) keeps the old bytes. Where the new bytes lie until then is noted in the user's state folder, so that what
a kill leaves behind is removed by the next session.
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
# A note has one path.
_NOTE_BYTES = 16 * 1024


class ChangedError(WorkspaceError):
    """The file is no longer what it was."""


class NotWrittenError(WorkspaceError):
    """The file cannot be changed; it is as it was."""


class TemporaryFiles:
    """Notes of the new files that are being written, one file each, locked by the process that writes.

    Only a file that a note names is removed, and only when nobody holds the note: its writer has died then.
    """

    def __init__(self, folder: Path | None = None) -> None:
        """Take the folder of the notes; None keeps none."""
        self._folder = folder

    @contextmanager
    def noted(self, path: Path) -> Iterator[None]:
        """Keep a note of a new file while it is there. A disk that refuses the note is no reason not to edit."""
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
        """Remove the new files that killed processes left, and their notes."""
        for note in self._folder.glob(_NEW_NAME.format("*")) if self._folder is not None else ():
            with suppress(OSError, ValueError):
                self._sweep(note)

    def _sweep(self, note: Path) -> None:
        held = os.open(note, _FILE_FLAGS)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)  # refused while its writer lives
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
    """What tells these bytes from all others."""
    return blake2b(data).digest()


def replace_file(
    workspace: Workspace, inside: str, before: bytes, data: bytes, unfinished: TemporaryFiles | None = None
) -> None:
    """Give a located file these bytes; its mode stays, and where that is permitted its owner, access control list and
    extended attributes.

    Args:
        before: the digest of the bytes that it has to have now.
        unfinished: notes of what is being written; None keeps none.

    Raises:
        ChangedError: it has other ones, or is gone.
        NotWrittenError: it is no regular file, read-only, or the disk refuses.
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
            # The change is made; only a power cut in this moment could still take it back.
            with suppress(OSError):
                os.fsync(folder)
    except (FileNotFoundError, UnreadableError) as error:
        raise _changed(inside) from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise NotWrittenError(f"{escaped(inside)} cannot be changed ({reason}); it is as it was") from error


def _checked(folder: int, name: str, inside: str, before: bytes) -> tuple[os.stat_result, dict[str, bytes]]:
    """The status and the extended attributes of a file that may be changed and has the expected bytes."""
    descriptor = os.open(name, _FILE_FLAGS, dir_fd=folder)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise NotWrittenError(f"{escaped(inside)} is not a regular file; edit another file")
        # Asked of the mode itself too: the superuser may write to what is meant to stay as it is.
        if not status.st_mode & _WRITABLE:
            raise NotWrittenError(f"{escaped(inside)} is read-only; it has to be made writable first")
        if digest(file.read()) != before:
            raise _changed(inside)
        return status, _attributes(descriptor)


def _attributes(descriptor: int) -> dict[str, bytes]:
    """A file's extended attributes, access control lists among them; none where the system or the disk has none.

    macOS keeps its access control lists elsewhere, and Python cannot read its attributes.
    """
    found: dict[str, bytes] = {}
    if hasattr(os, "listxattr"):
        with suppress(OSError):
            for name in os.listxattr(descriptor):
                # One that may not be read cannot be kept.
                with suppress(OSError):
                    found[name] = os.getxattr(descriptor, name)
    return found


@contextmanager
def _written(
    folder: int, name: str, data: bytes, like: os.stat_result, attributes: Mapping[str, bytes]
) -> Iterator[None]:
    """A new file in the folder with these bytes; it is gone afterwards, unless it was renamed."""
    descriptor = os.open(name, _NEW_FLAGS, 0o600, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            with suppress(PermissionError):
                os.fchown(descriptor, like.st_uid, like.st_gid)
            os.fchmod(descriptor, stat.S_IMODE(like.st_mode))
            for attribute, value in attributes.items():
                # What only the system may set (a security label) it sets itself.
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
