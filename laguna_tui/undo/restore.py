"""Puts files, links and folders back as they were, each atomically, and only where nobody changed them since."""

import errno
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import NamedTuple

from laguna_tui.base.locked_file import reason
from laguna_tui.base.object_store import ObjectStore, StoreError
from laguna_tui.base.own_changes import announce
from laguna_tui.repo.files.root_folder import RootFolder
from laguna_tui.repo.files.source_writer import (
    ChangedError,
    TemporaryFiles,
    attributes_of,
    check_same,
    rename_without_replacing,
    temporary_name,
    written,
)
from laguna_tui.repo.files.workspace import Workspace, WorkspaceError
from laguna_tui.undo.file_tree import EntryKind, PathState, TreeReader, same

_CHANGED = "it was changed since"
_NOT_EMPTY = "other files are in it"
_NO_FOLDER = "its folder is missing, or a link now"
# A new folder is writable while its files are put there.
_NEW_FOLDER_MODE = 0o700


class RestoreStep(NamedTuple):
    """What shall be at a path, in place of what is there now; None is nothing."""

    path: str
    now: PathState | None
    then: PathState | None

    @property
    def replaces_kind(self) -> bool:
        """Whether a file replaces a folder, or a folder a file."""
        return self.now is not None and self.then is not None and _is_folder(self.now) != _is_folder(self.then)


class Restorer:
    """Applies the steps of an undo to a folder."""

    def __init__(
        self, workspace: Workspace, reader: TreeReader, store: ObjectStore, unfinished: TemporaryFiles | None = None
    ) -> None:
        """Prepare.

        Args:
            workspace: The folder.
            reader: Reads its files.
            store: Has the contents.
            unfinished: Records temporary files; None records none.
        """
        self._workspace = workspace
        self._reader = reader
        self._store = store
        self._unfinished = unfinished or TemporaryFiles()
        self._failed: dict[str, str] = {}

    def restore(self, steps: Sequence[RestoreStep], *, again: bool = False) -> dict[str, str]:
        """Apply the steps; returns the paths that stay as they are, and why, as a clause.

        Args:
            steps: One per path. What is at a path now is compared before anything is done there.
            again: They may have been applied in part, by a process that was killed.
        """
        self._failed = {}
        # Folders are emptied before they are removed, created before they are filled, and made read-only last.
        for step in sorted(steps, key=lambda step: step.path, reverse=True):
            if step.now is not None and (step.then is None or step.replaces_kind):
                self._attempt(step, self._remove, again)
        for step in sorted(steps, key=lambda step: step.path):
            if step.then is not None:
                announce(self._workspace.root / step.path)
                self._attempt(step, self._put, again)
        for step in sorted(steps, key=lambda step: step.path, reverse=True):
            if step.then is not None and step.then.kind is EntryKind.FOLDER:
                self._attempt(step, self._set_mode, again)
        return self._failed

    def _attempt(self, step: RestoreStep, make: Callable[[RestoreStep, bool], str], again: bool) -> None:
        if step.path in self._failed:
            return
        try:
            why = make(step, again)
        except (ChangedError, FileExistsError):
            why = _CHANGED
        except OSError as error:
            why = reason(error)
        except WorkspaceError:
            why = _NO_FOLDER
        except StoreError as error:
            why = str(error)
        if why:
            self._failed[step.path] = why

    def _remove(self, step: RestoreStep, again: bool) -> str:
        status, found = self._read(step.path)
        if found is None or status is None:
            return "" if again or step.then is None else _CHANGED
        if again and same(found, step.then):
            return ""
        if not same(found, step.now):
            return _CHANGED
        if found.kind is not EntryKind.FOLDER:
            with self._workspace.holding(step.path) as (folder, name):
                check_same(folder, name, step.path, status)
                os.unlink(name, dir_fd=folder)
            return ""
        try:
            with self._workspace.holding(step.path) as (folder, name):
                os.rmdir(name, dir_fd=folder)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            return _NOT_EMPTY
        return ""

    def _put(self, step: RestoreStep, again: bool) -> str:
        then = step.then
        assert then is not None
        status, found = self._read(step.path)
        if same(found, then) or (again and found is not None and found.kind is then.kind is EntryKind.FOLDER):
            return ""
        expected = None if step.replaces_kind else step.now
        if not same(found, expected):
            return _CHANGED
        if then.kind is EntryKind.FOLDER and found is not None:
            return ""  # only its mode differs
        if found is None:
            self._make_parents(step.path)
        if then.kind is EntryKind.FOLDER:
            with self._workspace.holding(step.path) as (folder, name):
                os.mkdir(name, _NEW_FOLDER_MODE, dir_fd=folder)
        else:
            self._put_file(step.path, then, self._store.get(then.content), status)
        return ""

    def _put_file(self, path: str, then: PathState, data: bytes, status: os.stat_result | None) -> None:
        """Put a file or link in place of what had this status; None is nothing."""
        new = temporary_name()
        with self._workspace.holding(path) as (folder, name), ExitStack() as made:
            if then.kind is EntryKind.LINK:
                os.symlink(data, os.fsencode(new), dir_fd=folder)
                made.callback(_unlink, folder, new)
            else:
                made.enter_context(self._unfinished.noted((self._workspace.root / path).with_name(new)))
                made.enter_context(written(folder, new, data, status, _attributes(folder, name, status), then.mode))
            if status is None:
                rename_without_replacing(folder, new, folder, name)
            else:
                check_same(folder, name, path, status)
                os.replace(new, name, src_dir_fd=folder, dst_dir_fd=folder)
            with suppress(OSError):
                os.fsync(folder)

    def _make_parents(self, path: str) -> None:
        """Create the folders that are missing on the way to a path."""
        parts = path.split("/")
        for depth in range(1, len(parts)):
            with self._workspace.holding("/".join(parts[:depth])) as (folder, name), suppress(FileExistsError):
                os.mkdir(name, dir_fd=folder)

    def _set_mode(self, step: RestoreStep, again: bool) -> str:
        assert step.then is not None
        with RootFolder(self._workspace.root, self._workspace.identity) as tree:
            folder = tree.folder(step.path)
            if stat.S_IMODE(os.fstat(folder).st_mode) != step.then.mode:
                os.fchmod(folder, step.then.mode)
        return ""

    def _read(self, path: str) -> tuple[os.stat_result | None, PathState | None]:
        """Return the status of a path, and what is there, read after it so that a later change is noticed."""
        status = None
        with suppress(OSError), RootFolder(self._workspace.root, self._workspace.identity) as tree:
            status = tree.lstat(path)
        return status, self._reader.at([path])[path]


def is_started(step: RestoreStep, here: PathState | None) -> bool:
    """Return whether what is at a path is what a step leaves when it is killed in the middle."""
    if here is None:
        return step.replaces_kind
    makes_folder = step.then is not None and _is_folder(step.then) and (step.now is None or step.replaces_kind)
    return makes_folder and _is_folder(here) and not same(here, step.then)


def _attributes(folder: int, name: str, status: os.stat_result | None) -> Mapping[str, bytes]:
    """Return the extended attributes of a file that is replaced; empty if there is none that may be read."""
    if status is None or not stat.S_ISREG(status.st_mode):
        return {}
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return {}
    try:
        return attributes_of(descriptor)
    finally:
        os.close(descriptor)


def _unlink(folder: int, name: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def _is_folder(entry: PathState) -> bool:
    return entry.kind is EntryKind.FOLDER
