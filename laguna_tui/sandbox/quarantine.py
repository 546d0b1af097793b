"""Moves out of the workspace what commands must not create: names that git, assistants, editors and shells execute.

Nothing can be mounted over a name that does not exist, so a command can create one inside the sandbox. A watch on the
top folder moves it to the app's state at once. Further down a walk finds it, every second while commands run and after
each. For a moment such a name exists: a program that reads it then obeys it.

Everything is done by descriptors below the workspace, because the folders of a path may be exchanged at any time.
"""

import contextlib
import errno
import os
import secrets
import shutil
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from laguna_tui.base.own_changes import announce, announced_to
from laguna_tui.base.paths import command_state_dir
from laguna_tui.repo.files.protected_paths import is_git_name
from laguna_tui.repo.files.root_folder import RootFolder
from laguna_tui.repo.git.plain_repository import is_plain_repository
from laguna_tui.sandbox.folder_walk import FolderWalk
from laguna_tui.sandbox.folder_watch import FOLDER_FLAGS, FolderWatch
from laguna_tui.sandbox.protected import ProtectedFiles, unfinished_rebases
from laguna_tui.sandbox.walked_names import is_protected

MAX_ATTEMPTS, ATTEMPTS_S = 3, 60.0
"""How many protected names may appear within this time before the running commands are ended."""
RETENTION_DAYS = 30
"""What was moved is deleted after this time."""
_DAY_S = 86_400
_CONTENT = "content"
"""Name of what was moved, in its own folder: under its old name it would still be executed there."""
_LOCAL = "laguna-tui-moved-{}"
"""The folder that it goes to where the app's state is on another disk."""


@dataclass(frozen=True, slots=True)
class QuarantinedFile:
    """A file or folder that was moved out of the workspace.

    Attributes:
        path: Where it was, relative to the workspace.
        stored: Where it is.
    """

    path: str
    stored: Path


@dataclass(eq=False)
class Watched:
    """A command that runs while the workspace is watched.

    Attributes:
        moved: What was moved meanwhile.
        failed: Protected paths that could neither be moved nor put back.
        ended: Whether it was ended because it kept creating them.
        finished: Whether it has ended by itself.
        moved_at: When something was moved.
    """

    moved: list[QuarantinedFile] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    ended: bool = False
    finished: bool = False
    moved_at: list[float] = field(default_factory=list)
    _kill: Callable[[], None] = lambda: None

    def on_end(self, kill: Callable[[], None]) -> None:
        """Call `kill` when it has to be ended, at once if that was decided already."""
        self._kill = kill
        if self.ended:
            kill()

    def end(self) -> None:
        """End the command. Idempotent."""
        if not (self.ended or self.finished):
            self.ended = True
            self._kill()


