"""What `/commit` needs of git: what would be committed, the commands that commit, and whether they did just that.

The queries run no program that the repository names (`repository`). The commands do: a commit runs hooks and
filters. They are for the sandbox, and only what no commit needs is switched off in them.
"""

import os
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from laguna_tui.base.units import some_of
from laguna_tui.repo.git import git_objects, repository
from laguna_tui.repo.git.git_objects import TreeEntry

# Enough for the message of any commit that a person would review.
DIFF_LIMIT_CHARS = 60_000
_CUT = "\n[the rest of the diff is left out]\n"
_PLAIN_DIFF = (
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--relative",
    "--ignore-submodules=dirty",
    "--submodule=short",
    "--src-prefix=a/",
    "--dst-prefix=b/",
)
# An editor or a question would wait for a terminal that is not there.
_COMMIT_GUARDS = (
    # Signed afterwards (`laguna_tui.repo.git.git_signing`): the sandbox hides the keys.
    "commit.gpgSign=false",
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.editor=true",
    "core.sshCommand=false",
    "credential.helper=",
    "diff.relative=false",
    "gc.auto=0",
    "maintenance.auto=false",
)


_RAW = ("--raw", "-z", "--no-abbrev", "--no-renames")
_DELETED = "000000"
_SUBMODULE = "160000"
_IN_PROGRESS = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")
_UNMERGED = "U"
_NAMED = 5


class CannotCommitError(Exception):
    """The repository is in a state in which a commit would contain more or less than the folder; a sentence."""


@dataclass(frozen=True, slots=True)
class PendingChanges:
    """What is not committed yet in a folder. Paths are relative to it, and texts are raw.

    Attributes:
        staged, unstaged: As unified diffs without files with secrets, cut after `DIFF_LIMIT_CHARS`.
        untracked: New files that git does not ignore.
        staged_files: What is staged, with its contents; None for what is deleted.
        changed_files: What is changed but not staged, and new files, likewise.
        staged_outside: What is staged outside the folder, relative to the repository.
        head: The last commit; empty when there is none.
        inside: The folder in the repository, with a "/" behind; empty for the repository's own folder.
        is_part: Whether `changed_files` are only some of those that are changed.
    """

    staged: str = ""
    unstaged: str = ""
    untracked: tuple[str, ...] = ()
    staged_files: Mapping[str, TreeEntry | None] = field(default_factory=dict)
    changed_files: Mapping[str, TreeEntry | None] = field(default_factory=dict)
    staged_outside: tuple[str, ...] = ()
    head: str = ""
    inside: str = ""
    is_part: bool = False

    def only(self, paths: Collection[str]) -> "PendingChanges":
        """Return these with only some of the changed files; what is staged is committed whole."""
        if self.staged_files or len(paths) == len(self.changed_files):
            return self
        chosen = {path: entry for path, entry in self.changed_files.items() if path in paths}
        return replace(self, changed_files=chosen, is_part=True)

    @property
    def is_empty(self) -> bool:
        return not self.files

    @property
    def files(self) -> Mapping[str, TreeEntry | None]:
        """Return what would be committed: what is staged, or everything if nothing is."""
        return self.staged_files or self.changed_files


def pending_changes(
    folder: Path,
    sensitive_reason: Callable[[str], str],
    limit: int = DIFF_LIMIT_CHARS,
    should_stop: Callable[[], bool] = lambda: False,
) -> PendingChanges | None:
    """Return what is not committed in a folder and below; None when git does not answer.

    Args:
        folder: In a repository.
        sensitive_reason: Returns why a path is left out of the diffs; empty for every other path.
        limit: Characters of each diff.
        should_stop: Asked now and then.

    Raises:
        CannotCommitError: There are conflicts, or the folder cannot be committed without the rest of its repository.
    """
    ask = partial(repository.query, folder, settings=repository.without_filters(folder), should_stop=should_stop)
    place = ask(("rev-parse", "--show-toplevel", "--show-prefix"))
    all_staged = ask(("diff", "--cached", *_RAW, "--ignore-submodules=dirty"))
    changed = ask(("diff", *_RAW, "--relative", "--ignore-submodules=dirty", "--", "."))
    untracked = repository.untracked_files(folder, should_stop)
    if place is None or all_staged is None or changed is None or untracked is None:
        return None
    tree, inside, _ = os.fsdecode(place).split("\n")
    in_index = dict(_entries(all_staged))
    in_folder = {*dict(_entries(changed)), *untracked}
    _check(folder, tree, inside, in_index)
    staged_files = {
        path.removeprefix(inside): None if entry.mode == _DELETED else entry
        for path, entry in in_index.items()
        if path.startswith(inside)
    }
    # Before the diffs: what changes meanwhile is reported after the commit.
    changed_files = {} if staged_files else _contents(folder, dict(_entries(changed)), untracked)
    staged, unstaged = (
        ask(("diff", *which, *_PLAIN_DIFF, "--", ".", *_without_secrets(paths, sensitive_reason)))
        for which, paths in ((("--cached",), staged_files), ((), in_folder))
    )
    if staged is None or unstaged is None:
        return None
    return PendingChanges(
        _capped(staged, limit),
        _capped(unstaged, limit),
        untracked=tuple(untracked),
        staged_files=staged_files,
        changed_files=changed_files,
        staged_outside=tuple(path for path in in_index if not path.startswith(inside)),
        head=_head(folder),
        inside=inside,
    )


