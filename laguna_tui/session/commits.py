"""Commits: what would be committed, a message drafted by the model, and the commit itself, made in the sandbox."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_tui.base.errors import UserError
from laguna_tui.base.units import some_of

if TYPE_CHECKING:
    from laguna_tui.agent.loop import Agent
    from laguna_tui.repo.git.git_commit import PendingChanges
    from laguna_tui.sandbox.runner import CommandRunner

NO_REPOSITORY = "Git does not answer in {folder}. Make it a repository first: !git init"
NOTHING = "There is nothing to commit."
NOTHING_HERE = "There is nothing to commit in this folder. Staged elsewhere: {paths}."
NOT_COMMITTED = "Not committed (exit code {code}): {output}"
COMMITTED = "Committed: {subject}"
STILL_STAGED = "Still staged outside this folder: {paths}."
DIFFERENT = "The commit differs from what was shown. {differences}. To undo it and keep your files: !git {way_back}"
UNSIGNED = "It is not signed, because it differs from what was shown."
NOT_SIGNED = "Not signed: {why}. {back}"
STAGED = (
    "Nothing was committed, and the changes are staged. Commit again when git can sign without a terminal, such as"
    " with the key in ssh-agent or gpg-agent."
)
KEPT_UNSIGNED = "The commit could not be undone and is unsigned. Sign it: !git commit --amend --no-edit -S"
OLD_INDEX = "Git's index could not be updated. Update it: !git reset"
# Hooks may run a test suite.
_TIMEOUT_S = 1800
_MESSAGE_TOKENS = 256
_NAMED = 8
_ID_DIGITS = 12


@dataclass(frozen=True, slots=True)
class CommitDraft:
    """What would be committed. Texts are raw.

    Attributes:
        message: the model's suggestion; empty if it has no room for one or writes none.
        sandbox: the sandbox that the repository's hooks run in.
        pending: what is to be committed.
    """

    message: str
    sandbox: str
    pending: "PendingChanges"

    @property
    def files(self) -> list[str]:
        """Paths to be committed, those with secrets first."""
        return sorted(self.pending.files, key=lambda path: not self.secret_reason(path))

    @property
    def new_files(self) -> frozenset[str]:
        """Paths that git does not track yet."""
        return frozenset(path.rstrip("/") for path in self.pending.untracked)

    def only(self, paths: Collection[str]) -> "CommitDraft":
        """Return the draft with only some of the files."""
        return replace(self, pending=self.pending.only(paths))

    @staticmethod
    def secret_reason(path: str) -> str:
        """Return why a path is taken for one with secrets, as a clause; empty for every other path."""
        from laguna_tui.repo.files.sensitive_paths import sensitive_reason

        return sensitive_reason(path)

    @property
    def stages_all(self) -> bool:
        """Whether everything is committed, because nothing is staged."""
        return not self.pending.staged_files


class Commits:
    """Git commits in the folder. The session's thread, while no turn runs; UserError if it cannot be done."""

    def __init__(self, folder: Path, agent: "Callable[[], Agent]", runner: "Callable[[], CommandRunner]") -> None:
        """Read nothing yet.

        Args:
            folder: the workspace.
            agent: returns the agent; raises UserError before there is one.
            runner: returns what runs commands.
        """
        self._folder, self._agent, self._runner = folder, agent, runner

    def draft(self) -> CommitDraft:
        """Return what would be committed, with a message that the model writes outside the conversation.

        `Chat.cancel` ends the writing early.
        """
        from laguna_tui.repo.files.sensitive_paths import sensitive_reason
        from laguna_tui.repo.git.git_commit import CannotCommitError, pending_changes, recent_subjects

        try:
            pending = pending_changes(self._folder, sensitive_reason)
        except CannotCommitError as error:
            raise UserError(str(error)) from error
        if pending is None:
            raise UserError(NO_REPOSITORY.format(folder=self._folder))
        if pending.is_empty:
            outside = pending.staged_outside
            raise UserError(NOTHING_HERE.format(paths=some_of(outside, _NAMED)) if outside else NOTHING)
        subjects = recent_subjects(self._folder)
        message = self._agent().commit_message("\n".join(_material(pending, subjects)), _MESSAGE_TOKENS)
        return CommitDraft(message, self._runner().status.sentence, pending)

    def commit(self, message: str, draft: CommitDraft) -> str:
        """Commit what the draft names, with the repository's hooks in the sandbox; returns a sentence about it."""
        from laguna_tui.repo.git import git_signing
        from laguna_tui.repo.git.git_commit import commit_command, commit_made
        from laguna_tui.sandbox.running_command import CommandNotRun

        try:
            command = commit_command(message, draft.pending)
            result = self._runner().run(command, folder=self._folder, timeout_s=_TIMEOUT_S, committed=draft.files)
        except (ValueError, CommandNotRun) as error:
            raise UserError(f"Not committed: {error}.") from error
        output = result.stdout.strip()
        different = commit_made(self._folder, draft.pending)
        if different is None:
            why = f"\n{result.git_read_only}" if result.git_read_only else ""
            raise UserError(NOT_COMMITTED.format(code=result.exit_code, output=output) + why)
        signs = git_signing.is_wanted(self._folder)
        if signs and not different:
            self._sign(draft.pending.head)
        sentences = [COMMITTED.format(subject=message.strip().splitlines()[0]), output]
        if different:
            head = draft.pending.head
            way_back = f"reset --soft {head[:_ID_DIGITS]}" if head else "update-ref -d HEAD"
            sentences.append(DIFFERENT.format(differences="; ".join(different), way_back=way_back))
            # What was not shown does not get the user's signature.
            sentences += [UNSIGNED] if signs else []
        if draft.pending.staged_outside:
            sentences.append(STILL_STAGED.format(paths=some_of(draft.pending.staged_outside, _NAMED)))
        if result.exit_code:
            sentences.append(OLD_INDEX)
        return "\n".join(filter(None, sentences))

    def _sign(self, before: str) -> None:
        """Sign the commit that was made; if it cannot be signed, undo it and raise UserError."""
        from laguna_tui.repo.git.git_signing import CannotSignError, sign_head, take_back

        try:
            sign_head(self._folder)
        except CannotSignError as error:
            back = STAGED if take_back(self._folder, before) else KEPT_UNSIGNED
            raise UserError(NOT_SIGNED.format(why=error, back=back)) from error


def _material(pending: "PendingChanges", subjects: tuple[str, ...]) -> Iterator[str]:
    yield "Latest subjects:"
    yield from subjects or ("(none)",)
    if not pending.staged_files and pending.untracked:
        yield f"New files: {', '.join(pending.untracked[:50])}"
    yield "Changes:"
    yield pending.staged if pending.staged_files else pending.unstaged
