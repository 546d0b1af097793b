"""The walk: which files of a folder are worth looking at, in a fixed order, without following a link anywhere.

Deals in paths relative to the folder, with "/" between the parts. Reads no file's contents except `.gitignore`.
What git would ignore is left out; pipes, devices, sockets and links are left out; what cannot be read is passed over.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pathspec

from laguna_tui.repo import git

# Larger files are data or logs; searching them would cost seconds and fill the context with noise.
SEARCH_LIMIT_BYTES = 4 * 1024 * 1024
# Without git, these are never source.
_DEFAULT_IGNORES = """
    .hg .svn .jj __pycache__ .mypy_cache .ruff_cache .pytest_cache .hypothesis .tox .nox .venv venv
    node_modules bower_components .gradle .idea .next .nuxt .terraform .DS_Store *.pyc *.o *.class
""".split()
_GIT_FOLDER = ".git"
# An ignore file larger than this is not one.
_IGNORE_FILE_LIMIT_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Entry:
    """One regular file: its path relative to the folder, and its size in bytes."""

    path: str
    size: int


def walk(root: Path) -> list[Entry]:
    """The folder's files, sorted by path: as git lists them, else by walking with the `.gitignore` files."""
    listed = git.list_files(root) if git.is_repository(root) else None
    # A folder that its own repository ignores has no files in git's eyes; the user still wants to look at it.
    paths = listed or _walked(root)
    entries = (_entry(root, path) for path in sorted(set(paths)))
    return [entry for entry in entries if entry is not None]


def _entry(root: Path, path: str) -> Entry | None:
    """The entry of a regular file, or None for everything else and for what is gone."""
    try:
        status = os.lstat(root / path)
    except OSError:
        return None
    return Entry(path, status.st_size) if stat.S_ISREG(status.st_mode) else None


def _walked(root: Path) -> Iterator[str]:
    """Relative paths below the folder that no `.gitignore` on the way excludes."""
    ignores = [("", pathspec.GitIgnoreSpec.from_lines(_DEFAULT_IGNORES))]
    pending = [("", ignores)]
    while pending:
        folder, above = pending.pop()
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
    """Names in a folder and whether each is a folder itself; links count as neither and are left out."""
    try:
        with os.scandir(folder) as found:
            return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in found if not entry.is_symlink()]
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
        return [(folder, pathspec.GitIgnoreSpec.from_lines(lines))]
    except (OSError, ValueError):
        return []


def _ignored(path: str, specs: list[tuple[str, pathspec.GitIgnoreSpec]]) -> bool:
    """Whether the last pattern that speaks of the path excludes it; deeper ignore files speak last."""
    for folder, spec in reversed(specs):
        verdict = spec.check_file(path[len(folder) :]).include
        if verdict is not None:
            return verdict
    return False
