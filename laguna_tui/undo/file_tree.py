"""The files of a folder at one moment: what each is, its mode, and its contents in the object store.

A path is below the folder, with "/" between the parts, and its bytes need not be text (`surrogateescape`). Contents are
read again only where size, times or inode differ from the last read.
"""

import errno
import os
import stat
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from laguna_tui.base.locked_file import reason
from laguna_tui.base.object_store import ObjectStore, StoreFullError
from laguna_tui.base.paths import FolderIdentity
from laguna_tui.repo.files.root_folder import FolderReplacedError, RootFolder
from laguna_tui.repo.files.walk import folded, list_tree

FILE_LIMIT_BYTES = 32 * 1024 * 1024
"""Larger files are not covered: they are logs, data or builds. Every file that a tool can edit is smaller."""
# A file that was changed so recently may change again without another time of change: clocks of file systems tick
# every few milliseconds, and every two seconds on FAT.
_SETTLED_NS = 2_000_000_000
# In place of the time of change of such a file.
UNSETTLED = 0
# Reads of a file that changes while it is read.
_READS = 3
# Paths between two checks for a stop by the user.
_STRIDE = 500
# Nothing is there, or it is behind a link.
_NOTHING = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
_SPECIAL = "it is neither a file nor a link"
_CHUNK_BYTES = 1024 * 1024


class EntryKind(StrEnum):
    """What is at a path."""

    FILE = "file"
    LINK = "link"
    FOLDER = "folder"
    UNCOVERED = "uncovered"


class PathState(NamedTuple):
    """What is at a path.

    Attributes:
        kind: UNCOVERED is a file whose bytes are not stored, or neither file, link nor folder.
        mode: Permission bits.
        content: Name of a file's bytes, or of a link's target, in the object store; else "".
        size, mtime_ns, ctime_ns, inode: Show whether it was changed since; `ctime_ns` is `UNSETTLED` when it
            was changed just before it was read.
        why: Of UNCOVERED: why, as a clause.
    """

    kind: EntryKind
    mode: int
    content: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    why: str = ""


def same(one: PathState | None, other: PathState | None) -> bool:
    """Return whether two entries have the same kind, contents and mode; None is that nothing is there."""
    if one is None or other is None or one.kind is not other.kind:
        return one is other
    if one.kind is EntryKind.UNCOVERED:
        return one == other
    return one.content == other.content and (one.mode == other.mode or one.kind is EntryKind.LINK)


@dataclass(frozen=True, slots=True)
class FileTree:
    """All that is covered in a folder.

    Attributes:
        entries: By path, without the folder itself.
        ignored: What git ignores: paths, and folders with a "/" behind.
        began_ns: When reading it began, since the epoch.
        complete: Whether every file was listed.
    """

    entries: Mapping[str, PathState] = field(repr=False)
    ignored: frozenset[str] = field(repr=False)
    began_ns: int
    complete: bool

    def ignores(self, path: str) -> bool:
        """Return whether the path, or a folder around it, was ignored then."""
        if path in self.ignored or f"{path}/" in self.ignored:
            return True
        at = path.find("/")
        while at >= 0:
            if path[: at + 1] in self.ignored:
                return True
            at = path.find("/", at + 1)
        return False


class StoppedError(Exception):
    """The user stopped."""