def _without_secrets(paths: Iterable[str], sensitive_reason: Callable[[str], str]) -> Iterator[str]:
    """Return pathspecs that exclude files with secrets: a model reads the diff."""
    return (f":(exclude,literal){path}" for path in paths if sensitive_reason(path))


def _check(folder: Path, tree: str, inside: str, staged: Mapping[str, TreeEntry]) -> None:
    """Raise if a commit would be of another folder, hide conflicts, or end a merge without its other half."""
    top = repository.top_of(folder)
    if top is None or not top.samefile(tree):
        raise CannotCommitError(f"core.worktree names another folder, {tree}. Commit there, in your own shell.")
    if any(entry.object_id == _UNMERGED for entry in staged.values()):
        raise CannotCommitError("Files are in conflict. Resolve the conflicts and stage the files first.")
    if inside:
        for name in _IN_PROGRESS:
            if any((place / name).exists() for place in repository.git_folders(top)):
                raise CannotCommitError(
                    "A merge or rebase is in progress, and this folder is only a part of the repository."
                    f" Finish it in {top}."
                )


def _entries(raw: bytes) -> Iterator[tuple[str, TreeEntry]]:
    """Yield the paths and new states of git's raw format; a conflict has the hash `_UNMERGED`."""
    fields = os.fsdecode(raw).split("\0")
    for about, path in zip(fields[::2], fields[1::2], strict=False):
        _, mode, _, object_id, status = about.split()
        yield path, TreeEntry(mode, _UNMERGED if status == _UNMERGED else object_id)


def _contents(folder: Path, changed: Mapping[str, TreeEntry], untracked: Sequence[str]) -> dict[str, TreeEntry | None]:
    """Return files with the hashes of their contents; empty where git converts them or they cannot be read."""
    found: dict[str, TreeEntry | None] = {}
    modes = {path: entry.mode for path, entry in changed.items()} | {path.rstrip("/"): "" for path in untracked}
    like = _object_format(folder)
    converted = git_objects.converted_files(folder, list(modes))
    for path, mode in modes.items():
        if mode == _DELETED:
            found[path] = None
        elif (folder / path).is_dir() and not (folder / path).is_symlink():
            found[path] = TreeEntry(_SUBMODULE, _head(folder / path))
        else:
            object_id = ""
            if path not in converted:
                with suppress(OSError, ValueError):
                    object_id = git_objects.file_hash(folder / path, like)
            found[path] = TreeEntry(mode, object_id)
    return found


def _head(folder: Path) -> str:
    return os.fsdecode(repository.query(folder, ("rev-parse", "--verify", "--quiet", "HEAD")) or b"").strip()


def _object_format(folder: Path) -> str:
    """Return a hash as long as those of the repository."""
    return os.fsdecode(repository.query(folder, ("hash-object", "-t", "tree", os.devnull)) or b"").strip()


