"""The folder that the agent works in, and cannot leave.

Paths come from a model and are hostile: `..` and absolute paths that do not end inside, links that lead out, `/proc`,
NUL, pipes and devices all raise an `OutsideError` or `UnreadableError`, and the message is the tool's result. A file is
opened part by part from the folder's own descriptor and never through a link (`root_folder`), so that nothing swapped
in between the check and the opening can lead elsewhere; that holds for the folder itself too.
"""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from laguna_tui.base.paths import FolderIdentity, escaped, unescaped
from laguna_tui.repo.files.protected_paths import is_git_name
from laguna_tui.repo.files.root_folder import FolderReplacedError, RootFolder, as_on_disk
from laguna_tui.repo.files.walk import FileListing, WalkedFile, walk

# Larger files are not source; reading one would take seconds and memory.
READ_LIMIT_BYTES = 32 * 1024 * 1024

_SWAPPED = "the folder was replaced by another one since laguna-tui was started; tell the user to start it again there"


class WorkspaceError(Exception):
    """A path cannot be used; the message is a sentence for the model that ends in what to do."""


class OutsideError(WorkspaceError):
    """A path leads out of the workspace, or to files in it that the model must not read."""


class UnreadableError(WorkspaceError):
    """A path in the workspace is missing, or is not a readable file."""


