"""Reading a small file that anybody may have put there: settings, notes, lists, ignore files.

A pipe or a terminal in its place would be waited for, a device has no end, and a large file takes the memory: each is
refused at once instead. The application reads its own small files with this too.
"""

import errno
import os
import stat
from pathlib import Path

_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0)
# Opening a pipe would otherwise wait for a writer for ever.
_NO_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
NOT_REGULAR = "it is not a regular file"
TOO_LARGE = "it is larger than {limit:,} bytes"


def read_small_file(path: Path | str, limit: int, *, dir_fd: int | None = None, follow: bool = True) -> bytes:
    """All bytes of a regular file.

    Args:
        path: relative to `dir_fd`, if that is given.
        limit: bytes that it may have.
        follow: whether it may be a link to one.

    Raises:
        OSError: it cannot be read, is not a regular file or is larger; `strerror` says which.
        ValueError: `path` is not a path.
    """
    flags = _FLAGS | _NO_WAITING | (0 if follow else getattr(os, "O_NOFOLLOW", 0))
    descriptor = os.open(path, flags, dir_fd=dir_fd)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, NOT_REGULAR, str(path))
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(limit + 1)
    finally:
        os.close(descriptor)
    if len(data) > limit:
        raise OSError(errno.EFBIG, TOO_LARGE.format(limit=limit), str(path))
    return data
