"""Which files of the workspace a command cannot change or read: what git, assistants and editors execute, and secrets.

Existing ones are found by `folder_walk`. Absent ones are held in git's folders alone; elsewhere
`quarantine` moves what a command creates.
"""

import contextlib
import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from laguna_engine.files import read_small_file
from laguna_tui.base.paths import too_wide_reason
from laguna_tui.repo.files.protected_paths import is_git_name
from laguna_tui.repo.git import git_programs, repository
from laguna_tui.sandbox.folder_walk import FolderWalk, SensitivePaths
from laguna_tui.sandbox.walked_names import RUN_BY_GIT

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
_POINTER_BYTES = 16 * 1024
_ONLY_THERE = ("gitdir",)


@dataclass
class ProtectedFiles:
    """What a command cannot change, without links in its path.

    Attributes:
        root: The workspace, without links in its path.
        held: Existing files and folders that are read-only.
        absent: Places in git's folders where nothing may be created.
        forbidden: Other places where nothing may be created.
        anchored: Folders that stay where they are, because something below them is held.
        git: Folders of git outside the workspace that a commit writes to.
        around: Folders outside the workspace that git needs and that are read-only.
        git_read_only: Why git refuses to change the workspace's repository, as a sentence; empty if it can.
        links: Links that are to stay as they are, and their targets: nothing can be mounted over a link.
        found: Every protected path that exists, and its device and inode.
        partial: Whether there may be more that were not found.
        secrets: Existing files and folders in the workspace that hold secrets, as their names say, nearest first.
    """

    root: Path
    held: set[Path] = field(default_factory=set)
    absent: set[Path] = field(default_factory=set)
    forbidden: set[Path] = field(default_factory=set)
    anchored: set[Path] = field(default_factory=set)
    git: set[Path] = field(default_factory=set)
    around: set[Path] = field(default_factory=set)
    git_read_only: str = ""
    links: dict[Path, str] = field(default_factory=dict)
    found: dict[Path, tuple[int, int]] = field(default_factory=dict)
    partial: bool = False
    secrets: Sequence[Path] = ()

    @property
    def writable(self) -> tuple[Path, ...]:
        """The folders that the command may write to."""
        return (self.root, *self.git)

    def anchor(self, paths: Iterable[Path], tops: Sequence[Path]) -> None:
        """Keep the folders between some paths and `tops` where they are: a name is hidden or held only at its place."""
        # A folder mounted again below a read-only one would be writable.
        read_only = {*self.held, *self.absent}
        folders = {folder for path in paths for folder in path.parents if _is_inside(folder, tops)}
        self.anchored |= {folder for folder in folders if read_only.isdisjoint((folder, *folder.parents))}


def protected_files(
    root: Path,
    found: SensitivePaths | None = None,
    unwritable: Iterable[Path] = (),
    unreadable: Iterable[Path] = (),
    most: int | None = None,
    *,
    commits: bool = False,
) -> ProtectedFiles:
    """Return what a command cannot change in a workspace that it may write to.

    Args:
        root: The workspace, without links in its path.
        found: What is below it; by default it is walked.
        unwritable: More that exists and is not to be changed.
        unreadable: What is hidden, and has to stay where it is.
        most: How many of its protected files and of its secrets count, nearest first; by default all.
        commits: Whether the command may write to the repository around the workspace.
    """
    found = found or FolderWalk(root).read()
    rebases = unfinished_rebases(found.protected)
    files = ProtectedFiles(
        root,
        held=set(unwritable),
        found={**found.protected, **rebases},
        partial=found.filled_by is not None,
        secrets=found.secrets[:most],
    )
    _hold_the_repository_around(files, commits=commits)
    for path in (*islice(found.protected, most), *rebases):
        _hold(files, path)
    read_only = {*files.held, *files.absent}
    files.anchored = {path for path in files.anchored if read_only.isdisjoint((path, *path.parents))}
    files.anchor((*read_only, *unreadable), files.writable)
    files.held = {
        path for path in files.held if read_only.isdisjoint(path.parents) or path.parent.parent.name == "worktrees"
    }
    files.absent = {path for path in files.absent - files.held if read_only.isdisjoint(path.parents)}
    return files


def unfinished_rebases(protected: Iterable[Path]) -> dict[Path, tuple[int, int]]:
    """Return the state of rebases that would run a program when they are continued, and the device and inode of each.

    Args:
        protected: Protected files and folders, `.git` among them.
    """
    found = {}
    for path in (path for path in protected if is_git_name(path.name)):
        for state in git_programs.resumed_programs(path.parent):
            with contextlib.suppress(OSError):
                status = state.lstat()
                found[state] = status.st_dev, status.st_ino
    return found


