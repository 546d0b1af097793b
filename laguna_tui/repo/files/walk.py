"""The walk: which files of a folder are worth looking at, in a fixed order, without following links.

Works on paths relative to the folder, with "/" between the parts. Reads no file's contents except `.gitignore`.
Files that git ignores are left out; so are pipes, devices, sockets, links and what is behind them, also where git lists
them. Unreadable files are skipped.
"""

import os
import stat
import unicodedata
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_engine.files import read_small_file
from laguna_tui.repo.files.root_folder import RootFolder
from laguna_tui.repo.files.unsearched import Unsearched
from laguna_tui.repo.git import repository

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

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
# In every folder that is git's own, whatever its name, and in hardly any other.
_IN_GIT_FOLDER = frozenset({("HEAD", False), ("objects", True), ("refs", True)})
# Nested repositories whose git is queried, 10 ms each; in further ones the ignore files apply.
_ASKED_REPOSITORIES = 200
# A longer ignore file is not one. Each pattern is tried on each file.
_IGNORE_FILE_LIMIT_BYTES = 64 * 1024
# Patterns become regular expressions, and each further star multiplies the time by the length of a name.
_IGNORE_STARS = 3
# Total patterns of a folder's ignore files: each takes 0.1 ms to compile. Further files are skipped.
_IGNORE_PATTERNS = 20_000
# Attempts of a pattern on a path, each 0.4 microseconds; fifty for each of the most files. Only a folder made to keep a
# program busy needs more.
_IGNORE_TRIES = 50 * MAX_FILES

_Specs = list[tuple[str, "GitIgnoreSpec"]]


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
        unsearched: What git lists, or stores, without there being a file to read.
    """

    entries: tuple[WalkedFile, ...]
    complete: bool = True
    unsearched: Unsearched = field(default_factory=Unsearched)


def walk(root: Path, should_stop: Callable[[], bool] = lambda: False) -> FileListing:
    """Return the folder's files: as git lists them, else by walking with the `.gitignore` files, near ones first."""
    listed = repository.list_files(root, should_stop) if repository.is_repository(root) else None
    entries: list[WalkedFile] = []
    missing: list[str] = []
    folders: list[str] = []
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
            for path in some:
                status = _status(tree, path)
                if status is None:
                    missing.append(path)
                elif stat.S_ISREG(status.st_mode):
                    entries.append(WalkedFile(path, status.st_size, status.st_mtime_ns))
                elif stat.S_ISDIR(status.st_mode):
                    folders.append(path.rstrip("/"))
            looked_at += len(some)
        complete = next(paths, None) is None and not should_stop() and walker.tries_left > 0
        # git lists a repository inside as one path.
        repositories = tuple(path for path in folders if _status(tree, f"{path}/{_GIT_FOLDER}"))
        absent = tuple(path for path in folders if _is_empty(tree, path))
    unsearched = Unsearched(
        repositories=repositories,
        absent=absent,
        sparse=_outermost(repository.sparse_paths(root, should_stop).intersection(missing), entries) if missing else (),
        bare=("",) if listed is None and not entries and repository.is_bare(root) else tuple(sorted(walker.bare)),
    )
    return FileListing(tuple(sorted(entries, key=lambda entry: entry.path)), complete, unsearched)


def _status(tree: RootFolder, path: str) -> os.stat_result | None:
    """Return the status of a path; None when it is gone, behind a link or not permitted."""
    try:
        return tree.lstat(path)
    except (OSError, ValueError):
        return None


def _is_empty(tree: RootFolder, path: str) -> bool:
    try:
        with os.scandir(tree.folder(path)) as found:
            return next(found, None) is None
    except (OSError, ValueError):
        return False


def _outermost(paths: Collection[str], entries: Iterable[WalkedFile]) -> tuple[str, ...]:
    """Return the paths, sorted; where nothing in a folder is among the entries, the folder instead."""
    if not paths:
        return ()
    present = {folder for entry in entries for folder in _folders(entry.path)}
    return tuple(sorted({next((each for each in _folders(path) if each not in present), path) for path in paths}))


