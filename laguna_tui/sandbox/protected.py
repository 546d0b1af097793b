"""Which files of the workspace a command cannot change or read: what git, assistants and editors execute, and secrets.

Existing ones are found by a walk from the top, nearest first. Absent ones are held in git's folders alone; elsewhere
`quarantine` moves what a command creates.
"""

import contextlib
import errno
import os
import re
import stat
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import translate
from functools import cache
from pathlib import Path

from laguna_engine.files import read_small_file
from laguna_tui.base.path_globs import PathGlob
from laguna_tui.base.paths import too_wide_because
from laguna_tui.repo import git, git_programs
from laguna_tui.repo.protected_paths import folded, is_git_name, protected_names
from laguna_tui.repo.sensitive_paths import sensitive_because

MAX_ENTRIES = 50_000
"""Entries of folders that the walk looks at: 0.1 s."""
MAX_BELOW = 200
"""Protected files below the top that are held: each is a mount, and their cost grows with their square."""
MAX_RULED = 200
"""Files and folders that the user's rules keep from commands, for the same reason."""
_TOO_MANY = "a rule for a path keeps more than {most} files from commands; name their folder, as in read(data/**)"
_PART_OF_A_REPOSITORY = (
    "git cannot change the repository, because this session's folder is only a part of it; the user can commit the"
    " folder with /commit, and for everything else start in the repository's root, {top}"
)
_LEADS_ELSEWHERE = (
    "git cannot change the repository, because its data is in {folder}, which does not name this folder as its own; the"
    " user can run git in their own shell"
)
_OTHER_WORK_TREE = (
    "git cannot change the repository, because core.worktree names another folder than the one that contains .git; the"
    " user can run git in their own shell"
)
_SKIPPED = frozenset("node_modules .venv venv __pycache__ .tox .nox .mypy_cache .ruff_cache .pytest_cache".split())
"""Folders of other people's code, which nobody opens in an editor, and of caches."""
_POINTER_BYTES = 16 * 1024
_SHAPE = {"HEAD", "objects", "refs"}

_RUN_BY_GIT = ("config", "config.worktree", "hooks", "commondir", "info/attributes", "modules", "worktrees")
_ONLY_THERE = ("gitdir",)


@dataclass
class ProtectedFiles:
    """What a command cannot change, without links in its path.

    Attributes:
        held: Existing files and folders that are read-only.
        absent: Places in git's folders where nothing may be created.
        forbidden: Other places where nothing may be created.
        anchored: Folders that stay where they are, because something below them is held.
        git: Folders of git outside the workspace that a commit writes to.
        around: Folders outside the workspace that git needs and that are read-only.
        git_read_only: Why git refuses to change the workspace's repository, as a sentence; empty if it can.
        links: Links that are to stay as they are, and their targets: nothing can be mounted over a link.
        found: Every protected path that exists, and its device and inode.
        secrets: Existing files and folders in the workspace that hold secrets, as their names say, nearest first.
    """

    held: set[Path] = field(default_factory=set)
    absent: set[Path] = field(default_factory=set)
    forbidden: set[Path] = field(default_factory=set)
    anchored: set[Path] = field(default_factory=set)
    git: set[Path] = field(default_factory=set)
    around: set[Path] = field(default_factory=set)
    git_read_only: str = ""
    links: dict[Path, str] = field(default_factory=dict)
    found: dict[Path, tuple[int, int]] = field(default_factory=dict)
    secrets: list[Path] = field(default_factory=list)

    def anchor(self, paths: Iterable[Path], tops: Sequence[Path]) -> None:
        """Keep the folders above some paths where they are: a name is hidden or held only at its place.

        Args:
            paths: What is hidden or held.
            tops: The folders that a command may write to.
        """
        # A folder mounted again below a read-only one would be writable.
        read_only = {*self.held, *self.absent}
        folders = {folder for path in paths for folder in path.parents if any(_inside(folder, top) for top in tops)}
        self.anchored |= {folder for folder in folders if read_only.isdisjoint((folder, *folder.parents))}


def protected_files(
    roots: Iterable[Path],
    unwritable: Iterable[Path] = (),
    unreadable: Iterable[Path] = (),
    *,
    commits: bool = False,
) -> ProtectedFiles:
    """Return what a command that may write to `roots` cannot change.

    Args:
        roots: Folders without links in their path.
        unwritable: More that exists and is not to be changed.
        unreadable: What is hidden, and has to stay where it is.
        commits: Whether it may write to the repository around a root.
    """
    files = ProtectedFiles(held=set(unwritable))
    tops = tuple(dict.fromkeys(roots))
    for top in tops:
        _hold_the_repository_around(files, top, tops, commits=commits)
        below = 0
        for path, identity in protected_paths(top, files.secrets).items():
            files.found[path] = identity
            below += path.parent != top
            if below <= MAX_BELOW:
                _hold(files, path, tops)
    read_only = {*files.held, *files.absent}
    files.anchored = {path for path in files.anchored if read_only.isdisjoint((path, *path.parents))}
    files.anchor((*read_only, *unreadable), (*tops, *files.git))
    files.held = {
        path for path in files.held if read_only.isdisjoint(path.parents) or path.parent.parent.name == "worktrees"
    }
    files.absent = {path for path in files.absent - files.held if read_only.isdisjoint(path.parents)}
    return files


