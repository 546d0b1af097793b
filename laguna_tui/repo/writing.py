"""A file's bytes replaced at a stroke: who reads it finds the old ones or the new ones, and never a part of them.

The new bytes are written beside the file, brought to the disk and renamed over it. A link elsewhere to the same file
(a hard link) keeps the old bytes.
"""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b

from laguna_tui.repo.names import shown
from laguna_tui.repo.workspace import UnreadableError, Workspace, WorkspaceError

_FILE_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
# Names that begin like this are what a crash in the middle of a change leaves behind.
_NEW_NAME = ".laguna-tui-{}.tmp"


class ChangedError(WorkspaceError):
    """The file is no longer what it was."""


class NotWrittenError(WorkspaceError):
    """The file cannot be changed; it is as it was."""


def digest(data: bytes) -> bytes:
    """What tells these bytes from all others."""
    return blake2b(data).digest()


def replace_file(workspace: Workspace, inside: str, before: bytes, data: bytes) -> None:
    """Give a located file these bytes; its mode stays, and its owner where that is permitted.

    Args:
        before: the digest of the bytes that it has to have now.

    Raises:
        ChangedError: it has other ones, or is gone.
        NotWrittenError: it is no regular file, read-only, or the disk refuses.
    """
    try:
        with workspace.holding(inside) as (folder, name):
            status = _checked(folder, name, inside, before)
            with _written(folder, data, status) as new:
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
        raise NotWrittenError(f"{shown(inside)} cannot be changed ({reason}); it is as it was") from error


def _checked(folder: int, name: str, inside: str, before: bytes) -> os.stat_result:
    """The status of a file that may be changed and has the expected bytes."""
    descriptor = os.open(name, _FILE_FLAGS, dir_fd=folder)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise NotWrittenError(f"{shown(inside)} is not a regular file; edit another file")
        # Asked of the mode itself too: the superuser may write to what is meant to stay as it is.
        if not status.st_mode & _WRITABLE:
            raise NotWrittenError(f"{shown(inside)} is read-only; it has to be made writable first")
        if digest(file.read()) != before:
            raise _changed(inside)
    return status


@contextmanager
def _written(folder: int, data: bytes, like: os.stat_result) -> Iterator[str]:
    """The name of a new file in the folder with these bytes; it is gone afterwards, unless it was renamed."""
    name = _NEW_NAME.format(secrets.token_hex(8))
    descriptor = os.open(name, _NEW_FLAGS, 0o600, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            with suppress(PermissionError):
                os.fchown(descriptor, like.st_uid, like.st_gid)
            os.fchmod(descriptor, stat.S_IMODE(like.st_mode))
            file.flush()
            os.fsync(descriptor)
        yield name
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)


def _identity(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size


def _changed(inside: str) -> ChangedError:
    return ChangedError(f"{shown(inside)} changed since the edit was proposed; read it and call again")
