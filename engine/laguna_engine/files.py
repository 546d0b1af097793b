"""Safe reads and atomic writes of the project's own small files (settings, records, caches).

The application uses it for its files too; a user's source files have a separate writer (`laguna_tui.repo`).
"""

import errno
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0)
# Opening a pipe would otherwise block until there is a writer.
_NO_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
NOT_REGULAR = "it is not a regular file"
_PIECE_BYTES = 1 << 20
TOO_LARGE = "it is larger than {limit:,} bytes"


def read_small_file(
    path: Path | str,
    limit: int,
    *,
    dir_fd: int | None = None,
    follow: bool = True,
    check: Callable[[os.stat_result], None] | None = None,
) -> bytes:
    """Read a regular file of limited size.

    The file is untrusted: a pipe or a terminal would block, a device has no end, and a large file would exhaust memory,
    so all of them are refused at once.

    Args:
        path: relative to `dir_fd` if given.
        limit: largest size in bytes.
        dir_fd: descriptor of a folder.
        follow: whether symbolic links are followed.
        check: called with the status of the open file before it is read; may raise to refuse it.

    Raises:
        OSError: the file cannot be read, is not a regular file or is too large; `strerror` says which.
        ValueError: `path` is not a valid path.
    """
    flags = _FLAGS | _NO_WAITING | (0 if follow else getattr(os, "O_NOFOLLOW", 0))
    descriptor = os.open(path, flags, dir_fd=dir_fd)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, NOT_REGULAR, str(path))
        if check is not None:
            check(status)
        data = bytearray()
        # The size of a file of the system is known only once it was read.
        while max(status.st_size, len(data)) <= limit and (piece := os.read(descriptor, _PIECE_BYTES)):
            data += piece
    finally:
        os.close(descriptor)
    if max(status.st_size, len(data)) > limit:
        raise OSError(errno.EFBIG, TOO_LARGE.format(limit=limit), str(path))
    return bytes(data)


def write_atomically(path: Path, data: bytes | str, *, durable: bool = False) -> None:
    """Replace a file atomically: a reader sees either the old or the new contents.

    The new file has mode 0600. A missing parent folder is created, with mode 0700.

    Args:
        path: the file.
        data: the whole contents; text is encoded as UTF-8.
        durable: sync to disk first, so that a power cut cannot leave an empty file. Takes milliseconds; not needed for
            data that can be computed again.

    Raises:
        OSError: writing failed; the file is unchanged.
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