def _folders(path: str) -> Iterator[str]:
    """Yield the folders of a path, the outermost first."""
    parts = path.split("/")
    return ("/".join(parts[:depth]) for depth in range(1, len(parts)))


@dataclass(frozen=True, slots=True)
class TreeListing:
    """Everything in a folder that git would not ignore: also links, pipes, empty folders and nested repositories.

    git's own folders (`.git`) are left out at every depth. Nothing is opened but ignore files.

    Attributes:
        paths: Files, links and all else that is no folder, sorted.
        folders: Folders, sorted; the root is not one of them.
        ignored: What was left out, unsorted; a folder that is ignored as a whole ends in "/".
        complete: False when the folder is too large, when the ignore files took too long, or when the user stopped.
    """

    paths: tuple[str, ...]
    folders: tuple[str, ...]
    ignored: frozenset[str]
    complete: bool = True


def list_tree(root: Path, should_stop: Callable[[], bool] = lambda: False) -> TreeListing:
    """List a folder as git sees it, and each repository inside it as its own git sees it.

    Tracked files are listed even where git ignores them. Where git does not answer, `.gitignore` files are applied.
    """
    with RootFolder(root) as tree:
        walker = _TreeWalker(tree, root, should_stop)
        walker.walk(MAX_FILES)
        complete = not should_stop() and walker.tries_left > 0 and len(walker.files) < MAX_FILES
    folders = frozenset(walker.folders)
    found = {*walker.files, *folders}
    # On a file system that ignores case the index may have another spelling of a name.
    spelt = {folded(path) for path in found}
    files = {*walker.files, *(path for path in walker.tracked - found if folded(path) not in spelt)}
    return TreeListing(
        tuple(sorted(files)), tuple(sorted(folders)), frozenset(walker.ignored - walker.tracked), complete
    )


def folded(path: str) -> str:
    """Return a path as the most permissive file systems compare it: without case, and with accents composed."""
    return path if path.isascii() and path.islower() else unicodedata.normalize("NFC", path).casefold()


class _Walker:
    """A walk without git's help.

    Attributes:
        tries_left: Pattern attempts left; the walk ends when they are used up.
        bare: Bare repositories so far, which are left out; "" is the folder itself.
    """

    def __init__(self, tree: RootFolder, should_stop: Callable[[], bool]) -> None:
        self._tree = tree
        self._should_stop = should_stop
        self._patterns_left = _IGNORE_PATTERNS
        self.tries_left = _IGNORE_TRIES
        self.bare: list[str] = []

    def paths(self) -> Iterator[str]:
        """Yield the relative paths that no `.gitignore` on the way excludes, breadth first."""
        pending: deque[tuple[str, _Specs]] = deque([("", _default_ignores())])
        while pending and not self._should_stop():
            folder, above = pending.popleft()
            specs = [*above, *self._own_ignores(folder)]
            patterns = sum(len(spec.patterns) for _, spec in specs)
            children = self._children(folder)
            if _IN_GIT_FOLDER.issubset(children):
                self.bare.append(folder.removesuffix("/"))
                continue
            for name, is_folder in children:
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

    def _children(self, folder: str, *, links: bool = False) -> list[tuple[str, bool]]:
        """Return the names in a folder, sorted, and whether each is a folder; links (never folders) on request."""
        try:
            with os.scandir(self._tree.folder(folder.removesuffix("/"))) as found:
                return sorted(
                    (entry.name, entry.is_dir(follow_symlinks=False))
                    for entry in found
                    if links or not entry.is_symlink()
                )
        except OSError:
            return []

    def _own_ignores(self, folder: str) -> _Specs:
        """Return the folder's own `.gitignore`, if it is readable and within the limit of patterns."""
        try:
            holder = self._tree.folder(folder.removesuffix("/"))
            data = read_small_file(".gitignore", _IGNORE_FILE_LIMIT_BYTES, dir_fd=holder, follow=False)
            lines = _harmless(data.decode("utf-8-sig", "replace").splitlines())
            if len(lines) > self._patterns_left:
                return []
            self._patterns_left -= len(lines)
            return [(folder, _compiled(lines))]
        except (OSError, ValueError):
            return []