def protected_paths(top: Path, secrets: list[Path] | None = None) -> dict[Path, tuple[int, int]]:
    """Return the protected files and folders below a folder, and the device and inode of each, nearest first.

    Args:
        top: The folder.
        secrets: Gets the files and folders with secrets besides.
    """
    found = dict(_walk(top, secrets))
    for path in [path for path in found if is_git_name(_folded(path.name))]:
        for state in git_programs.resumed_programs(path.parent):
            with contextlib.suppress(OSError):
                found[state] = state.lstat()
    return {path: (status.st_dev, status.st_ino) for path, status in found.items()}


def ruled_paths(top: Path, globs: Sequence[str]) -> tuple[Path, ...]:
    """Return the files and folders below a folder that match a glob, without links; of a folder not what is in it.

    Args:
        top: The folder, without links in its path.
        globs: As those of `SandboxPolicy`.

    Raises:
        OSError: There are too many of them.
    """
    if not globs:
        return ()
    wanted = [PathGlob("/".join(map(_folded, (glob if "/" in glob else f"**/{glob}").split("/")))) for glob in globs]
    pending = deque([(top, [glob.start for glob in wanted])])
    left, found = MAX_ENTRIES, list[Path]()
    while pending and left > 0:
        folder, before = pending.popleft()
        entries = [entry for entry in _entries(folder) if not is_git_name(entry.name)]
        left -= len(entries)
        for entry in entries:
            name = _folded(entry.name)
            states = [glob.after(state, name) for glob, state in zip(wanted, before, strict=True)]
            if any(glob.is_match(state) for glob, state in zip(wanted, states, strict=True)):
                found.append(Path(os.path.realpath(entry.path)))
            elif any(states) and name not in _SKIPPED and entry.is_dir(follow_symlinks=False):
                pending.append((Path(entry.path), states))
        if len(found) > MAX_RULED:
            raise OSError(errno.E2BIG, _TOO_MANY.format(most=MAX_RULED))
    return tuple(dict.fromkeys(path for path in found if path.exists()))


def _walk(top: Path, secrets: list[Path] | None = None) -> Iterator[tuple[Path, os.stat_result]]:
    pending, left, cut = deque([(top, "")]), MAX_ENTRIES, len(str(top)) + 1
    while pending and left > 0:
        folder, own = pending.popleft()
        entries = _entries(folder)
        left -= len(entries)
        if _SHAPE.issubset(entry.name for entry in entries):
            # git takes such a folder for a repository wherever it is.
            yield from _existing(entry for entry in entries if entry.name in ("HEAD", *_RUN_BY_GIT))
        for entry in entries:
            name = _folded(entry.name)
            secret = secrets is not None and _holds_secrets(entry, entry.path[cut:])
            if secret and secrets is not None:
                secrets.append(Path(entry.path))
            if _is_protected(own, name):
                yield from _existing([entry])
            elif not secret and name not in _SKIPPED and entry.is_dir(follow_symlinks=False):
                pending.append((Path(entry.path), f"{own}/{name}"))


def _holds_secrets(entry: os.DirEntry[str], inside: str) -> bool:
    """Whether a file's name, or a folder's, says that there are secrets in it."""
    return bool(sensitive_because(f"{inside}/." if entry.is_dir(follow_symlinks=False) else inside))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _existing(entries: Iterable[os.DirEntry[str]]) -> Iterator[tuple[Path, os.stat_result]]:
    for entry in entries:
        with contextlib.suppress(OSError):
            yield Path(entry.path), entry.stat(follow_symlinks=False)


def _folded(name: str) -> str:
    """A name as the table has it; most are ASCII, and a walk sees many."""
    return (name.lower().rstrip(" .") or name) if name.isascii() else folded(name)


@cache
def _table() -> tuple[frozenset[str], dict[str, tuple[str, ...]], re.Pattern[str]]:
    """The table's plain names, the folders in which it has further names, and its globs."""
    names = [folded(name) for name in protected_names()]
    plain = frozenset(name for name in names if "/" not in name and "*" not in name)
    folders: dict[str, tuple[str, ...]] = {}
    for folder, slash, last in (name.rpartition("/") for name in names):
        if slash:
            folders[last] = (*folders.get(last, ()), f"/{folder}")
    return plain, folders, re.compile("|".join(translate(name) for name in names if "*" in name))


def is_protected(folder: str, name: str) -> bool:
    """Return whether the table has a file or folder.

    Args:
        folder: Path of the folder that it is in.
        name: Its own.
    """
    return _is_protected("/".join(map(_folded, folder.split("/"))), _folded(name))


def has_protected_parts(name: str) -> bool:
    """Return whether the table has files in a folder of this name."""
    first = f"/{_folded(name)}"
    return any(f"{folder}/".startswith(f"{first}/") for folders in _table()[1].values() for folder in folders)


