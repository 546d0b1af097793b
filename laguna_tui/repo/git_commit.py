"""What `/commit` needs of git: what would be committed, how commits are worded here, and the commands that commit.

The queries run no program that the repository names (`laguna_tui.repo.git`). The commands do: a commit runs hooks and
filters. They are for the sandbox, and only what no commit needs is switched off in them.
"""

import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from laguna_tui.repo import git

# Enough for the message of any commit that a person would review.
DIFF_LIMIT_CHARS = 60_000
_CUT = "\n[the rest of the diff is left out]\n"
_PLAIN_DIFF = (
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--ignore-submodules=all",
    "--submodule=short",
    "--src-prefix=a/",
    "--dst-prefix=b/",
)
# An editor or a question would wait for a terminal that is not there.
_COMMIT_GUARDS = (
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.editor=true",
    "core.sshCommand=false",
    "credential.helper=",
    "gc.auto=0",
    "maintenance.auto=false",
)


@dataclass(frozen=True, slots=True)
class PendingChanges:
    """What is not committed yet. Texts are raw.

    Attributes:
        staged, unstaged: As unified diffs, cut after `DIFF_LIMIT_CHARS`.
        untracked: New files that git does not ignore.
    """

    staged: str
    unstaged: str
    untracked: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to commit."""
        return not (self.staged or self.unstaged or self.untracked)


def pending_changes(
    folder: Path, limit: int = DIFF_LIMIT_CHARS, should_stop: Callable[[], bool] = lambda: False
) -> PendingChanges | None:
    """Return what is not committed in a folder and below; None when git does not answer.

    Args:
        folder: In a repository.
        limit: Characters of each diff.
        should_stop: Asked now and then.
    """
    filters = git.without_filters(folder)
    staged, unstaged = (
        git.query(folder, ("diff", *which, *_PLAIN_DIFF, "--", "."), filters, should_stop=should_stop)
        for which in (("--cached",), ())
    )
    untracked = git.untracked_files(folder, should_stop)
    if staged is None or unstaged is None or untracked is None:
        return None
    return PendingChanges(_capped(staged, limit), _capped(unstaged, limit), tuple(untracked))


def recent_subjects(folder: Path, count: int = 10) -> tuple[str, ...]:
    """Return the first lines of the last commits, newest first; empty when there are none. Raw."""
    command = ("log", f"--max-count={count}", "--no-show-signature", "--no-color", "--no-mailmap", "--format=%s", "-z")
    answer = git.query(folder, command) or b""
    return tuple(filter(None, answer.decode("utf-8", "replace").split("\0")))


def commit_command(message: str, paths: Sequence[str] | None = None, *, stage_all: bool = False) -> str:
    """Return the shell command that commits, for the sandbox: hooks and filters of the repository run.

    Args:
        message: The whole message.
        paths: Files to commit, whatever else is staged, relative to the folder; None for what is staged.
        stage_all: Commit every change and every new file instead.

    Raises:
        ValueError: The message is empty, or contains NUL.
    """
    if not message.strip() or "\0" in message:
        raise ValueError("the commit message is empty or contains a NUL character; write one")
    program = ["git", "--no-pager", "--literal-pathspecs"]
    for guard in _COMMIT_GUARDS:
        program += ["-c", guard]
    commit = [*program, "commit", "--quiet", f"--message={message}"]
    if stage_all:
        return f"{shlex.join([*program, 'add', '--all'])} && {shlex.join(commit)}"
    if paths is None:
        return shlex.join(commit)
    named = ["--", *paths]
    return f"{shlex.join([*program, 'add', '--all', *named])} && {shlex.join([*commit, *named])}"


def _capped(diff: bytes, limit: int) -> str:
    text = os.fsdecode(diff)
    if len(text) <= limit:
        return text
    return text[: text.rfind("\n", 0, limit) + 1] + _CUT
