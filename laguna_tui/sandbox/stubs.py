"""Mount points on the user's disk for files of git that do not exist: created before a command, removed after it.

bubblewrap can only prevent the creation of a file by mounting something there, and a mount needs a place. In git's
folders such a place, an empty file or folder, means the same to git as none. Elsewhere `quarantine` watches.

Commands that run at the same time share the places. A lock shows whether one still runs, even after a kill: the last
one, or the next command anywhere, removes what the record names. Everything is done by descriptors below a folder that
no command can exchange.
"""

import contextlib
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from laguna_engine.files import read_small_file
from laguna_tui.base.paths import command_state_dir
from laguna_tui.repo.files.root_folder import RootFolder

_FILES = {"config": "", "config.worktree": "", "commondir": ".\n"}
"""Contents of the places that are files in git's folders."""


def stub_content(path: Path) -> str | None:
    """Return the contents of the file that holds a place; None for a folder."""
    return _FILES.get(path.name)


class Stubs:
    """The mount points of a workspace."""

    def __init__(self, workspace: Path, records: Path | None = None) -> None:
        """Make nothing yet.

        Args:
            workspace: The folder, without links in its path.
            records: Folder of the records, by default in the app's state.
        """
        self._folder = records or _records_folder()
        self._record = self._folder / f"{hashlib.sha256(os.fsencode(workspace)).hexdigest()[:32]}.stubs"
        self._lock: int | None = None

    def hold(self) -> int:
        """Keep other commands' mount points in this workspace until `remove`, and remove those that none needs.

        Returns:
            The descriptor of the lock, to be held by what ends the command if this process is killed.

        Raises:
            OSError: The record cannot be written.
        """
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        remove_leftovers(self._folder)
        while self._lock is None:
            self._lock = _locked(self._record, alone=False)
        return self._lock

    def make(self, paths: Iterable[Path], roots: Iterable[Path]) -> tuple[Path, ...]:
        """Make a place for each absent path, and return the places: the topmost missing folder of each path.

        To be called after `hold`.

        Args:
            paths: Each below one of the roots.
            roots: Folders that no command can exchange, without links in their paths.

        Raises:
            OSError: The record cannot be written.
        """
        tops = sorted(roots)
        made = dict[Path, None]()
        for path in paths:
            top = next((top for top in tops if path != top and path.is_relative_to(top)), None)
            if top is not None and (place := self._make(top, path)) is not None:
                made[place] = None
        return tuple(made)

    def _make(self, root: Path, path: Path) -> Path | None:
        parts = path.relative_to(root).parts
        with RootFolder(root) as tree:
            for depth in range(1, len(parts) + 1):
                inside = "/".join(parts[:depth])
                try:
                    folder, name = tree.holding(inside)
                    if depth < len(parts) and stat.S_ISDIR(tree.lstat(inside).st_mode):
                        continue
                    os.stat(name, dir_fd=folder, follow_symlinks=False)
                except FileNotFoundError:
                    return self._make_at(root, inside, folder, name)
                except OSError:
                    return None
                return root / inside
        return None

    def _make_at(self, root: Path, inside: str, folder: int, name: str) -> Path | None:
        place = root / inside
        # Written first: a place that is made and not recorded would stay after a kill.
        self._note(place, None, root)
        try:
            content = stub_content(place)
            if content is None:
                os.mkdir(name, 0o755, dir_fd=folder)
            else:
                opened = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=folder)
                try:
                    os.write(opened, content.encode("ascii"))
                finally:
                    os.close(opened)
            self._note(place, os.stat(name, dir_fd=folder, follow_symlinks=False), root)
        except FileExistsError:
            return place
        except OSError:
            # A folder that this user cannot write to either.
            return None
        return place

    def note_private(self, folder: Path) -> None:
        """Have a command's private folder removed as a whole if this process is killed. To be called after `hold`.

        Raises:
            OSError: The record cannot be written.
        """
        self._note(folder, folder.lstat(), None)

    def _note(self, place: Path, status: os.stat_result | None, root: Path | None) -> None:
        identity = None if status is None else [status.st_dev, status.st_ino]
        with self._record.open("a", encoding="ascii") as file:
            file.write(json.dumps([str(place), identity, None if root is None else str(root)]) + "\n")

    def remove(self) -> None:
        """Remove the places unless another command needs them; idempotent."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
            _remove(self._record)


def _records_folder() -> Path:
    return command_state_dir() / "sandbox"


def remove_leftovers(records: Path | None = None) -> bool:
    """Remove the mount points of commands that were killed together with this app; return whether none are left."""
    removed = True
    with contextlib.suppress(OSError):
        for record in (records or _records_folder()).glob("*.stubs"):
            removed = _remove(record) and removed
    return removed


def _remove(record: Path) -> bool:
    lock = _locked(record, alone=True)
    if lock is None:
        return False
    try:
        for place, identity, root in _recorded(record):
            with contextlib.suppress(OSError, ValueError):
                if root is None:
                    _remove_private(place, identity)
                else:
                    _remove_place(root, place, identity)
        record.unlink(missing_ok=True)
    finally:
        os.close(lock)
    return True


def _locked(record: Path, *, alone: bool) -> int | None:
    """Return a descriptor that holds the lock on a record; None if it is held, or was just removed."""
    import fcntl  # not on Windows, where the doctor still runs

    lock = os.open(record, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB if alone else fcntl.LOCK_SH)
        if os.path.lexists(record) and os.path.samestat(os.fstat(lock), record.stat()):
            return lock
    except OSError:
        pass
    os.close(lock)
    return None


def _recorded(record: Path) -> Iterator[tuple[Path, list[int] | None, Path | None]]:
    """Yield the places, deepest first, with the root of each, None for a private folder. The last note counts."""
    places: dict[str, tuple[list[int] | None, str | None]] = {}
    with contextlib.suppress(ValueError, TypeError):
        for line in record.read_text(encoding="ascii").splitlines():
            path, identity, root = json.loads(line)
            if root is None or isinstance(root, str):
                places[path] = identity, root
    for path in sorted(places, reverse=True):
        identity, root = places[path]
        yield Path(path), identity, None if root is None else Path(root)


def _remove_private(folder: Path, identity: list[int] | None) -> None:
    status = folder.lstat()
    if identity == [status.st_dev, status.st_ino]:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_place(root: Path, place: Path, identity: list[int] | None) -> None:
    """Remove a place if it is still as it was made; what the user put there stays."""
    with RootFolder(root) as tree:
        folder, name = tree.holding(str(place.relative_to(root)))
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if identity is not None and identity != [status.st_dev, status.st_ino]:
            return
        content = stub_content(place)
        if content is None:
            os.rmdir(name, dir_fd=folder)
        elif read_small_file(name, len(content), dir_fd=folder, follow=False) == content.encode("ascii"):
            os.unlink(name, dir_fd=folder)
