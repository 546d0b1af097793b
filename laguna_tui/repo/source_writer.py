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
            with noted, _written(folder, new, data, stat.S_IMODE(status.st_mode), (status, attributes)):
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


def put_file(
    workspace: Workspace,
    inside: str,
    data: bytes,
    mode: int,
    expected: os.stat_result | None,
    unfinished: TemporaryFiles | None = None,
) -> None:
    """Put a file at a path, atomically; its folder exists.

    Args:
        workspace: Its folder.
        inside: Its path, without links on the way.
        data: Its bytes.
        mode: Its permission bits.
        expected: Status of the file or link that it replaces, whose owner and attributes a file keeps; None where
            nothing may be.
        unfinished: Notes of temporary files; None keeps none.

    Raises:
        ChangedError: Something else is there now.
        OSError: The disk refuses; what was there is unchanged.
        WorkspaceError: Its folder is missing or behind a link.
    """
    with workspace.holding(inside) as (folder, name):
        new = _NEW_NAME.format(secrets.token_hex(8))
        noted = (unfinished or TemporaryFiles()).noted((workspace.root / inside).with_name(new))
        with noted, _written(folder, new, data, mode, _likeness(folder, name, expected)):
            _put(folder, new, name, inside, expected)


def put_link(workspace: Workspace, inside: str, target: bytes, expected: os.stat_result | None) -> None:
    """Put a symbolic link at a path, atomically. Arguments and errors as of `put_file`."""
    with workspace.holding(inside) as (folder, name):
        new = _NEW_NAME.format(secrets.token_hex(8))
        os.symlink(target, os.fsencode(new), dir_fd=folder)
        try:
            _put(folder, new, name, inside, expected)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(new, dir_fd=folder)


def remove_file(workspace: Workspace, inside: str, expected: os.stat_result) -> None:
    """Remove a file or link. Arguments and errors as of `put_file`."""
    with workspace.holding(inside) as (folder, name):
        _check_same(folder, name, inside, expected)
        os.unlink(name, dir_fd=folder)


def _put(folder: int, new: str, name: str, inside: str, expected: os.stat_result | None) -> None:
    """Rename a new file or link; it never takes the place of anything unexpected."""
    if expected is not None:
        _check_same(folder, name, inside, expected)
        os.replace(new, name, src_dir_fd=folder, dst_dir_fd=folder)
    else:
        try:
            os.link(new, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        except FileExistsError as error:
            raise _changed(inside) from error
        except OSError:  # no hard links there
            if os.access(name, os.F_OK, dir_fd=folder, follow_symlinks=False):
                raise _changed(inside) from None
            os.rename(new, name, src_dir_fd=folder, dst_dir_fd=folder)
    with suppress(OSError):
        os.fsync(folder)


def _check_same(folder: int, name: str, inside: str, expected: os.stat_result) -> None:
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError as error:
        raise _changed(inside) from error
    if _identity(found) != _identity(expected):
        raise _changed(inside)


def _likeness(
    folder: int, name: str, expected: os.stat_result | None
) -> tuple[os.stat_result, Mapping[str, bytes]] | None:
    """Status and attributes of a regular file that may be read."""
    if expected is None or not stat.S_ISREG(expected.st_mode):
        return None
    try:
        descriptor = os.open(name, _FILE_FLAGS & ~os.O_RDWR | os.O_RDONLY, dir_fd=folder)
    except OSError:
        return expected, {}
    try:
        return expected, _attributes(descriptor)
    finally:
        os.close(descriptor)


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
    folder: int, name: str, data: bytes, mode: int, like: tuple[os.stat_result, Mapping[str, bytes]] | None
) -> Iterator[None]:
    """A new file in the folder with these bytes; removed at the end, unless it was renamed.

    like: status and extended attributes of the file whose owner and attributes it gets, where permitted.
    """
    descriptor = os.open(name, _NEW_FLAGS, 0o600, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            if like is not None:
                with suppress(PermissionError):
                    os.fchown(descriptor, like[0].st_uid, like[0].st_gid)
            os.fchmod(descriptor, mode)
            for attribute, value in like[1].items() if like is not None else ():
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
