"""The walk: which files of a folder are worth looking at, in a fixed order, without following links.

Works on paths relative to the folder, with "/" between the parts. Reads no file's contents except `.gitignore`.
Files that git ignores are left out; so are pipes, devices, sockets, links and what is behind them, also where git lists
them. Unreadable files are skipped.
"""

import os
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import pathspec

from laguna_engine.files import read_small_file
from laguna_tui.repo import git
from laguna_tui.repo.root_folder import RootFolder

# Larger files are data or logs; searching them would cost seconds and fill the context with noise.
SEARCH_LIMIT_BYTES = 4 * 1024 * 1024
# The largest repositories have half as many. Each takes a quarter of a kilobyte here, and a millionth of a minute.
MAX_FILES = 1_000_000
# Files between two checks for a stop by the user.
_STRIDE = 1_000
# Never source, where git is not available to say so.
_DEFAULT_IGNORES = """
    .hg .svn .jj __pycache__ .mypy_cache .ruff_cache .pytest_cache .hypothesis .tox .nox .venv venv
    node_modules bower_components .gradle .idea .next .nuxt .terraform .DS_Store *.pyc *.o *.class
""".split()
_GIT_FOLDER = ".git"
# A longer ignore file is not one. Each pattern is tried on each file.
_IGNORE_FILE_LIMIT_BYTES = 64 * 1024
# Patterns become regular expressions, and each further star multiplies the time by the length of a name.
_IGNORE_STARS = 3
# Total patterns of a folder's ignore files: each takes 0.1 ms to compile. Further files are skipped.
_IGNORE_PATTERNS = 20_000
# Attempts of a pattern on a path, each 0.4 microseconds; fifty for each of the most files. Only a folder made to keep a
# program busy needs more.
_IGNORE_TRIES = 50 * MAX_FILES

_Specs = list[tuple[str, pathspec.GitIgnoreSpec]]


@dataclass(frozen=True, slots=True)
class WalkedFile:
    """One regular file: its path relative to the folder, its size in bytes, and its time of change, if known."""

    path: str
    size: int
    mtime_ns: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class FileListing:
    """Files sorted by path.

    Attributes:
        entries: The files.
        complete: False when there are more than `MAX_FILES`, when the ignore files took too long, or when the user
            stopped.
    """

    entries: tuple[WalkedFile, ...]
    complete: bool = True


def walk(root: Path, should_stop: Callable[[], bool] = lambda: False) -> FileListing:
    """Return the folder's files: as git lists them, else by walking with the `.gitignore` files, near ones first."""
    listed = git.list_files(root, should_stop) if git.is_repository(root) else None
    entries: list[WalkedFile] = []
    looked_at = 0
    with RootFolder(root) as walked, RootFolder(root) as tree:
        walker = _Walker(walked, should_stop)
        # git lists no files of a folder that its own repository ignores; the user still wants to see them.
        paths = iter(sorted(set(listed))) if listed else walker.paths()
        while (
            looked_at < MAX_FILES
            and not should_stop()
            and (some := list(islice(paths, min(_STRIDE, MAX_FILES - looked_at))))
        ):
            entries += filter(None, (_entry(tree, path) for path in some))
            looked_at += len(some)
        complete = next(paths, None) is None and not should_stop() and walker.tries_left > 0
    return FileListing(tuple(sorted(entries, key=lambda entry: entry.path)), complete)


def _entry(tree: RootFolder, path: str) -> WalkedFile | None:
    """The entry of a regular file; None for everything else, and for files that are gone or behind a link."""
    try:
        status = tree.lstat(path)
    except (OSError, ValueError):
        return None
    return WalkedFile(path, status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None


class _Walker:
    """A walk without git's help.

    Attributes:
        tries_left: Pattern attempts left; the walk ends when they are used up.
    """

    def __init__(self, tree: RootFolder, should_stop: Callable[[], bool]) -> None:
        self._tree = tree
        self._should_stop = should_stop
        self._patterns_left = _IGNORE_PATTERNS
        self.tries_left = _IGNORE_TRIES

    def paths(self) -> Iterator[str]:
        """Yield the relative paths that no `.gitignore` on the way excludes, breadth first."""
        pending: deque[tuple[str, _Specs]] = deque([("", [("", pathspec.GitIgnoreSpec.from_lines(_DEFAULT_IGNORES))])])
        while pending and not self._should_stop():
            folder, above = pending.popleft()
            specs = [*above, *self._own_ignores(folder)]
            patterns = sum(len(spec.patterns) for _, spec in specs)
            for name, is_folder in self._children(folder):
                self.tries_left -= patterns
                if self.tries_left <= 0:
                    return
                path = f"{folder}{name}"
                if name == _GIT_FOLDER or _ignored(path + "/" * is_folder, specs):
                    continue
                if is_folder:
                    pending.append((path + "/", specs))
                else:
                    yield path

    def _children(self, folder: str) -> list[tuple[str, bool]]:
        """Names in a folder, sorted, and whether each is a folder; links are left out."""
        try:
            with os.scandir(self._tree.folder(folder.removesuffix("/"))) as found:
                return sorted(
                    (entry.name, entry.is_dir(follow_symlinks=False)) for entry in found if not entry.is_symlink()
                )
        except OSError:
            return []

    def _own_ignores(self, folder: str) -> _Specs:
        """The folder's own `.gitignore`, if it is readable and the total of patterns is not exceeded."""
        try:
            holder = self._tree.folder(folder.removesuffix("/"))
            data = read_small_file(".gitignore", _IGNORE_FILE_LIMIT_BYTES, dir_fd=holder, follow=False)
            lines = _harmless(data.decode("utf-8", "replace").splitlines())
            if len(lines) > self._patterns_left:
                return []
            self._patterns_left -= len(lines)
            return [(folder, pathspec.GitIgnoreSpec.from_lines(lines))]
        except (OSError, ValueError):
            return []


def _harmless(lines: Iterable[str]) -> list[str]:
    """The patterns without those whose time could grow without limit."""
    return [line for line in lines if line.count("**") <= _IGNORE_STARS >= line.replace("**", "").count("*")]


def _ignored(path: str, specs: _Specs) -> bool:
    """Whether the last pattern that matches the path excludes it; deeper ignore files take precedence."""
    for folder, spec in reversed(specs):
        verdict = spec.check_file(path[len(folder) :]).include
        if verdict is not None:
            return verdict
    return False