def commit_made(folder: Path, pending: PendingChanges) -> tuple[str, ...] | None:
    """Return how the last commit differs from what was pending, clauses; None when nothing was committed.

    Args:
        folder: As it was for `pending_changes`.
        pending: What was to be committed.
    """
    head = _head(folder)
    if head in ("", pending.head):
        return None
    commits = os.fsdecode(repository.query(folder, ("rev-list", "--parents", "-n", "1", head)) or b"").split()
    if commits[1:2] != [pending.head] * bool(pending.head):
        return ("the last commit does not follow the one that was the last",)
    between = (pending.head, head) if pending.head else ("--root", "--no-commit-id", head)
    made = dict(
        _entries(repository.query(folder, ("diff-tree", "-r", *_RAW, "--ignore-submodules=none", *between)) or b"")
    )
    wanted = {pending.inside + path: entry for path, entry in pending.files.items()}
    other = [
        path
        for path, entry in wanted.items()
        if path in made and not _is_same(folder / path.removeprefix(pending.inside), entry, made[path])
    ]
    missing = [path for path, entry in wanted.items() if path not in made and (entry is None or entry.object_id)]
    return (
        *_clause(other, "{paths}: committed with other contents"),
        *_clause([path for path in made if path not in wanted], "{paths}: committed without being shown"),
        *_clause(missing, "{paths}: not committed"),
    )


def _is_same(file: Path, shown: TreeEntry | None, made: TreeEntry) -> bool:
    if shown is None or made.mode == _DELETED:
        return shown is None and made.mode == _DELETED
    if shown.mode not in ("", made.mode):
        return False
    if shown.object_id in ("", made.object_id):
        return True
    # Git converts line ends.
    return git_objects.is_normalized(file, shown.object_id, made.object_id)


def _clause(paths: Sequence[str], clause: str) -> Iterator[str]:
    if paths:
        yield clause.format(paths=some_of(paths, _NAMED))


def recent_subjects(folder: Path, count: int = 10) -> tuple[str, ...]:
    """Return the first lines of the last commits, newest first; empty when there are none. Raw."""
    command = ("log", f"--max-count={count}", "--no-show-signature", "--no-color", "--no-mailmap", "--format=%s", "-z")
    answer = repository.query(folder, command) or b""
    return tuple(filter(None, answer.decode("utf-8", "replace").split("\0")))


def commit_command(message: str, pending: PendingChanges) -> str:
    """Return the shell command that commits, for the sandbox: hooks and filters of the repository run.

    It works on a copy of the index, so that a hook that refuses leaves the index as it is, and what is staged outside
    the folder stays staged.

    Args:
        message: The whole message.
        pending: What to commit.

    Raises:
        ValueError: The message is empty, or contains NUL.
    """
    if not message.strip() or "\0" in message:
        raise ValueError("the commit message is empty or contains a NUL character; write one")
    options = [word for guard in _COMMIT_GUARDS for word in ("-c", guard)]
    program = shlex.join(["git", "--no-pager", *options])
    top = pending.inside and "../" * pending.inside.count("/")
    # Names come from git itself, relative to the repository.
    paths = '"$temporary/paths"'
    reset = (
        f"if [ -s {paths} ]; then {program} -C {top or '.'} --literal-pathspecs reset --quiet"
        f" --pathspec-from-file={paths} --pathspec-file-nul; fi"
    )
    names = "--name-only --no-renames -z --ignore-submodules=none"
    steps = [
        "temporary=$(mktemp -d)",
        "trap 'rm -rf \"$temporary\"' EXIT",
        f"index=$({program} rev-parse --git-path index)",
        # Git compares the times of the index and of files.
        '{ [ ! -e "$index" ] || cp -p "$index" "$temporary/index"; }',
        'export GIT_INDEX_FILE="$temporary/index"',
    ]
    if pending.staged_outside:
        steps += [f"{program} diff --cached {names} -- ':(top)' ':(exclude).' > {paths}", reset]
    if not pending.staged_files:
        files = shlex.join(pending.changed_files) if pending.is_part else "."
        steps.append(f"{program} --literal-pathspecs add --all -- {files}")
    before = pending.head or f"$({program} hash-object -t tree /dev/null)"
    steps += [
        f"{program} commit --quiet {shlex.quote(f'--message={message}')}",
        "unset GIT_INDEX_FILE",
        f"{program} diff-tree -r {names} {before} HEAD > {paths}",
        reset,
    ]
    return " && ".join(steps)


def _capped(diff: bytes, limit: int) -> str:
    text = os.fsdecode(diff)
    if len(text) <= limit:
        return text
    return text[: text.rfind("\n", 0, limit) + 1] + _CUT
