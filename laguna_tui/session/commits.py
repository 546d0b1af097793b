"""Commits: what would be committed, a message that the model drafts, and the commit itself, in the sandbox."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_tui.base.errors import UserError

if TYPE_CHECKING:
    from laguna_tui.agent.loop import Agent
    from laguna_tui.repo.git_commit import PendingChanges
    from laguna_tui.sandbox.runner import CommandRunner

NO_REPOSITORY = "Git does not answer in {folder}. Make it a repository first: !git init"
NOTHING = "There is nothing to commit."
NOT_COMMITTED = "Not committed (exit code {code}): {output}"
COMMITTED = "Committed: {subject}"
# Hooks may run a test suite.
_TIMEOUT_S = 1800
_MESSAGE_TOKENS = 256
_HEADER = re.compile(r"^diff --git a/(.+?) b/", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CommitDraft:
    """What would be committed. Texts are raw.

    Attributes:
        message: the model's suggestion; empty if it has no room for one or writes none.
        files: paths to be committed.
        stages_all: whether everything is committed, because nothing is staged.
        sandbox: the sandbox that the repository's hooks run in.
    """

    message: str
    files: tuple[str, ...]
    stages_all: bool
    sandbox: str


class LocalCommits:
    """A `Commits`."""

    def __init__(self, folder: Path, agent: "Callable[[], Agent]", runner: "Callable[[], CommandRunner]") -> None:
        """agent: raises UserError before there is one. runner: gives what runs commands."""
        self._folder, self._agent, self._runner = folder, agent, runner

    def draft(self) -> CommitDraft:
        """What would be committed, and the model's suggested message."""
        from laguna_tui.repo.git_commit import pending_changes, recent_subjects

        pending = pending_changes(self._folder)
        if pending is None:
            raise UserError(NO_REPOSITORY.format(folder=self._folder))
        if pending.is_empty:
            raise UserError(NOTHING)
        subjects = recent_subjects(self._folder)
        message = self._agent().commit_message("\n".join(_material(pending, subjects)), _MESSAGE_TOKENS)
        sandbox = self._runner().status.sentence
        return CommitDraft(message, tuple(_files(pending)), not pending.staged, sandbox)

    def commit(self, message: str, draft: CommitDraft) -> str:
        """Commit what the draft names; returns a sentence about it."""
        from laguna_tui.repo.git_commit import commit_command
        from laguna_tui.sandbox.running_command import CommandNotRun

        try:
            command = commit_command(message, stage_all=draft.stages_all)
            result = self._runner().run(command, folder=self._folder, timeout_s=_TIMEOUT_S)
        except (ValueError, CommandNotRun) as error:
            raise UserError(f"Not committed: {error}.") from error
        output = result.stdout.strip()
        if result.exit_code:
            raise UserError(NOT_COMMITTED.format(code=result.exit_code, output=output))
        return "\n".join(filter(None, (COMMITTED.format(subject=message.strip().splitlines()[0]), output)))


def _files(pending: "PendingChanges") -> Iterator[str]:
    """Paths to be committed: what is staged, or everything if nothing is."""
    yield from dict.fromkeys(_HEADER.findall(pending.staged or pending.unstaged))
    if not pending.staged:
        yield from pending.untracked


def _material(pending: "PendingChanges", subjects: tuple[str, ...]) -> Iterator[str]:
    yield "Latest subjects:"
    yield from subjects or ("(none)",)
    if not pending.staged and pending.untracked:
        yield f"New files: {', '.join(pending.untracked[:50])}"
    yield "Changes:"
    yield pending.staged or pending.unstaged
