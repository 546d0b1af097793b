"""A private file that one process has open: locked with flock(2), which ends with the process however it ends.

A process that lists sessions holds a lock for a moment, so opening is tried a few times.
"""

import errno
import fcntl
import os
import stat
import time
from contextlib import suppress
from pathlib import Path

# Opening a pipe would otherwise wait for a writer; links are refused.
_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_TRIES, _PAUSE_S = 5, 0.02


def open_private(path: Path, flags: int) -> int:
    """Return a descriptor of a regular file of this user.

    Args:
        path: The file; created with mode 0600 where `flags` say so.
        flags: As of open(2).

    Raises:
        OSError: It is missing, a link or no regular file, belongs to another user, or cannot be opened.
    """
    held = os.open(path, flags | _FLAGS, 0o600)
    try:
        status = os.fstat(held)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        if status.st_uid != os.geteuid():
            raise OSError(errno.EPERM, "it belongs to another user", str(path))
    except BaseException:
        os.close(held)
        raise
    return held


def open_locked(path: Path, flags: int = os.O_RDWR) -> int:
    """Return a descriptor of a file, locked until it is closed. Raises as `open_private` does.

    Raises:
        BlockingIOError: Another process has it open.
    """
    held = open_private(path, flags)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # It may have been removed before it was locked.
        if os.fstat(held).st_ino != path.lstat().st_ino:
            raise OSError(errno.ESTALE, "it was replaced", str(path))
    except BaseException:
        os.close(held)
        raise
    return held


def open_locked_soon(path: Path, flags: int = os.O_RDWR) -> int:
    """Return what `open_locked` does, but retry while another process tests the lock. Raises as it does."""
    for _ in range(_TRIES):
        with suppress(BlockingIOError):
            return open_locked(path, flags)
        time.sleep(_PAUSE_S)
    return open_locked(path, flags)


def is_locked(path: Path) -> bool:
    """Return whether a process has a file open that it opened by `open_locked`.

    Raises:
        OSError: It cannot be opened.
    """
    held = open_private(path, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(held)
    return False


def excludes_others(path: Path) -> bool:
    """Return whether the lock that this process holds on a file is refused to whoever opens the file again.

    Raises:
        OSError: The file cannot be opened.
    """
    again = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # the disk has no locks
        return False
    finally:
        os.close(again)
    return False


def sync_folder(folder: Path) -> None:
    """Flush a folder's list of files to the disk, so that a power cut does not lose a new one. Raises OSError."""
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(held)
    finally:
        os.close(held)


def reason(error: OSError) -> str:
    """Return the system's message as a part of a sentence: "no space left on device"."""
    return (error.strerror or str(error)).lower()