class TreeReader:
    """Reads the files of a folder and stores their contents.

    Attributes:
        known: The last entry of each path; contents are not read again while it matches.
    """

    def __init__(
        self, root: Path, identity: FolderIdentity, store: ObjectStore, file_limit: int = FILE_LIMIT_BYTES
    ) -> None:
        """Prepare; nothing is read yet.

        Args:
            root: The folder, without links in its path.
            identity: Its identity; another folder in its place is not read.
            store: Where contents go. If it is inside the folder, it is left out.
            file_limit: Bytes above which files are not covered.
        """
        self.known: dict[str, PathState] = {}
        self._root = root
        self._identity = identity
        self._store = store
        self._file_limit = file_limit
        holder = Path(os.path.realpath(store.folder)).parent
        self._own = f"{holder.relative_to(root).as_posix()}/" if holder.is_relative_to(root) else ""

    def whole(self, covered: Iterable[str] = (), should_stop: Callable[[], bool] = lambda: False) -> FileTree:
        """Read every tracked and every untracked, not ignored file.

        Args:
            covered: Paths to read as well, ignored or not.
            should_stop: Called now and then.

        Raises:
            StoppedError: The user stopped.
            FolderReplacedError: Another folder is in its place.
            StoreError: Contents cannot be stored.
        """
        began = time.time_ns()
        listing = list_tree(self._root, should_stop)
        paths = sorted({*listing.paths, *listing.folders, *covered})
        if self._own:
            paths = [path for path in paths if not path.startswith(self._own) and f"{path}/" != self._own]
        found = self.at(paths, should_stop)
        entries = {path: entry for path, entry in found.items() if entry is not None}
        _drop_aliases(entries, frozenset(listing.paths).union(listing.folders))
        self.known = dict(entries)
        return FileTree(entries, listing.ignored, began, listing.complete)

    def at(self, paths: Iterable[str], should_stop: Callable[[], bool] = lambda: False) -> dict[str, PathState | None]:
        """Read these paths only; None where nothing is or the way leads through a link. Raises as `whole`."""
        found: dict[str, PathState | None] = {}
        with RootFolder(self._root, self._identity) as tree:
            for number, path in enumerate(paths):
                if number % _STRIDE == 0 and should_stop():
                    raise StoppedError
                entry = found[path] = self._entry(tree, path)
                if entry is None:
                    self.known.pop(path, None)
                else:
                    self.known[path] = entry
        if should_stop():
            raise StoppedError
        return found

    def _entry(self, tree: RootFolder, path: str) -> PathState | None:
        try:
            status = tree.lstat(path)
        except FolderReplacedError:
            raise
        except OSError as error:
            if error.errno in _NOTHING:
                return None
            return PathState(EntryKind.UNCOVERED, 0, "", 0, 0, 0, 0, f"it cannot be read: {reason(error)}")
        known = self.known.get(path)
        if known is not None and _matches(known, status):
            return known
        try:
            return self._read(tree, path, status)
        except FileNotFoundError:
            return None
        except OSError as error:
            return _made(EntryKind.UNCOVERED, status, why=f"it cannot be read: {reason(error)}")
        except StoreFullError as error:
            return _made(EntryKind.UNCOVERED, status, why=str(error))

    def _read(self, tree: RootFolder, path: str, status: os.stat_result) -> PathState:
        kind = stat.S_IFMT(status.st_mode)
        if kind == stat.S_IFDIR:
            tree.folder(path)  # raises where its files cannot be listed
            return _made(EntryKind.FOLDER, status)
        if kind == stat.S_IFLNK:
            folder, name = tree.holding(path)
            return _made(EntryKind.LINK, status, self._store.put(os.fsencode(os.readlink(name, dir_fd=folder))))
        if kind == stat.S_IFREG:
            return self._file(tree, path, status)
        return _made(EntryKind.UNCOVERED, status, why=_SPECIAL)

    def _file(self, tree: RootFolder, path: str, status: os.stat_result) -> PathState:
        for _ in range(_READS):
            if status.st_size > self._file_limit:
                return _made(EntryKind.UNCOVERED, status, why=f"it is larger than {self._file_limit:,} bytes")
            descriptor = tree.open(path)
            try:
                before = os.fstat(descriptor)
                if not stat.S_ISREG(before.st_mode):
                    return _made(EntryKind.UNCOVERED, before, why=_SPECIAL)
                data = _read(descriptor, self._file_limit + 1)
                status = os.fstat(descriptor)
            finally:
                os.close(descriptor)
            if _stamp(before) == _stamp(status) and len(data) == status.st_size:
                return _made(EntryKind.FILE, status, self._store.put(data))
        return _made(EntryKind.UNCOVERED, status, why="it changes while it is read")


def _drop_aliases(entries: dict[str, PathState], exact: Collection[str]) -> None:
    """Drop names under which a file is found only because the file system ignores case or accents.

    Args:
        entries: By path.
        exact: The names as they are in the folders.
    """
    by_folded = {folded(path): path for path in exact}
    for path in entries.keys() - exact:
        other = entries.get(by_folded.get(folded(path), path))
        if other is not None and other is not entries[path] and other.inode == entries[path].inode:
            del entries[path]


def _matches(known: PathState, status: os.stat_result) -> bool:
    """Return whether nothing was changed since, for certain."""
    return (
        known.ctime_ns == status.st_ctime_ns
        and known.mtime_ns == status.st_mtime_ns
        and known.size == status.st_size
        and known.inode == status.st_ino
        and known.mode == stat.S_IMODE(status.st_mode)
        and known.kind is not EntryKind.UNCOVERED
    )


def _made(kind: EntryKind, status: os.stat_result, content: str = "", why: str = "") -> PathState:
    mtime, ctime = status.st_mtime_ns, status.st_ctime_ns
    if kind is not EntryKind.UNCOVERED and time.time_ns() - ctime < _SETTLED_NS:
        ctime = UNSETTLED
    return PathState(kind, stat.S_IMODE(status.st_mode), content, status.st_size, mtime, ctime, status.st_ino, why)


def _read(descriptor: int, limit: int) -> bytes:
    """Return the bytes of an open file, at most `limit`."""
    pieces: list[bytes] = []
    asked = got = 1
    while limit > 0 and got == asked:
        asked = min(limit, _CHUNK_BYTES)
        pieces.append(os.read(descriptor, asked))
        got = len(pieces[-1])
        limit -= got
    return b"".join(pieces)


def _stamp(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns
