"""Finds what commands must not change or read below a folder, and caches it from one read to the next.

Each folder is remembered with its device, inode and ctime, and read again only where they differ: no command can set a
ctime. Folders are opened one after another and never through a link, so that nothing exchanged meanwhile leads outside.
"""

import errno
import os
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from laguna_tui.repo.files.root_folder import RootFolder
from laguna_tui.sandbox.folder_listing import (
    NO_FOLDERS,
    CompiledRules,
    ListedFolder,
    Listing,
    Marks,
    PathRules,
    folders_below,
)
from laguna_tui.sandbox.native.change_times import has_reliable_ctime

MAX_ENTRIES = 1_000_000
"""Most folder entries that are read: about 10 s the first time. A repository of 200,000 files is below it."""
_CLEARLY_OLDER_NS = 2_000_000_000
"""A folder that changed less than this before it was read is read again the next time: another change may get the same
ctime. The clock of file systems ticks every 1 to 10 ms, and some store whole seconds."""

_NO_DESCRIPTOR = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)


@dataclass(frozen=True, slots=True)
class SensitivePaths:
    """What there is below a folder; every list is nearest first. Links are listed and not followed.

    Attributes:
        protected: Files and folders that git, assistants, editors or shells execute, and the device and inode of each;
            the rules make no difference.
        secrets: Files and folders with secrets, as their names say, and folders that only a command could read.
        unreadable: What matches a rule against reading; of a folder not what is in it.
        unwritable: What matches a rule against changing.
        filled_by: Where there are more entries than are read, the folder that contains most of them.
        listed: How many folders were read for this; the others were unchanged.
    """

    protected: Mapping[Path, tuple[int, int]] = field(default_factory=dict)
    secrets: tuple[Path, ...] = ()
    unreadable: tuple[Path, ...] = ()
    unwritable: tuple[Path, ...] = ()
    filled_by: Path | None = None
    listed: int = 0