def ruled_paths(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Return what of the paths that match a rule exists, without links."""
    real = dict.fromkeys(Path(os.path.realpath(path)) for path in paths)
    return tuple(path for path in real if path.exists())


def _hold_the_repository_around(files: ProtectedFiles, *, commits: bool) -> None:
    """Show a repository whose top is further up; only a commit may write to it, and not to what git executes from it.

    Otherwise git could move a branch without the files outside the workspace that belong to it.
    """
    above = repository.top_of(files.root)
    if above is None or above == files.root:
        return
    files.around |= {above, *repository.git_folders(above)}
    own = above / ".git"
    if not commits or too_wide_reason(above):
        files.git_read_only = _PART_OF_A_REPOSITORY.format(top=above)
        return
    _hold_configured(files, above)
    if not own.is_dir() or own.is_symlink():
        _hold_worktree(files, own)
    elif repository.has_other_work_tree(above):
        files.git_read_only = _OTHER_WORK_TREE
    else:
        files.git.add(own)
        _hold_git(files, own)


def _hold(files: ProtectedFiles, path: Path) -> None:
    """Hold an existing protected file, and what git executes if it is git's."""
    try:
        status = path.lstat()
    except OSError:
        return
    if stat.S_ISLNK(status.st_mode):
        _hold_link(files, path)
    elif not is_git_name(path.name):
        files.held.add(path)
    elif stat.S_ISDIR(status.st_mode):
        if repository.has_other_work_tree(path.parent):
            files.held.add(path)
            if path.parent == files.root:
                files.git_read_only = _OTHER_WORK_TREE
        files.anchored.add(path)
        _hold_git(files, path)
        _hold_configured(files, path.parent)
    else:
        files.held.add(path)
        _hold_worktree(files, path)
        _hold_configured(files, path.parent)


def _hold_link(files: ProtectedFiles, path: Path) -> None:
    files.links[path] = os.readlink(path)  # noqa: PTH115
    real = Path(os.path.realpath(path))
    if real.exists() and _is_inside(real, (files.root,)):
        files.held.add(real)


def _hold_git(files: ProtectedFiles, folder: Path) -> None:
    """Hold what git executes or follows in one of its folders."""
    if not folder.is_dir():
        return
    for name in (*RUN_BY_GIT, *_ONLY_THERE):
        path = folder / name
        if path.parent.is_symlink():
            # Nothing is mounted below a link: it may lead out of the workspace.
            path = path.parent
        if path.is_symlink():
            _hold_link(files, path)
        elif path.exists():
            files.held.add(path)
        elif name not in _ONLY_THERE:
            files.absent.add(path)


def _hold_worktree(files: ProtectedFiles, pointer: Path) -> None:
    """Hold the folders that a `.git` file leads to; writable only if git says there that they belong to it.

    The file may have been written by anyone, and lead anywhere.
    """
    folders = repository.git_folders(pointer.parent)
    inside = [folder for folder in folders if _is_inside(folder, (files.root,))]
    if _belongs_to(pointer, folders) and (len(folders) > 1 or not inside):
        files.git.update(folders)
        inside = [*folders]
    elif folders and pointer.parent == files.root:
        files.git_read_only = _LEADS_ELSEWHERE.format(folder=folders[0])
    for folder in inside:
        _hold_git(files, folder)


def _belongs_to(pointer: Path, folders: Sequence[Path]) -> bool:
    """Return whether a worktree's or a submodule's folders of git name the folder of a `.git` file as theirs."""
    match folders:
        case [own]:
            return repository.work_tree(own) == Path(os.path.realpath(pointer.parent))
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


def _hold_configured(files: ProtectedFiles, top: Path) -> None:
    """Hold what git's configuration names, as far as a command could write to it, and show folders elsewhere."""
    for path in git_programs.configured_paths(top) or ():
        real = Path(os.path.realpath(path))
        # A name can be too long for a file.
        with contextlib.suppress(OSError):
            if path.is_symlink() and _is_inside(path, files.writable):
                _hold_link(files, path)
            elif _is_inside(real, files.writable):
                if real in (top, files.root):
                    continue
                absent = files.absent if any(map(is_git_name, real.parts)) else files.forbidden
                (files.held if real.exists() else absent).add(real)
            elif real.is_dir() and not real.is_relative_to(files.root):
                files.around.add(real)


def _is_inside(path: Path, tops: Iterable[Path]) -> bool:
    return any(path != top and path.is_relative_to(top) for top in tops)
