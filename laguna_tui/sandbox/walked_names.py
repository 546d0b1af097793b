"""The names that a walk looks for, compared without regard to case, as some file systems do."""

import re
from collections.abc import Callable, Iterable
from fnmatch import translate
from functools import cache
from typing import NamedTuple

from laguna_tui.repo.files.protected_paths import folded, is_git_name, protected_names
from laguna_tui.repo.files.sensitive_paths import PRIVATE_KEYS, sensitive_names, sensitive_reason

RUN_BY_GIT = ("config", "config.worktree", "hooks", "commondir", "info/attributes", "modules", "worktrees")
"""What git executes or follows in one of its folders."""
SHAPE = frozenset(("HEAD", "objects", "refs"))
OF_A_REPOSITORY = frozenset((*SHAPE, *RUN_BY_GIT))


def is_protected(folder: str, name: str) -> bool:
    """Return whether a file or folder is in the table of protected names.

    Args:
        folder: Path of the folder that it is in, relative to any folder.
    """
    starts = frozenset[str]()
    for part in folder.split("/"):
        starts = table_starts(starts, fold(part))
    return is_table_name(starts, fold(name))


def has_protected_parts(name: str) -> bool:
    """Return whether the table has files in a folder of this name."""
    return bool(table_starts((), fold(name)))


def is_secret(above: str, name: str, is_folder: bool, dependency: bool) -> bool:
    """Return whether a file's name, or a folder's, says that there are secrets in it."""
    why = sensitive_reason(f"{above}/{name}/." if is_folder else f"{above}/{name}")
    return bool(why) and not (dependency and why == PRIVATE_KEYS)


def fold(name: str) -> str:
    """Return a name as the table has it. Most are ASCII, and a walk sees many."""
    return (name.lower().rstrip(" .") or name) if name.isascii() else folded(name)


class _NameTable(NamedTuple):
    """The table's plain names, its names of several parts, the beginnings of these, and its globs."""

    plain: frozenset[str]
    paths: frozenset[str]
    starts: frozenset[str]
    globs: Callable[[str], re.Match[str] | None]


@cache
def _table() -> _NameTable:
    names = [folded(name) for name in protected_names()]
    paths = [name for name in names if "/" in name]
    starts = {name[:at] for name in paths for at, letter in enumerate(name) if letter == "/"}
    plain = frozenset(name for name in names if "/" not in name and "*" not in name)
    globs = re.compile("|".join(translate(name) for name in names if "*" in name))
    return _NameTable(plain, frozenset(paths), frozenset(starts), globs.match)


def table_starts(before: Iterable[str], name: str) -> frozenset[str]:
    """Return the beginnings of multi-part names that a folder's path ends with; `before` are those of its parent."""
    starts = _table().starts
    return frozenset(path for path in (name, *(f"{start}/{name}" for start in before)) if path in starts)


def is_table_name(starts: frozenset[str], name: str) -> bool:
    table = _table()
    if name in table.plain or is_git_name(name) or table.globs(name) is not None:
        return True
    return any(f"{start}/{name}" in table.paths for start in starts)


def is_unusual(name: str) -> bool:
    """Return whether a folded name may be one that is looked for; false for most names, and fast."""
    plain, extensions, others = _unusual_names()
    return name in plain or name.rpartition(".")[2] in extensions or others(name) is not None


@cache
def _unusual_names() -> tuple[frozenset[str], frozenset[str], Callable[[str], re.Match[str] | None]]:
    """Return the names to look for: plain ones, extensions as in *.pem, and a match for the others."""
    names = {folded(name.rpartition("/")[2]) for name in (*protected_names(), *sensitive_names())}
    names |= {*map(fold, OF_A_REPOSITORY), ".git", "git~1"}
    extensions = {name for name in names if name.startswith("*.") and not {"*", "."} & set(name[2:])}
    globs = {name for name in names if "*" in name} - extensions
    others = re.compile("|".join(map(translate, sorted(globs))))
    return frozenset(names - extensions - globs), frozenset(name[2:] for name in extensions), others.match
