"""The changes that are not committed yet, as `/review` attaches them to its message."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_tui.base.errors import UserError
from laguna_tui.base.messages import Attachment, BlockKind, Place
from laguna_tui.base.units import some_of

if TYPE_CHECKING:
    from laguna_tui.repo.git.git_commit import PendingChanges

NO_REPOSITORY = "There is nothing to review: git does not answer in {folder}. Make it a repository first: !git init"
NOTHING = "There is nothing to review: every file in this folder is as in the last commit."
_TITLE = "the uncommitted changes"
# Of new files, which the diff does not have.
_NAMED = 100


def uncommitted_changes(folder: Path) -> Attachment:
    """Return what differs from the last commit in a folder and below; files with secrets are left out.

    Raises:
        UserError: nothing does, or git cannot say.
    """
    from laguna_tui.repo.files.sensitive_paths import sensitive_reason
    from laguna_tui.repo.git.git_commit import CannotCommitError, pending_changes

    try:
        pending = pending_changes(folder, sensitive_reason)
    except CannotCommitError as error:
        raise UserError(str(error)) from error
    if pending is None:
        raise UserError(NO_REPOSITORY.format(folder=folder))
    if pending.is_empty:
        raise UserError(NOTHING)
    text = "".join(f"{part}\n" for part in _parts(pending))
    return Attachment(BlockKind.TOOL, _TITLE, "", text, text, Place.KEPT, "you asked for a review of them")


def _parts(pending: "PendingChanges") -> Iterator[str]:
    yield "The changes that are not committed:"
    if pending.untracked:
        yield f"New files, whose contents are not below: {some_of(pending.untracked, _NAMED)}"
    for title, diff in (("Staged:", pending.staged), ("Not staged:", pending.unstaged)):
        if diff.strip():
            yield f"{title}\n```diff\n{diff.rstrip()}\n```"