class FolderWalk:
    """Reads what is below one folder, repeatedly. Any thread."""

    def __init__(self, top: Path, *, max_entries: int = MAX_ENTRIES, clock: Callable[[], int] = time.time_ns) -> None:
        """Read nothing yet.

        Args:
            top: The folder, without links in its path.
            max_entries: How many entries of folders are read.
            clock: The time in ns, as file systems have it.
        """
        self.top = top
        self._prefix = f"{top}/".replace("//", "/")
        self._max_entries, self._clock = max_entries, clock
        self._lock = threading.Lock()
        self._rules = CompiledRules(PathRules())
        self._root: ListedFolder | None = None
        self._found = SensitivePaths()
        self._reliable: dict[int, bool] = {}

    def read(self, rules: PathRules | None = None) -> SensitivePaths:
        """Return what is there now.

        Args:
            rules: The user's rules; None for those of the last time. With others everything is read again.

        Raises:
            OSError: The top cannot be read, or there are no more descriptors.
        """
        with self._lock:
            if rules is not None and rules != self._rules.given:
                self._rules, self._root = CompiledRules(rules), None
            try:
                return self._read()
            except BaseException:
                self._root = None
                raise

    def _read(self) -> SensitivePaths:
        # What lies behind a full folder is unknown, so a change anywhere means to read all again.
        if self._root is None or (self._found.filled_by is not None and self._is_changed(self._root)):
            self._root, self._found = ListedFolder(self._rules.top), SensitivePaths(listed=1)
        listed, left, marked = 0, self._max_entries, list[tuple[str, ListedFolder]]()
        pending = deque([("", self._root)])
        with RootFolder(self.top) as tree:
            while pending and left > 0:
                inside, folder = pending.popleft()
                if not self._is_same(inside, folder):
                    self._list(tree, inside, folder, left)
                    listed += 1
                left -= folder.entries
                if folder.marks is not None:
                    marked.append((inside, folder))
                pending.extend(folders_below(inside, folder))
        if listed:
            self._found = self._collected(marked, listed, self._filled_by(self._root) if left <= 0 else None)
        elif self._found.listed:
            self._found = replace(self._found, listed=0)
        return self._found

    def _is_same(self, inside: str, folder: ListedFolder) -> bool:
        """Return whether a folder is as it was read. Checked by path: an exchanged one has another device or inode."""
        try:
            status = os.lstat(self._prefix + inside if inside else self.top)
        except OSError:
            return False
        return status.st_ino == folder.inode and status.st_ctime_ns == folder.ctime and status.st_dev == folder.device

    def _is_changed(self, root: ListedFolder) -> bool:
        pending, left = deque([("", root)]), self._max_entries
        while pending and left > 0:
            inside, folder = pending.popleft()
            if not self._is_same(inside, folder):
                return True
            left -= folder.entries
            pending.extend(folders_below(inside, folder))
        return False

    def _list(self, tree: RootFolder, inside: str, folder: ListedFolder, left: int) -> None:
        """Read at most `left` entries of a folder."""
        known, folder.folders, folder.marks = folder.folders, NO_FOLDERS, None
        folder.ctime, folder.entries = -1, 0
        # A change after this is younger than what was read before it.
        now = self._clock()
        try:
            descriptor = tree.folder(inside)
        except OSError as error:
            if not inside or error.errno in _NO_DESCRIPTOR:
                raise
            if isinstance(error, PermissionError) and _is_own(tree, inside):
                folder.marks = Marks(secrets=[""])
            return
        status = os.fstat(descriptor)
        with os.scandir(descriptor) as entries:
            listing = Listing(self._rules, inside, folder.scope, known)
            folder.entries = sum(map(listing.add, islice(entries, left)))
            listing.close()
        folder.folders, folder.marks = listing.folders or NO_FOLDERS, listing.marks or None
        folder.device, folder.inode = status.st_dev, status.st_ino
        if status.st_ctime_ns < now - _CLEARLY_OLDER_NS and self._is_reliable(status.st_dev, descriptor):
            folder.ctime = status.st_ctime_ns

    def _is_reliable(self, device: int, descriptor: int) -> bool:
        """Return whether a folder's ctime follows every change in it, and nothing else sets it."""
        if device not in self._reliable:
            self._reliable[device] = has_reliable_ctime(descriptor)
        return self._reliable[device]

    def _collected(
        self, marked: Iterable[tuple[str, ListedFolder]], listed: int, filled_by: Path | None
    ) -> SensitivePaths:
        protected = dict[Path, tuple[int, int]]()
        secrets, unreadable, unwritable = list[Path](), list[Path](), list[Path]()
        for inside, folder in marked:
            place, marks = self.top / inside, folder.marks or Marks()
            protected |= {place / name: identity for name, identity in marks.protected}
            secrets += [place / name for name in marks.secrets]
            unreadable += [place / name for name in marks.unreadable]
            unwritable += [place / name for name in marks.unwritable]
        return SensitivePaths(protected, tuple(secrets), tuple(unreadable), tuple(unwritable), filled_by, listed)

    def _filled_by(self, root: ListedFolder) -> Path:
        counts = dict[str, int]()
        pending = deque([("", root)])
        while pending:
            inside, folder = pending.popleft()
            counts[inside] = folder.entries
            pending.extend(folders_below(inside, folder))
        return self.top / fullest_folder(counts)


def fullest_folder(counts: Mapping[str, int]) -> str:
    """Return the deepest folder that holds more than half of something; "" is the top.

    Args:
        counts: How much is directly in each folder, by its path relative to the top.
    """
    totals, half = Counter[str](), sum(counts.values()) / 2
    for inside, count in counts.items():
        while inside:
            totals[inside] += count
            inside = inside.rpartition("/")[0]  # noqa: PLW2901
    return max((inside for inside, count in totals.items() if count > half), key=len, default="")


def _is_own(tree: RootFolder, inside: str) -> bool:
    """Return whether a command could list a folder that cannot be listed now: its owner only has to allow it."""
    try:
        return tree.lstat(inside).st_uid == os.geteuid()
    except OSError:
        return False