class _TreeWalker(_Walker):
    """A walk that collects a `TreeListing`.

    Attributes:
        files, folders, ignored: As in the listing.
        tracked: Paths in the index of the folder's repository and of those inside it.
    """

    def __init__(self, tree: RootFolder, root: Path, should_stop: Callable[[], bool]) -> None:
        super().__init__(tree, should_stop)
        self._root = root
        self._repositories_left = _ASKED_REPOSITORIES
        self.files: list[str] = []
        self.folders: list[str] = []
        self.ignored: set[str] = set()
        self.tracked: set[str] = set()

    def walk(self, limit: int) -> None:
        """Collect, breadth first, at most about `limit` files."""
        # Per folder: its path, and the ignore files above it; None where git's own list applies.
        pending: deque[tuple[str, _Specs | None]] = deque([("", self._rules("", None))])
        while pending and not self._should_stop() and self.tries_left > 0 and len(self.files) < limit:
            folder, specs = pending.popleft()
            children = self._children(folder, links=True)
            if folder and any(name == _GIT_FOLDER for name, _ in children):
                specs = self._rules(folder, specs)
            specs = specs and [*specs, *self._own_ignores(folder)]
            self.tries_left -= sum(len(spec.patterns) for _, spec in specs or ()) * len(children)
            for name, is_folder in children:
                path = f"{folder}{name}"
                marked = path + "/" * is_folder
                if name == _GIT_FOLDER or marked in self.ignored:
                    continue
                if specs and _ignored(marked, specs):
                    self.ignored.add(marked)
                elif is_folder:
                    self.folders.append(path)
                    pending.append((marked, specs))
                else:
                    self.files.append(path)

    def _rules(self, folder: str, above: _Specs | None) -> _Specs | None:
        """Return the ignore rules of a repository's folder; None when its git says what is ignored."""
        place = self._root / folder
        ignored = tracked = None
        if self._repositories_left > 0 and repository.is_repository(place):
            self._repositories_left -= 1
            ignored, tracked = (
                ask(place, self._should_stop) for ask in (repository.ignored_paths, repository.tracked_files)
            )
        # A folder that its own repository ignores is still the one that the user works in.
        if ignored is None or tracked is None or "./" in ignored:
            return above or _default_ignores()
        self.ignored.update(folder + path for path in ignored)
        self.tracked.update(folder + path for path in tracked)
        return None


@cache
def _default_ignores() -> _Specs:
    return [("", _compiled(_DEFAULT_IGNORES))]


def is_generated(path: str) -> bool:
    """Return whether a path is never source, even if git lists it: a cache, an environment, a compiler's output."""
    return _ignored(path, _default_ignores())


def _compiled(patterns: Iterable[str]) -> "GitIgnoreSpec":
    from pathspec import GitIgnoreSpec  # it takes longer to import than git takes to list most folders

    return GitIgnoreSpec.from_lines(patterns)


def _harmless(lines: Iterable[str]) -> list[str]:
    """Return the patterns without those whose time could grow without limit."""
    return [line for line in lines if line.count("**") <= _IGNORE_STARS >= line.replace("**", "").count("*")]


def _ignored(path: str, specs: _Specs) -> bool:
    """Return whether the last pattern that matches the path excludes it; deeper ignore files take precedence."""
    for folder, spec in reversed(specs):
        verdict = spec.check_file(path[len(folder) :]).include
        if verdict is not None:
            return verdict
    return False
