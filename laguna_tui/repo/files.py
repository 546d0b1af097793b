"""The walk: which files of a folder are worth looking at, in a fixed order, without following a link anywhere.

Deals in paths relative to the folder, with "/" between the parts. Reads no file's contents except `.gitignore`.
What git would ignore is left out; pipes, devices, sockets and links are left out; what cannot be read is passed over.
"""

import os
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import pathspec

from laguna_tui.repo import git

# Larger files are data or logs; searching them would cost seconds and fill the context with noise.
SEARCH_LIMIT_BYTES = 4 * 1024 * 1024
# The largest repositories have half as many. Each takes a quarter of a kilobyte here, and a millionth of a minute.
MAX_FILES = 1_000_000
# Between two looks at whether the user stopped.
_STRIDE = 1_000
# Without git, these are never source.
_DEFAULT_IGNORES = """
    .hg .svn .jj __pycache__ .mypy_cache .ruff_cache .pytest_cache .hypothesis .tox .nox .venv venv
    node_modules bower_components .gradle .idea .next .nuxt .terraform .DS_Store *.pyc *.o *.class
""".split()
_GIT_FOLDER = ".git"
# An ignore file that is longer is not one. Each pattern is tried on each file.
_IGNORE_FILE_LIMIT_BYTES = 64 * 1024
# Patterns become regular expressions, and each star more multiplies the time by the length of a name.
_IGNORE_STARS = 3


@dataclass(frozen=True, slots=True)
class Entry:
    """One regular file: its path relative to the folder, its size in bytes, and when it was changed, if known."""

    path: str
    size: int
    mtime_ns: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Listing:
    """Files sorted by path; not `complete` when there were more than `MAX_FILES` or the user stopped."""

    entries: tuple[Entry, ...]
    complete: bool = True


def walk(root: Path, should_stop: Callable[[], bool] = lambda: False) -> Listing:
    """The folder's files: as git lists them, else by walking with the `.gitignore` files, near ones first."""
    listed = git.list_files(root, should_stop) if git.is_repository(root) else None
    # A folder that its own repository ignores has no files in git's eyes; the user still wants to look at it.
    found = sorted(set(listed)) if listed else _walked(root, should_stop)
    paths = iter(found)
    entries: list[Entry] = []
    looked_at = 0
    while (
        looked_at < MAX_FILES
        and not should_stop()
        and (some := list(islice(paths, min(_STRIDE, MAX_FILES - looked_at))))
    ):
        entries += filter(None, (_entry(root, path) for path in some))
        looked_at += len(some)
    complete = next(paths, None) is None and not should_stop()
    return Listing(tuple(sorted(entries, key=lambda entry: entry.path)), complete)


def _entry(root: Path, path: str) -> Entry | None:
    """The entry of a regular file, or None for everything else and for what is gone."""
    try:
        # Joined as text: this runs once a file, and pathlib takes longer than the system call.
        status = os.lstat(f"{root}/{path}")
    except OSError:
        return None
    return Entry(path, status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None


def _walked(root: Path, should_stop: Callable[[], bool]) -> Iterator[str]:
    """Relative paths below the folder that no `.gitignore` on the way excludes, breadth first."""
    pending = deque([("", [("", pathspec.GitIgnoreSpec.from_lines(_DEFAULT_IGNORES))])])
    while pending and not should_stop():
        folder, above = pending.popleft()
        specs = [*above, *_own_ignores(root, folder)]
        for name, is_folder in _children(root / folder):
            path = f"{folder}{name}"
            if name == _GIT_FOLDER or _ignored(path + "/" * is_folder, specs):
                continue
            if is_folder:
                pending.append((path + "/", specs))
            else:
                yield path


def _children(folder: Path) -> list[tuple[str, bool]]:
    """Names in a folder, sorted, and whether each is a folder itself; links are left out."""
    try:
        with os.scandir(folder) as found:
            return sorted(
                (entry.name, entry.is_dir(follow_symlinks=False)) for entry in found if not entry.is_symlink()
            )
    except OSError:
        return []


def _own_ignores(root: Path, folder: str) -> list[tuple[str, pathspec.GitIgnoreSpec]]:
    """The folder's own `.gitignore`, if it has a readable one."""
    path = root / folder / ".gitignore"
    try:
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _IGNORE_FILE_LIMIT_BYTES:
            return []
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        return [(folder, pathspec.GitIgnoreSpec.from_lines(_harmless(lines)))]
    except (OSError, ValueError):
        return []


def _harmless(lines: Iterable[str]) -> list[str]:
    """The patterns without those that could take for ever."""
    return [line for line in lines if line.count("**") <= _IGNORE_STARS >= line.replace("**", "").count("*")]


def _ignored(path: str, specs: list[tuple[str, pathspec.GitIgnoreSpec]]) -> bool:
    """Whether the last pattern that speaks of the path excludes it; deeper ignore files speak last."""
    for folder, spec in reversed(specs):
        verdict = spec.check_file(path[len(folder) :]).include
        if verdict is not None:
            return verdict
    return False