class Workspace:
    """One folder, opened for reading only.

    Attributes:
        root: The folder, without links in its path.
        identity: Tells it from another folder that takes its place; such a one is neither read nor written.
    """

    def __init__(self, root: Path, identity: FolderIdentity | None = None) -> None:
        """Open a folder as the workspace.

        Args:
            root: The folder.
            identity: Expected identity of the folder; None accepts the existing one.

        Raises:
            UnreadableError: There is no such folder.
        """
        self.root = Path(os.path.realpath(root))
        if not self.root.is_dir():
            raise UnreadableError(f"{root} is not a folder; start in the folder with the code")
        self.identity = identity or FolderIdentity.of(self.root.stat())

    @property
    def name(self) -> str:
        return self.root.name or str(self.root)

    def files(self, should_stop: Callable[[], bool] = lambda: False) -> FileListing:
        """Return the files worth looking at, sorted by path."""
        return walk(self.root, should_stop)

    def files_below(self, inside: str, should_stop: Callable[[], bool] = lambda: False) -> FileListing:
        """Return the files in a located folder; all of them if it is ignored as a whole (installed packages)."""
        listing = self.files(should_stop)
        prefix = f"{inside}/" if inside else ""
        below = tuple(entry for entry in listing.entries if entry.path.startswith(prefix))
        if below or not inside:
            return FileListing(below, listing.complete, listing.unsearched.below(inside))
        ignored = walk(self.root / inside, should_stop)
        return FileListing(
            tuple(WalkedFile(prefix + entry.path, entry.size) for entry in ignored.entries),
            ignored.complete,
            # For an empty folder, the repository above says why.
            ignored.unsearched.under(prefix)
            if ignored.entries or ignored.unsearched.bare
            else listing.unsearched.below(inside),
        )

    def locate(self, path: str) -> str:
        """Return the relative path, without links, that a path given by the model means; "" is the workspace itself.

        It may be absolute or contain `..`, if it ends inside, both as written and with links followed.

        Raises:
            OutsideError: It leads out of the workspace or into `.git`.
        """
        given = self._given(path)
        if not Path(os.path.normpath(self.root / given)).is_relative_to(self.root):
            raise OutsideError(f"{escaped(path)} is outside the folder; use a path inside it, as find lists it")
        try:
            real = Path(os.path.realpath(self.root / given))
        except (OSError, ValueError) as error:
            raise UnreadableError(f"{escaped(path)} cannot be looked up; use a path as find lists it") from error
        if not real.is_relative_to(self.root):
            raise OutsideError(f"{escaped(path)} is a link out of the folder; only files inside it can be read")
        inside = real.relative_to(self.root).as_posix()
        written = given.relative_to(self.root) if given.is_relative_to(self.root) else given
        if any(map(is_git_name, (*written.parts, *inside.split("/")))):
            raise OutsideError(f"{escaped(path)} belongs to git itself; only the working files can be read")
        return "" if inside == "." else inside

    def _given(self, path: str) -> PurePosixPath:
        """Return the path that is meant: as given, else without surrounding blanks or unescaped from `find`'s form."""
        try:
            if not os.path.lexists(self.root / path):
                path = unescaped(path.strip()) if "\\x" in path else path.strip()
        except ValueError as error:
            raise UnreadableError(f"{escaped(path)} is no path; use a path as find lists it") from error
        if "\0" in path:
            raise OutsideError("the path contains a NUL character; use a path as find lists it")
        return PurePosixPath(path or "." if path.isascii() else as_on_disk(self.root / path))

    def is_link(self, path: str) -> bool:
        """Return whether the path that the model gave names a link, wherever that leads. Raises as `locate` does."""
        return (self.root / self._given(path)).is_symlink()

    def is_folder(self, inside: str) -> bool:
        """Return whether a located path is a folder.

        Raises:
            UnreadableError: Nothing is there.
        """
        try:
            with RootFolder(self.root) as tree:
                return stat.S_ISDIR(tree.lstat(inside).st_mode)
        except (OSError, ValueError) as error:
            raise _missing(inside) from error

    def read(self, inside: str, limit: int = READ_LIMIT_BYTES) -> bytes:
        """Return all bytes of a located file.

        Raises:
            UnreadableError: It is missing, not a regular file, not permitted, or larger than `limit` bytes.
        """
        with self._regular(inside) as (stream, size):
            if size > limit:
                raise UnreadableError(f"{escaped(inside)} has {size:,} bytes, more than the {limit:,} that can be read")
            return stream.read(limit)

    def read_beginning(self, inside: str, limit: int) -> tuple[bytes, int]:
        """Return the first bytes of a located file, at most `limit`, and its size in bytes.

        Raises:
            UnreadableError: It is missing, not a regular file or not permitted.
        """
        with self._regular(inside) as (stream, size):
            return stream.read(limit), size

    @contextmanager
    def _regular(self, inside: str) -> Iterator[tuple[BinaryIO, int]]:
        """Open a located regular file for reading; yields it and its size in bytes."""
        with self._opened(inside) as file:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode):
                raise UnreadableError(_not_a_file(inside, status.st_mode))
            with os.fdopen(os.dup(file), "rb") as stream:
                yield stream, status.st_size

    @contextmanager
    def _opened(self, inside: str) -> Iterator[int]:
        """Open a located file from the root without following any link; yields its descriptor."""
        with RootFolder(self.root, self.identity) as tree:
            try:
                file = tree.open(inside)
            except (OSError, ValueError) as error:
                raise _unreadable(inside, error) from error
        try:
            yield file
        except OSError as error:
            raise _unreadable(inside, error) from error
        finally:
            os.close(file)

    @contextmanager
    def holding(self, inside: str) -> Iterator[tuple[int, str]]:
        """Open a located file's parent folder without following any link; yields its descriptor and the file's name.

        Raises:
            OutsideError: The workspace was replaced by another folder.
            UnreadableError: There is no such folder.
        """
        with RootFolder(self.root, self.identity) as tree:
            try:
                held = tree.holding(inside)
            except (OSError, ValueError) as error:
                raise _unreadable(inside, error) from error
            yield held


def _unreadable(inside: str, error: OSError | ValueError) -> WorkspaceError:
    if isinstance(error, FolderReplacedError):
        return OutsideError(_SWAPPED)
    if isinstance(error, FileNotFoundError):
        return _missing(inside)
    reason = getattr(error, "strerror", None) or str(error)
    return UnreadableError(f"{escaped(inside)} cannot be read ({reason.lower()}); try another file")


def _missing(inside: str) -> UnreadableError:
    return UnreadableError(f"there is no file {escaped(inside)}; use find to see which files there are")


def _not_a_file(inside: str, mode: int) -> str:
    if stat.S_ISDIR(mode):
        return f"{escaped(inside) or 'this'} is a folder; use find to list its files"
    return f"{escaped(inside)} is not a regular file; try another file"
