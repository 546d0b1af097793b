"""Atomic changes of files: readers find the old bytes or the new ones, never a part, and no file is overwritten unseen.

New bytes are written to a temporary file beside the original, synced and renamed over it; a new file is linked to its
name, which fails where something else has that name. Hard links to the original keep the old bytes. The temporary file
is noted in the user's state folder, so that one left by a killed process is removed by the next session.
"""

import errno
import fcntl
import os
import re
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType

from laguna_engine.files import read_small_file
from laguna_tui.base.locked_file import excludes_others
from laguna_tui.base.own_changes import announce
from laguna_tui.base.paths import escaped
from laguna_tui.repo.files.root_folder import RootFolder
from laguna_tui.repo.files.workspace import UnreadableError, Workspace, WorkspaceError

_FILE_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
_NEW_NAME = ".laguna-tui-{}.tmp"
_IS_NEW_NAME = re.compile(r"\.laguna-tui-[0-9a-f]{16}\.tmp")
# What disks without hard links say, and systems that forbid links to other people's files.
_NO_LINKS = frozenset({errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK})
# A note contains one path.
_NOTE_BYTES = 16 * 1024


class ChangedError(WorkspaceError):
    """The file has changed, or something else has its name now."""


class NotWrittenError(WorkspaceError):
    """The change cannot be made; everything is unchanged."""


class TemporaryFiles:
    """Notes of the temporary files being written, one file each, locked by the writing process.

    Only a file named in a note is removed, and only when the note is unlocked: its writer has died then.
    """

    def __init__(self, folder: Path | None = None) -> None:
        """Take the folder of the notes; None keeps none."""
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
            if not excludes_others(note):
                return  # its writer may live
            path = Path(os.fsdecode(read_small_file(note, _NOTE_BYTES, follow=False)))
            if path.is_absolute() and path.name == note.name and _IS_NEW_NAME.fullmatch(path.name):
                with suppress(FileNotFoundError):
                    status = path.lstat()
                    if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid():
                        path.unlink()
            note.unlink()
        finally:
            os.close(held)


def temporary_name() -> str:
    return _NEW_NAME.format(secrets.token_hex(8))


def digest(data: bytes) -> bytes:
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
    with _refusing(inside, "changed", "it is as it was"), workspace.holding(inside) as (folder, name):
        status, attributes = _checked(folder, name, inside, before)
        new = temporary_name()
        noted = (unfinished or TemporaryFiles()).noted((workspace.root / inside).with_name(new))
        with noted, written(folder, new, data, status, attributes):
            check_same(folder, name, inside, status)
            os.replace(new, name, src_dir_fd=folder, dst_dir_fd=folder)
        _sync(folder)


def create_file(workspace: Workspace, inside: str, data: bytes, unfinished: TemporaryFiles | None = None) -> None:
    """Make a new file, and its missing folders, with the usual mode of new files.

    Args:
        workspace: Its folder.
        inside: Its located path.
        data: Its bytes.
        unfinished: Notes of temporary files; None keeps none.

    Raises:
        ChangedError: Something has its name already.
        NotWrittenError: A part of its path is no folder, or the disk refuses.
    """
    new = temporary_name()
    announce(workspace.root / inside)
    try:
        with RootFolder(workspace.root, workspace.identity) as tree, _folders(tree, inside):
            folder, name = tree.holding(inside)
            noted = (unfinished or TemporaryFiles()).noted((workspace.root / inside).with_name(new))
            with noted, written(folder, new, data):
                rename_without_replacing(folder, new, folder, name)
            _sync(folder)
    except FileExistsError as error:
        raise _taken(inside) from error
    except OSError as error:
        raise NotWrittenError(f"{escaped(inside)} cannot be made ({_reason(error)}); nothing was changed") from error


def remove_file(workspace: Workspace, inside: str, before: bytes) -> None:
    """Remove a located file, or an empty folder.

    Args:
        workspace: Its folder.
        inside: Its located path.
        before: Digest of the bytes it must have now; of a folder, that of none.

    Raises:
        ChangedError: It has other bytes, or is gone.
        NotWrittenError: It is not a regular file, read-only, or a folder that is not empty, or the disk refuses.
    """
    with _refusing(inside, "deleted", "it is as it was"), workspace.holding(inside) as (folder, name):
        if before == digest(b"") and stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            os.rmdir(name, dir_fd=folder)
        else:
            status, _ = _checked(folder, name, inside, before)
            check_same(folder, name, inside, status)
            os.unlink(name, dir_fd=folder)
        _sync(folder)


def move_file(workspace: Workspace, inside: str, target: str, before: bytes) -> None:
    """Give a located file another path, and make the folders of that path. Its bytes, mode and hard links are kept.

    Args:
        workspace: Its folder.
        inside: Its located path.
        target: The located path that it gets.
        before: Digest of the bytes it must have now.

    Raises:
        ChangedError: It has other bytes, or is gone, or something has the path already.
        NotWrittenError: It is not a regular file, read-only, or the disk refuses.
    """
    announce(workspace.root / target)
    with _refusing(inside, "moved", "it is where it was", target), workspace.holding(inside) as (folder, name):
        status, _ = _checked(folder, name, inside, before)
        with RootFolder(workspace.root, workspace.identity) as tree, _folders(tree, target):
            into, new = tree.holding(target)
            check_same(folder, name, inside, status)
            rename_without_replacing(folder, name, into, new)
            _sync(folder)
            _sync(into)


