"""The project's own small files (settings, records, caches): reading one safely and replacing one atomically.

The application uses this for its files too; a user's source files have a writer of their own (`laguna_tui.repo`).
"""

import errno
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0)
# Opening a pipe would otherwise wait for a writer for ever.
_NO_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
NOT_REGULAR = "it is not a regular file"
TOO_LARGE = "it is larger than {limit:,} bytes"


def read_small_file(
    path: Path | str,
    limit: int,
    *,
    dir_fd: int | None = None,
    follow: bool = True,
    check: Callable[[os.stat_result], None] | None = None,
) -> bytes:
    """All bytes of a regular file.

    Anybody may have put the file there. A pipe or a terminal would block the reader, a device has no end, and a large
    file takes the memory: each is refused at once instead.

    Args:
        path: relative to `dir_fd`, if that is given.
        limit: bytes that it may have.
        follow: whether it may be a link to one.
        check: called with the status of the opened file before it is read; raises to refuse it.

    Raises:
        OSError: it cannot be read, is not a regular file or is larger; `strerror` says which.
        ValueError: `path` is not a path.
    """
    flags = _FLAGS | _NO_WAITING | (0 if follow else getattr(os, "O_NOFOLLOW", 0))
    descriptor = os.open(path, flags, dir_fd=dir_fd)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, NOT_REGULAR, str(path))
        if check is not None:
            check(status)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(limit + 1)
    finally:
        os.close(descriptor)
    if len(data) > limit:
        raise OSError(errno.EFBIG, TOO_LARGE.format(limit=limit), str(path))
    return data


def write_atomically(path: Path, data: bytes | str, *, durable: bool = False) -> None:
    """Replace a file in one step: a reader sees the old bytes or the new ones, never a part of them.

    Only its owner may read the new file (mode 0600). A missing parent folder is made, private too.

    Args:
        data: the whole contents; text is encoded as UTF-8.
        durable: bring the bytes to the disk first, so that a power cut cannot leave an empty file either. Takes
            milliseconds; leave it out for what can be found out again.

    Raises:
        OSError: the file is as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # mkstemp creates the file with mode 0600.
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".new")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
            if durable:
                file.flush()
                os.fsync(descriptor)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