def _is_protected(folder: str, name: str) -> bool:
    """Return whether the table has a name, in a folder with a path that ends as given; both are folded."""
    plain, folders, globs = _table()
    if name in plain or is_git_name(name) or globs.match(name):
        return True
    return name in folders and f"/{folder}".endswith(folders[name])


def _hold_the_repository_around(files: ProtectedFiles, top: Path, tops: Iterable[Path], *, commits: bool) -> None:
    """Show a repository whose top is further up; only a commit may write to it, and not to what git executes from it.

    Otherwise git could move a branch without the files outside the workspace that belong to it.
    """
    above = git.top_of(top)
    if above is None or above == top:
        return
    files.around |= {above, *git.git_folders(above)}
    own = above / ".git"
    if not commits or too_wide_because(above):
        files.git_read_only = _PART_OF_A_REPOSITORY.format(top=above)
        return
    _hold_configured(files, above, tops)
    if not own.is_dir() or own.is_symlink():
        _hold_worktree(files, own, tops)
    elif git.has_other_work_tree(above):
        files.git_read_only = _OTHER_WORK_TREE
    else:
        files.git.add(own)
        _hold_git(files, own, tops)


def _hold(files: ProtectedFiles, path: Path, tops: Iterable[Path]) -> None:
    """Hold an existing protected file, and what git executes if it is git's."""
    try:
        status = path.lstat()
    except OSError:
        return
    if stat.S_ISLNK(status.st_mode):
        _hold_link(files, path, tops)
    elif not is_git_name(_folded(path.name)):
        files.held.add(path)
    elif stat.S_ISDIR(status.st_mode):
        if git.has_other_work_tree(path.parent):
            files.held.add(path)
            if path.parent in tops:
                files.git_read_only = _OTHER_WORK_TREE
        files.anchored.add(path)
        _hold_git(files, path, tops)
        _hold_configured(files, path.parent, tops)
    else:
        files.held.add(path)
        _hold_worktree(files, path, tops)
        _hold_configured(files, path.parent, tops)


def _hold_link(files: ProtectedFiles, path: Path, tops: Iterable[Path]) -> None:
    files.links[path] = os.readlink(path)  # noqa: PTH115
    real = Path(os.path.realpath(path))
    if real.exists() and any(_inside(real, top) for top in tops):
        files.held.add(real)


def _hold_git(files: ProtectedFiles, folder: Path, tops: Iterable[Path]) -> None:
    """Hold what git executes or follows in one of its folders."""
    if not folder.is_dir():
        return
    for name in (*_RUN_BY_GIT, *_ONLY_THERE):
        path = folder / name
        if path.parent.is_symlink():
            # Nothing is mounted below a link: it may lead out of the workspace.
            path = path.parent
        if path.is_symlink():
            _hold_link(files, path, tops)
        elif path.exists():
            files.held.add(path)
        elif name not in _ONLY_THERE:
            files.absent.add(path)


def _hold_worktree(files: ProtectedFiles, pointer: Path, tops: Iterable[Path]) -> None:
    """Hold the folders that a `.git` file leads to; writable only if git says there that they belong to it.

    The file may be anybody's, and lead anywhere.
    """
    folders = git.git_folders(pointer.parent)
    inside = [folder for folder in folders if any(_inside(folder, top) for top in tops)]
    if _belongs_to(pointer, folders) and (len(folders) > 1 or not inside):
        files.git.update(folders)
        inside = [*folders]
    elif folders and pointer.parent in tops:
        files.git_read_only = _LEADS_ELSEWHERE.format(folder=folders[0])
    for folder in inside:
        _hold_git(files, folder, tops)


def _belongs_to(pointer: Path, folders: Sequence[Path]) -> bool:
    """Whether a worktree's or a submodule's folders of git name the folder of a `.git` file as theirs."""
    match folders:
        case [own]:
            return git.work_tree(own) == Path(os.path.realpath(pointer.parent))
        case [own, common]:
            return own.parent == common / "worktrees" and _leads_back(own, pointer)
        case _:
            return False


def _leads_back(own: Path, pointer: Path) -> bool:
    try:
        text = os.fsdecode(read_small_file(own / "gitdir", _POINTER_BYTES)).strip()
    except (OSError, ValueError):
        return False
    return os.path.realpath(own / text) == os.path.realpath(pointer)


def _hold_configured(files: ProtectedFiles, top: Path, tops: Iterable[Path]) -> None:
    """Hold what git's configuration names, as far as a command could write to it, and show folders elsewhere."""
    writable = (*tops, *files.git)
    for path in git_programs.configured_paths(top) or ():
        real = Path(os.path.realpath(path))
        # A name can be too long for a file.
        with contextlib.suppress(OSError):
            if path.is_symlink() and any(_inside(path, place) for place in writable):
                _hold_link(files, path, tops)
            elif any(_inside(real, place) for place in writable):
                if real in (top, *tops):
                    continue
                absent = files.absent if any(map(is_git_name, real.parts)) else files.forbidden
                (files.held if real.exists() else absent).add(real)
            elif real.is_dir() and not any(real.is_relative_to(place) for place in tops):
                files.around.add(real)


def _inside(path: Path, top: Path) -> bool:
    return path != top and path.is_relative_to(top)