@contextmanager
def _refusing(inside: str, done: str, state: str, target: str = "") -> Iterator[None]:
    """Raise a sentence for the model where a change fails.

    Args:
        inside: The file.
        done: What was to be done to it.
        state: How it is now, as a clause.
        target: The path that it was to get.

    Raises:
        ChangedError: It is gone, or something has the target's path.
        NotWrittenError: The disk refuses.
    """
    try:
        yield
    except FileExistsError as error:
        raise _taken(target or inside) from error
    except (FileNotFoundError, UnreadableError) as error:
        raise _changed(inside) from error
    except OSError as error:
        raise NotWrittenError(f"{escaped(inside)} cannot be {done} ({_reason(error)}); {state}") from error


def _sync(folder: int) -> None:
    """Write a folder to the disk. The change is made: only a power cut at this moment could still undo it."""
    with suppress(OSError):
        os.fsync(folder)


@contextmanager
def _folders(tree: RootFolder, inside: str) -> Iterator[None]:
    """Make the folders of a path that are missing; those made are removed again when what follows fails."""
    parts = inside.split("/")[:-1]
    made: list[str] = []
    try:
        for depth in range(1, len(parts) + 1):
            path = "/".join(parts[:depth])
            try:
                tree.folder(path)
            except FileNotFoundError:
                held, name = tree.holding(path)
                with suppress(FileExistsError):  # made by somebody else at this moment
                    os.mkdir(name, dir_fd=held)
                    made.append(path)
        yield
    except BaseException:
        for path in reversed(made):
            with suppress(OSError):
                held, name = tree.holding(path)
                os.rmdir(name, dir_fd=held)
        raise


def rename_without_replacing(folder: int, name: str, into: int, new: str) -> None:
    """Rename a file or link.

    Raises:
        FileExistsError: Something has the new name, be it a link that leads nowhere.
        OSError: The disk refuses.
    """
    try:
        os.link(name, new, src_dir_fd=folder, dst_dir_fd=into, follow_symlinks=False)
    except FileExistsError:
        if not _is_same_name(folder, name, into, new):
            raise
        os.rename(name, new, src_dir_fd=folder, dst_dir_fd=into)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # An empty file of ours keeps the name for the moment that it takes.
        os.close(os.open(new, _NEW_FLAGS, 0o600, dir_fd=into))
        try:
            os.rename(name, new, src_dir_fd=folder, dst_dir_fd=into)
        except OSError:
            os.unlink(new, dir_fd=into)
            raise
    else:
        os.unlink(name, dir_fd=folder)


def _is_same_name(folder: int, name: str, into: int, new: str) -> bool:
    """Return whether both are one directory entry, as on disks that ignore case; two hard links are not."""
    old, taken = (os.stat(n, dir_fd=d, follow_symlinks=False) for d, n in ((folder, name), (into, new)))
    same = old.st_nlink == 1 and (old.st_dev, old.st_ino) == (taken.st_dev, taken.st_ino)
    return same and new not in os.listdir(into)


def check_same(folder: int, name: str, inside: str, status: os.stat_result) -> None:
    """Check that a file is the one that had this status.

    Raises:
        ChangedError: It was changed or replaced.
        OSError: It is gone.
    """
    if _identity(os.stat(name, dir_fd=folder, follow_symlinks=False)) != _identity(status):
        raise _changed(inside)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _checked(folder: int, name: str, inside: str, before: bytes) -> tuple[os.stat_result, dict[str, bytes]]:
    """Return the status and extended attributes of a file that is writable and has the expected bytes."""
    try:
        descriptor = os.open(name, _FILE_FLAGS, dir_fd=folder)
    except PermissionError as error:
        raise _read_only(inside) from error
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise NotWrittenError(f"{escaped(inside)} is not a regular file; edit another file")
        # The mode is checked as well: the superuser may write to read-only files.
        if not status.st_mode & _WRITABLE:
            raise _read_only(inside)
        if digest(file.read()) != before:
            raise _changed(inside)
        return status, attributes_of(descriptor)


def attributes_of(descriptor: int) -> dict[str, bytes]:
    """Return a file's extended attributes, access control lists included; empty where the system or the disk has none.

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
def written(
    folder: int,
    name: str,
    data: bytes,
    like: os.stat_result | None = None,
    attributes: Mapping[str, bytes] = MappingProxyType({}),
    mode: int | None = None,
) -> Iterator[None]:
    """Write a new file in the folder; it is removed at the end, unless it was renamed.

    Args:
        folder: Descriptor of its folder.
        name: Its name.
        data: Its bytes.
        like: The file whose owner and mode it gets; None for those of any program's new file.
        attributes: Its extended attributes, as far as they are permitted.
        mode: Its permission bits; None for those of `like`.
    """
    descriptor = os.open(name, _NEW_FLAGS, 0o666 if like is None and mode is None else 0o600, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            if like is not None:
                with suppress(PermissionError):
                    os.fchown(descriptor, like.st_uid, like.st_gid)
                os.fchmod(descriptor, stat.S_IMODE(like.st_mode))
            if mode is not None:
                os.fchmod(descriptor, mode)
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


def _taken(inside: str) -> ChangedError:
    return ChangedError(f"there is something at {escaped(inside)} by now; look at it, or use another path")


def _read_only(inside: str) -> NotWrittenError:
    return NotWrittenError(f"{escaped(inside)} is read-only; it has to be made writable first")