class Quarantine:
    """Watches one workspace while commands run in it. The commands of one process share it. Any thread."""

    _shared: ClassVar[dict[Path, "Quarantine"]] = {}
    _sharing: ClassVar = threading.Lock()

    def __init__(self, root: Path) -> None:
        """Watch nothing yet; `Quarantine.of` gives the one that a workspace's commands share.

        Args:
            root: The workspace, without links in its path.
        """
        self.root = root
        self._folder_walk = FolderWalk(root)
        self._lock = threading.RLock()
        self._commands: list[Watched] = []
        self._pending: list[QuarantinedFile] = []
        self._reported: set[QuarantinedFile] = set()
        self._known: set[str] = set()
        self._expected: set[str] = set()
        self._partial = False
        self._forbidden: set[str] = set()
        self._links: dict[str, tuple[str, tuple[int, int]]] = {}
        self._open = ExitStack()

    @classmethod
    def of(cls, root: Path) -> "Quarantine":
        """Return the quarantine of a workspace."""
        with cls._sharing:
            if root not in cls._shared:
                delete_old()
                cls._shared[root] = cls(root)
            return cls._shared[root]

    def add(self, files: ProtectedFiles, walk: FolderWalk | None = None) -> Watched:
        """Watch the workspace for a command that is about to start.

        Args:
            files: What is protected there now. What is new since the first of several commands started counts as
                created by one of them.
            walk: The walk of the workspace that found them.
        """
        command = Watched()
        with self._lock:
            self._folder_walk = walk or self._folder_walk
            if not self._commands:
                self._begin(files)
            self._commands.append(command)
        return command

    def remove(self, command: Watched) -> None:
        """Walk once more after the end of a command, and stop watching after the end of the last one. Idempotent."""
        with self._lock:
            if command not in self._commands:
                return
            command.finished = True
            self.walk(in_git=True)
            self._commands.remove(command)
            if not self._commands:
                self._open.close()

    def walk(self, *, in_git: bool = False) -> None:
        """Move what was created anywhere in the workspace since the first of the running commands started.

        Args:
            in_git: Also the state of an unfinished rebase that would run a program; a rebase that runs has it too.
        """
        with self._lock:
            if not self._commands:
                return
            try:
                protected = dict(self._folder_walk.read().protected)
            except OSError:  # the workspace itself is gone, or was replaced by a link
                return
            if in_git:
                protected |= unfinished_rebases(protected)
            # Where not everything was found before, what is found now may be the user's.
            found = set[str]() if self._partial else {str(path.relative_to(self.root)) for path in protected}
            with RootFolder(self.root) as tree:
                for inside in sorted((found - self._known) | self._forbidden | set(self._links)):
                    with contextlib.suppress(OSError, ValueError):
                        folder, name = tree.holding(inside)
                        self._check(folder, name, inside)
                for inside in self._links:
                    self._restore_link(tree, inside)

    @property
    def has_pending(self) -> bool:
        """Whether something was moved that `take_pending` has not returned."""
        return bool(self._pending)

    def take_unreported(self) -> tuple[QuarantinedFile, ...]:
        """Return what is pending and was not returned by this before."""
        with self._lock:
            unreported = tuple(each for each in self._pending if each not in self._reported)
            self._reported.update(unreported)
            return unreported

    def take_pending(self) -> tuple[QuarantinedFile, ...]:
        """Return what was moved and not returned by this before."""
        with self._lock:
            pending, self._pending, self._reported = tuple(self._pending), [], set()
            return pending

    def put_back(self, moved: Iterable[QuarantinedFile]) -> tuple[str, ...]:
        """Put files and folders back where they were created; return the paths where that failed."""
        failed = []
        for each in moved:
            announce(self.root / each.path)
            try:
                with RootFolder(self.root) as tree, _opened(each.stored.parent) as source:
                    folder, name = tree.holding(each.path)
                    if _status(folder, name) is not None:
                        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), each.path)
                    os.rename(each.stored.name, name, src_dir_fd=source, dst_dir_fd=folder)
                shutil.rmtree(each.stored.parent, ignore_errors=True)
            except OSError:
                failed.append(each.path)
        return tuple(failed)

    def _begin(self, files: ProtectedFiles) -> None:
        def inside(paths: Iterable[Path]) -> set[str]:
            return {str(path.relative_to(self.root)) for path in paths if path.is_relative_to(self.root)}

        self._known, self._forbidden, self._expected = inside(files.found), inside(files.forbidden), set()
        self._links, self._partial = {}, files.partial
        with RootFolder(self.root) as tree:
            for link in sorted(inside(files.links)):
                with contextlib.suppress(OSError):
                    parent = os.fstat(tree.holding(link)[0])
                    self._links[link] = files.links[self.root / link], (parent.st_dev, parent.st_ino)
        with ExitStack() as opened:
            opened.enter_context(announced_to(self._expect))
            opened.enter_context(contextlib.closing(FolderWatch(self.root, self._see, self.walk)))
            self._open = opened.pop_all()

    def _expect(self, path: Path) -> None:
        """Leave alone what the app makes itself, and the folders that it makes for that."""
        if path.is_relative_to(self.root):
            parts = path.relative_to(self.root).parts
            with self._lock:
                self._expected |= {"/".join(parts[:depth]) for depth in range(1, len(parts) + 1)}

    def _see(self, folder: int, inside: str) -> None:
        """Move a name that was created if it is a protected one.

        Args:
            folder: Descriptor of the folder that it is in.
            inside: Its path relative to the workspace.
        """
        above, _, name = inside.rpartition("/")
        with self._lock:
            if self._commands and (is_protected(above, name) or inside in self._forbidden):
                self._check(folder, name, inside)

    def _check(self, folder: int, name: str, inside: str) -> None:
        """Move a protected name if it is new, and what replaced a link."""
        status = _status(folder, name)
        if status is None:
            return
        if inside in self._links:
            if not stat.S_ISLNK(status.st_mode) or os.readlink(name, dir_fd=folder) != self._links[inside][0]:
                self._move(folder, name, inside)
        elif inside not in self._known and not self._may_stay(folder, name, inside):
            self._move(folder, name, inside)

    def _may_stay(self, folder: int, name: str, inside: str) -> bool:
        above = inside.rpartition("/")[0]
        if is_git_name(name):
            return (bool(above) or inside in self._expected) and is_plain_repository(folder, name)
        if inside in self._expected:
            return True
        if inside in self._forbidden or is_protected(above, name):
            return False
        # Found by the shape of the folder around it: a repository without a work tree.
        return is_plain_repository(folder, ".")

    def _move(self, folder: int, name: str, inside: str) -> None:
        try:
            moved = QuarantinedFile(inside, _moved_out(folder, name, self.root / inside))
        except FileNotFoundError:
            return
        except OSError:
            self._note_failure(inside)
            for command in self._commands:
                command.end()
            return
        self._pending.append(moved)
        now = time.monotonic()
        for command in self._commands:
            command.moved.append(moved)
            command.moved_at.append(now)
            if sum(now - each < ATTEMPTS_S for each in command.moved_at[-MAX_ATTEMPTS:]) >= MAX_ATTEMPTS:
                command.end()

    def _restore_link(self, tree: RootFolder, inside: str) -> None:
        target, parent = self._links[inside]
        try:
            folder, name = tree.holding(inside)
            status = os.fstat(folder)
            if (status.st_dev, status.st_ino) != parent:
                raise OSError(errno.ESTALE, "the folder was replaced")
            if _status(folder, name) is None:
                os.symlink(target, name, dir_fd=folder)
        except OSError:
            self._note_failure(inside)

    def _note_failure(self, inside: str) -> None:
        for command in self._commands:
            if inside not in command.failed:
                command.failed.append(inside)


