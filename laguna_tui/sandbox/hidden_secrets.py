"""Files with secrets as a command finds them, so that it neither reads them nor commits something else in their place.

A file that the last commit contains is shown, because a command can read it from the history anyway: often the keys of
a test. In place of a tracked file with other contents a command reads those of the last commit, so for git it is
unchanged. A file that git would add is unreadable, so that adding it fails. Everything else is empty.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path

from laguna_engine.native.child import find_program
from laguna_tui.repo.git import git_objects
from laguna_tui.repo.git.git_objects import TreeEntry
from laguna_tui.repo.git.repository import top_of

_MAX_COMMITTED_BYTES = 16 << 20
"""A committed file that is larger is unreadable instead of being copied for each command."""


class Appearance(Enum):
    """How a command finds a hidden file or folder."""

    EMPTY = "empty"
    COMMITTED = "committed"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class HiddenPath:
    """A file or folder of the workspace whose contents a command cannot read.

    Attributes:
        path: Its place, without links.
        appearance: How a command finds it.
        committed: The contents of the last commit, for `Appearance.COMMITTED`.
    """

    path: Path
    appearance: Appearance
    committed: bytes = b""


def hidden_secrets(
    secrets: Iterable[Path], top: Path, shows: Callable[[str], bool], git_wrapper: Sequence[str] | None
) -> tuple[HiddenPath, ...]:
    """Return what of a workspace's secrets a command must not read, nearest first.

    Args:
        secrets: Files and folders with secrets.
        top: The workspace, without links in its path.
        shows: Whether a file may be read nevertheless, by its path in the workspace.
        git_wrapper: A command that runs git where it cannot read other secrets: a repository may lead to objects
            anywhere. None where contents of commits cannot be shown.
    """
    named = (path for path in secrets if path.is_relative_to(top) and not shows(str(path.relative_to(top))))
    real = (path for path in dict.fromkeys(Path(os.path.realpath(path)) for path in named) if path.exists())
    repository_of = cache(top_of)
    has_git = find_program("git") is not None
    groups: dict[Path | None, list[Path]] = {}
    for path in real:
        repository = repository_of(path.parent) if has_git and path.is_relative_to(top) else None
        groups.setdefault(repository, []).append(path)
    hidden = [HiddenPath(path, Appearance.EMPTY) for path in groups.pop(None, ())]
    for repository, paths in groups.items():
        if repository is not None:
            hidden += _in_repository(repository, paths, git_wrapper)
    hidden.sort(key=lambda secret: len(secret.path.parts))
    return tuple(hidden)


def _in_repository(repository: Path, paths: Sequence[Path], git_wrapper: Sequence[str] | None) -> Iterator[HiddenPath]:
    """Yield what must be hidden of some files and folders whose nearest repository is this one."""
    files: dict[str, Path] = {}
    for path in paths:
        name = str(path.relative_to(repository))
        if not path.is_dir():
            files[name] = path
        elif git_objects.index_entries(repository, [name]):
            # An empty folder in its place would be committed as the deletion of its files.
            files |= {str(each.relative_to(repository)): each for each in _files_below(path)}
        else:
            yield HiddenPath(path, Appearance.EMPTY)
    head = git_objects.head_entries(repository, list(files))
    changed = [
        name for name, path in files.items() if name not in head or not git_objects.is_as_committed(path, head[name])
    ]
    if not changed:
        return
    index = git_objects.index_entries(repository, changed) or {}
    ignored = git_objects.ignored_files(repository, changed) or ()
    committed = {} if git_wrapper is None else _committed(repository, head, index, changed, git_wrapper)
    for name in changed:
        if name in committed:
            yield HiddenPath(files[name], Appearance.COMMITTED, committed[name])
        elif name in ignored:
            yield HiddenPath(files[name], Appearance.EMPTY)
        else:
            yield HiddenPath(files[name], Appearance.UNREADABLE)


def _committed(
    repository: Path,
    head: Mapping[str, TreeEntry],
    index: Mapping[str, TreeEntry],
    names: Iterable[str],
    git_wrapper: Sequence[str],
) -> dict[str, bytes]:
    """Return the contents of files in the last commit, if git takes a file with them as unchanged."""
    ids = {
        name: head[name].object_id
        for name in names
        if name in head
        and name in index
        and head[name].is_regular
        and head[name].size <= _MAX_COMMITTED_BYTES
        and head[name].object_id == index[name].object_id
    }
    for name in git_objects.converted_files(repository, list(ids)):
        del ids[name]
    contents = git_objects.blobs(repository, ids.values(), git_wrapper)
    return {name: contents[object_id] for name, object_id in ids.items() if object_id in contents}


def _files_below(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        yield from (path for name in names if (path := Path(place, name)).is_file() and not path.is_symlink())
