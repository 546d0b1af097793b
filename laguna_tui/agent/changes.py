"""The changes of files that a session's tools make: permitted, applied, told to the front end, and taken back.

The journal is in memory and the old bytes lie where long results do; both are gone when the session ends.
"""

import os
from dataclasses import dataclass, replace
from pathlib import Path

import platformdirs

from laguna_tui.agent.kept_files import KeptFiles
from laguna_tui.agent.seen_files import SeenFiles
from laguna_tui.agent.tool_run import ToolError, ToolRun
from laguna_tui.base.change_proposal import ChangeKind, ChangeProposal
from laguna_tui.base.events import ChangeMade
from laguna_tui.base.paths import APP, FolderIdentity
from laguna_tui.base.permission_request import PermissionRequest
from laguna_tui.base.units import plural
from laguna_tui.repo.file_changes import apply_change, with_text
from laguna_tui.repo.relative_paths import escaped
from laguna_tui.repo.source_writer import (
    ChangedError,
    TemporaryFiles,
    create_file,
    digest,
    move_file,
    remove_file,
    replace_file,
)
from laguna_tui.repo.workspace import Workspace, WorkspaceError

UNFINISHED = "edits"
"""The folder in the state folder that notes which changes are being written."""

_OWN = "{path} belongs to laguna-tui itself; edit another file"
EDITED = "The user edited the change before it was made; read the file before you go on."
EDITED_AWAY = "the user edited this change so that {path} stays as it is; ask what to do instead"
STOPPED = "the turn was stopped before this edit was made"

UNDONE = "{path} is as it was before the last edit."
UNDONE_MORE = "{path} is as it was before its edit. {more} can be taken back too."
NOTHING = "There is no edit to take back."
CHANGED_SINCE = "{path} changed since it was edited, so it stays as it is."
NOT_UNDONE = "The edit is not taken back: {why}."
NEWS = "The user took back your newest edit of `{path}`: the file is as it was before it."
LOST = "{path} stays as it is: its old text is no longer in the cache folder."


@dataclass(frozen=True, slots=True)
class _Made:
    """A change that was made: `left` is the digest of what it left, `kept` the old bytes or the file that has them."""

    root: Path
    identity: FolderIdentity
    path: str
    left: bytes
    kept: Path | bytes
    kind: ChangeKind
    target: str


class Changes:
    """What a session's changes of files go through.

    Attributes:
        seen: what the model was shown of files.
    """

    def __init__(self, kept: KeptFiles | None = None, state: Path | None = None) -> None:
        """Begin with no change made, and remove what the changes of killed sessions left half written.

        Args:
            kept: where old bytes are kept; None means the cache folder.
            state: the user's state folder, where it is noted what is being written; None notes nothing.
        """
        self.seen = SeenFiles()
        self._kept = kept or KeptFiles()
        self._unfinished = TemporaryFiles(state / UNFINISHED if state is not None else None)
        self._unfinished.sweep()
        self._made: list[_Made] = []
        self._news: list[str] = []

    def make(self, run: ToolRun, tool: str, proposal: ChangeProposal) -> ChangeProposal:
        """Make a change, if it is allowed.

        Args:
            run: the call that makes it.
            tool: the name of the call's tool.

        Returns:
            What was made; the user may have edited what was proposed.

        Raises:
            ToolError, WorkspaceError: it is not made, and why; the files are as they were.
        """
        _check_owner(proposal)
        answer = run.ask(PermissionRequest(tool, proposal, always_asks=proposal.asks_because))
        change = proposal
        if answer.edited is not None:
            change = replace(with_text(proposal, answer.edited), notes=(EDITED,))
            if change.kind is ChangeKind.EDIT and change.new == change.old:
                raise ToolError(EDITED_AWAY.format(path=escaped(change.path)))
        if run.cancelled():
            raise ToolError(STOPPED)
        # Kept first: a change that cannot be taken back is not made.
        kept = self._kept.keep_bytes(change.old) or change.old
        apply_change(change, self._unfinished)
        self._made.append(
            _Made(change.root, change.identity, change.path, digest(change.new), kept, change.kind, change.target)
        )
        run.emit(ChangeMade(run.call_id, change))
        return change

    def undo(self) -> str:
        """Take back the newest change; a sentence for the user about what became of it. Not while a turn runs.

        A change whose file was changed since is forgotten, so that the one before it can be taken back.
        """
        if not self._made:
            return NOTHING
        last = self._made[-1]
        path = escaped(last.path)
        try:
            old = last.kept if isinstance(last.kept, bytes) else last.kept.read_bytes()
            self._take_back(last, old)
        except OSError:
            return self._forget(LOST.format(path=path))
        except ChangedError:
            return self._forget(CHANGED_SINCE.format(path=path))
        except WorkspaceError as error:
            return NOT_UNDONE.format(why=error)
        self._news.append(NEWS.format(path=path))
        return self._forget((UNDONE_MORE if self._made[:-1] else UNDONE).format(path=path, more=self._more()))

    @property
    def news(self) -> tuple[str, ...]:
        """Sentences for the model about changes that were taken back, until `forget_news`."""
        return tuple(self._news)

    def forget_news(self) -> None:
        """The model was told, or is never to be told."""
        self._news.clear()

    def close(self) -> None:
        """Forget everything; what was changed stays."""
        self._made.clear()
        self._kept.close()

    def _take_back(self, made: _Made, old: bytes) -> None:
        workspace = Workspace(made.root, made.identity)
        match made.kind:
            case ChangeKind.EDIT:
                replace_file(workspace, made.path, made.left, old, self._unfinished)
            case ChangeKind.CREATE:
                remove_file(workspace, made.path, made.left)
            case ChangeKind.DELETE:
                create_file(workspace, made.path, old, self._unfinished)
            case ChangeKind.MOVE:
                move_file(workspace, made.target, made.path, made.left)

    def _more(self) -> str:
        count = len(self._made) - 1
        return f"{count} earlier {plural(count, 'edit')}"

    def _forget(self, sentence: str) -> str:
        self._made.pop()
        return sentence


def _check_owner(proposal: ChangeProposal) -> None:
    """Refuse to change what the app itself goes by, in a folder that has it inside."""
    places = (
        platformdirs.user_config_path(APP),
        platformdirs.user_state_path(APP),
        platformdirs.user_cache_path(APP),
        platformdirs.user_data_path(APP),
    )
    for path in filter(None, (proposal.path, proposal.target)):
        if any((proposal.root / path).is_relative_to(os.path.realpath(place)) for place in places):
            raise ToolError(_OWN.format(path=escaped(path)))