def _status(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, FOLDER_FLAGS)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _moved_out(folder: int, name: str, path: Path) -> Path:
    """Move a file or folder to a new place; return its path there."""
    place = _store() / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}"
    place.mkdir(mode=0o700, parents=True)
    try:
        with _opened(place) as into:
            _rename(folder, name, into, _CONTENT)
        (place / "path").write_bytes(os.fsencode(path))
        return place / _CONTENT
    except OSError as error:
        place.rmdir()
        if error.errno != errno.EXDEV:
            raise
    local = _LOCAL.format(secrets.token_hex(8))
    os.mkdir(local, 0o700, dir_fd=folder)
    into = os.open(local, FOLDER_FLAGS, dir_fd=folder)
    try:
        _rename(folder, name, into, _CONTENT)
    finally:
        os.close(into)
    return path.parent / local / _CONTENT


def _rename(folder: int, name: str, into: int, new: str) -> None:
    """Rename, even what a command made hard to move."""
    try:
        os.rename(name, new, src_dir_fd=folder, dst_dir_fd=into)
    except PermissionError:
        os.fchmod(folder, stat.S_IMODE(os.fstat(folder).st_mode) | 0o700)
        opened = os.open(name, getattr(os, "O_PATH", os.O_RDONLY) | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            if stat.S_ISDIR(os.fstat(opened).st_mode):
                Path(f"/proc/self/fd/{opened}").chmod(0o700)
        finally:
            os.close(opened)
        os.rename(name, new, src_dir_fd=folder, dst_dir_fd=into)


def _store() -> Path:
    return command_state_dir() / "quarantine"


def delete_old() -> None:
    """Delete what was moved more than `RETENTION_DAYS` ago."""
    with contextlib.suppress(OSError):
        for place in _store().iterdir():
            if place.stat().st_mtime < time.time() - RETENTION_DAYS * _DAY_S:
                shutil.rmtree(place, ignore_errors=True)
