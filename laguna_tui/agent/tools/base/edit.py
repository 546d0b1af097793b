"""`edit`: a text in one file replaced, if the user agrees. The only tool that changes anything.

And the edits of one session: which may be made, the ones that were made, and how they are taken back, newest first.
The journal is in memory and the old bytes lie where long results do; both are gone when the session ends.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from laguna_engine.chat.messages import ToolSpec
from laguna_tui.agent.permissions import Approver, Decision, EditMode
from laguna_tui.agent.tools.base.results import Answer, ResultStore, Steps
from laguna_tui.agent.tools.base.tool_arguments import read_arguments
from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.base.events import EditDone, EditProposed
from laguna_tui.base.paths import APP, FolderIdentity
from laguna_tui.base.schema import declared, json_schema
from laguna_tui.base.units import plural
from laguna_tui.repo.edit_files import EditDialect, EditError, apply_edit, propose_edit
from laguna_tui.repo.relative_paths import escaped
from laguna_tui.repo.source_writer import ChangedError, TemporaryFiles, digest, replace_file
from laguna_tui.repo.workspace import Workspace, WorkspaceError

UNFINISHED = "edits"
"""The folder in the state folder that notes which edits are being written."""

NOT_ALLOWED = "edits are not allowed here; say what you would change instead"
NOBODY_TO_ASK = "nobody can be asked about edits here; tell the user that --edits allow would make them"
NOT_UNASKED = (
    "{path} is not edited unasked, because {because}, and nobody can be asked here; tell the user to ask for it in a"
    " terminal and to agree there"
)
DECLINED = "the user declined this edit; ask what to do instead"
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
    """An edit that was made: `left` is the digest of what it left, `kept` the old bytes or the file that has them."""

    root: Path
    identity: FolderIdentity
    path: str
    left: bytes
    kept: Path | bytes


class SessionEdits:
    """What a session's edits go through. mode: which are made; may be set at any time, from any thread."""

    def __init__(
        self,
        mode: EditMode = EditMode.ASK,
        approver: Approver | None = None,
        store: ResultStore | None = None,
        state: Path | None = None,
    ) -> None:
        """Begin with no edit made, and remove what the edits of killed sessions left half written.

        Args:
            approver: who is asked; without one, mode ASK makes none.
            store: where old bytes are kept; None means the cache folder.
            state: the user's state folder, where it is noted what is being written; None notes nothing.
        """
        self.mode = mode
        self.approver = approver
        self._store = store or ResultStore()
        self._unfinished = TemporaryFiles(state / UNFINISHED if state is not None else None)
        self._unfinished.sweep()
        self._made: list[_Made] = []
        self._news: list[str] = []

    def check(self) -> None:
        """Do nothing where an edit may be proposed.

        Raises:
            EditError: none is made here.
        """
        if self.mode is EditMode.NEVER:
            raise EditError(NOT_ALLOWED)
        if self.mode is EditMode.ASK and self.approver is None:
            raise EditError(NOBODY_TO_ASK)

    def make(self, proposal: ChangeProposal, cancelled: Callable[[], bool]) -> Iterator[EditProposed | EditDone]:
        """Have an edit decided and make it.

        Raises:
            WorkspaceError: it is not made, and why; the file is as it was.
        """
        always = bool(proposal.asks_because)
        approver = self.approver if always or self.mode is EditMode.ASK else None
        if always and approver is None:
            raise EditError(NOT_UNASKED.format(path=escaped(proposal.path), because=proposal.asks_because))
        yield EditProposed(proposal, approver is not None)
        # Whoever iterates may have changed the mode meanwhile.
        self.check()
        if approver is not None and (always or self.mode is EditMode.ASK):
            self._decide(approver(proposal, cancelled))
        if cancelled():
            raise EditError(STOPPED)
        # Kept first: an edit that cannot be taken back is not made.
        kept = self._store.keep_bytes(proposal.old) or proposal.old
        apply_edit(proposal, self._unfinished)
        self._made.append(_Made(proposal.root, proposal.identity, proposal.path, digest(proposal.new), kept))
        yield EditDone(proposal.path, proposal.places)

    def undo(self) -> str:
        """Take back the newest edit; a sentence for the user about what became of it. Not while a turn runs.

        An edit whose file was changed since is forgotten, so that the one before it can be taken back.
        """
        if not self._made:
            return NOTHING
        last = self._made[-1]
        path = escaped(last.path)
        try:
            old = last.kept if isinstance(last.kept, bytes) else last.kept.read_bytes()
            replace_file(Workspace(last.root, last.identity), last.path, last.left, old, self._unfinished)
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
        """Sentences for the model about edits that were taken back, until `forget_news`."""
        return tuple(self._news)

    def forget_news(self) -> None:
        """The model was told, or is never to be told."""
        self._news.clear()

    def close(self) -> None:
        """Forget everything; what was edited stays."""
        self._made.clear()
        self._store.close()

    def _decide(self, decision: Decision) -> None:
        if decision is Decision.NO:
            raise EditError(DECLINED)
        if decision is Decision.ALWAYS:
            self.mode = EditMode.ALLOW

    def _more(self) -> str:
        count = len(self._made) - 1
        return f"{count} earlier {plural(count, 'edit')}"

    def _forget(self, sentence: str) -> str:
        self._made.pop()
        return sentence


@dataclass(frozen=True, slots=True)
class EditArguments:
    """A file, the text to replace in it and the new text, in one place or in all."""

    path: str = declared()
    old: str = declared(blank=True)
    new: str = declared(blank=True)
    all: bool = declared(False, "replace every occurrence, names as whole words")


SPEC = ToolSpec(
    name="edit",
    description="Replace text in a file. The old text must occur exactly once.",
    parameters=json_schema(EditArguments),
)
_OWN = "{path} belongs to laguna-tui itself; edit another file"


class Edit:
    """The tool, for one session's edits; `dialect` is what is made of texts that are not quite the file's."""

    def __init__(self, edits: SessionEdits, dialect: EditDialect) -> None:
        self._edits = edits
        self._dialect = dialect

    def __call__(self, workspace: Workspace, arguments: Mapping[str, object], should_stop: Callable[[], bool]) -> Steps:
        """The proposal, what comes of it, and `Changed PATH in N places.`, with a line for each of its notes.

        Raises:
            ArgumentError: an argument is missing or wrong.
            WorkspaceError: the edit is not made, and why; the file is as it was.
        """
        self._edits.check()
        wanted = read_arguments(EditArguments, arguments)
        proposal = propose_edit(
            workspace, wanted.path, wanted.old, wanted.new, wanted.all, should_stop, dialect=self._dialect
        )
        _check_owner(proposal)
        yield from self._edits.make(proposal, should_stop)
        return Answer("\n".join([f"Changed `{escaped(proposal.path)}` in {proposal.counted}.", *proposal.notes]))


def _check_owner(proposal: ChangeProposal) -> None:
    """Refuse to change what the app itself goes by, in a folder that has it inside."""
    file = proposal.root / proposal.path
    places = (
        platformdirs.user_config_path(APP),
        platformdirs.user_state_path(APP),
        platformdirs.user_cache_path(APP),
        platformdirs.user_data_path(APP),
    )
    if any(file.is_relative_to(os.path.realpath(place)) for place in places):
        raise EditError(_OWN.format(path=escaped(proposal.path)))
