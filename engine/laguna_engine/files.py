"""Safe reads of small files, and atomic writes: the project's own files, models, and files that the user names.

The application uses it for its files too; a user's source files have a separate writer (`laguna_tui.repo`).
"""

import errno
import glob
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedRandom
from pathlib import Path

_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0)
# Opening a pipe would otherwise block until there is a writer.
_NO_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
NOT_REGULAR = "it is not a regular file"
BROKEN_LINK = "it is a link to a missing file"
_UNFINISHED = ".new"
# With the rest of the name of an unfinished file, at most 255 bytes of UTF-8.
_NAME_CHARS = 50
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
        FileNotFoundError: there is no such file, also because something on the way to it is not a folder.
        OSError: the file cannot be read, is not a regular file or is too large; `strerror` says which.
        ValueError: `path` is not a valid path.
    """
    flags = _FLAGS | _NO_WAITING | (0 if follow else getattr(os, "O_NOFOLLOW", 0))
    try:
        descriptor = os.open(path, flags, dir_fd=dir_fd)
    except NotADirectoryError as error:
        # Nothing is below what is not a folder, such as a home that is /dev/null.
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from error
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
        path: the file; a symbolic link to a regular file is followed.
        data: the whole contents; text is encoded as UTF-8.
        durable: sync to disk first, so that a power cut cannot leave an empty file. Takes milliseconds; not needed for
            data that can be computed again.

    Raises:
        OSError: writing failed, or `path` is not a regular file; nothing was changed.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with replacing(path, durable=durable) as file:
        file.write(_encoded(data))


def write_output(path: Path, data: bytes | str, mode: int = 0o666) -> None:
    """Write to the file that the user named: a device or pipe is written to, any other file is replaced atomically.

    Args:
        path: the file; a symbolic link is followed.
        data: the whole contents; text is encoded as UTF-8.
        mode: permission bits of a new file, before the umask. An existing file keeps its own.

    Raises:
        OSError: writing failed, or `path` is a folder, a socket, a block device or a pipe that nobody reads.
    """
    if not is_stream(path):
        with replacing(path, mode=mode, keep_mode=True) as file:
            file.write(_encoded(data))
        return
    # Without waiting: a pipe that nobody reads is refused.
    descriptor = os.open(path, os.O_WRONLY | _NO_WAITING)
    with os.fdopen(descriptor, "wb", buffering=0) as stream:
        os.set_blocking(descriptor, True)
        left = memoryview(_encoded(data))
        while left:
            left = left[stream.write(left) :]


def is_stream(path: Path) -> bool:
    """Return whether data is written to `path` without replacing it: a character device or a pipe."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


@contextmanager
def replacing(
    path: Path, *, mode: int = 0o600, keep_mode: bool = False, durable: bool = False
) -> Iterator[BufferedRandom]:
    """Open a new file that takes the place of `path` when the block ends without an error.

    Until then it lies beside `path` under a name of its own, so that two processes never write the same file.

    Args:
        path: the file; a symbolic link to a regular file is followed.
        mode: permission bits of the new file, before the umask.
        keep_mode: an existing file keeps its permission bits instead.
        durable: sync to disk first.

    Raises:
        OSError: writing failed, or `path` is not a regular file; nothing was changed.
    """
    target, before = _replaceable(path)
    new = target.with_name(f"{_unfinished_prefix(target)}{os.urandom(8).hex()}{_UNFINISHED}")
    try:
        with open(new, "x+b", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            if keep_mode and before is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode))
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
        _replaceable(target)
        new.replace(target)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def unfinished_files(target: Path) -> list[Path]:
    """Return the unfinished files of `replacing` beside `target`: being written, or left by killed processes."""
    return list(target.parent.glob(f"{glob.escape(_unfinished_prefix(target))}*{_UNFINISHED}"))


def _unfinished_prefix(target: Path) -> str:
    return f".{target.name[:_NAME_CHARS]}."


def _replaceable(path: Path) -> tuple[Path, os.stat_result | None]:
    """Return the path to rename to, and the status of the regular file that is there; None if nothing is.

    Raises:
        OSError: something else is there: renaming would replace a device by a file.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        if path.is_symlink():
            raise OSError(errno.ENOENT, BROKEN_LINK, str(path)) from None
        return path, None
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, NOT_REGULAR, str(path))
    if not path.is_symlink():
        return path, status
    # The system refuses to follow another user's link in a shared folder; realpath would not.
    os.close(os.open(path, os.O_WRONLY | _NO_WAITING))
    return Path(os.path.realpath(path)), status


def _encoded(data: bytes | str) -> bytes:
    return data.encode() if isinstance(data, str) else data
