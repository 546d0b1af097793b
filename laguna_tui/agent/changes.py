"""File changes made by a session's tools: permitted, reported to the front end, and undoable."""

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import platformdirs
from msgspec.structs import replace

from laguna_tui.agent.seen_files import SeenFiles
from laguna_tui.agent.tool_run import PermissionDenied, ToolError, ToolRun
from laguna_tui.base.change_proposal import ChangeKind, ChangeProposal
from laguna_tui.base.events import ChangeMade, Notice
from laguna_tui.base.paths import APP, escaped
from laguna_tui.base.permission_request import CallProposal, PermissionRequest
from laguna_tui.base.units import some_of
from laguna_tui.repo.edits.file_changes import apply_change, with_hunks, with_text
from laguna_tui.repo.files.protected_paths import execution_reason
from laguna_tui.repo.files.source_writer import ChangedError, TemporaryFiles
from laguna_tui.repo.files.workspace import WorkspaceError

if TYPE_CHECKING:
    from laguna_tui.sandbox.quarantine import Quarantine

UNFINISHED = "edits"
"""The folder in the state folder that notes which changes are being written."""

_OWN = "{path} belongs to laguna-tui itself; edit another file"
EDITED = "The user edited the change before it was made; read the file before you go on."
EDITED_AWAY = "the user edited this change so that {path} stays as it is; ask what to do instead"
_EDITED_AWAY_SHOWN = "Your text is the same as before. Nothing was changed."
_MOST_NAMED = 20
_ALWAYS = "commands may not create files that other programs execute"
STOPPED = "the turn was stopped before this edit was made"
_STOPPED_SHOWN = "Stopped. Nothing was changed."


class ChangeCheckpoints(Protocol):
    """Records the folder's contents around each change, so that it can be undone."""

    def before_change(self, paths: Collection[str] | None, should_stop: Callable[[], bool]) -> None:
        """Take the checkpoint before a change of these paths; None for a command, which may change anything.

        Raises:
            CheckpointError: There is none, and the change must not be made.
        """
        ...

    def after_change(self) -> bool:
        """Record the state after it; return whether files were changed.

        Raises:
            CheckpointError: It cannot be stored.
        """
        ...


class Changes:
    """Makes every file change of a session.

    Attributes:
        seen: Which versions of files the model was shown.
        unfinished: Records of writes in progress.
    """

    def __init__(self, checkpoints: ChangeCheckpoints | None = None, state: Path | None = None) -> None:
        """Remove half-written files of killed sessions.

        Args:
            checkpoints: Makes them undoable; None if they are not.
            state: The user's state folder, where writes in progress are recorded; None records nothing.
        """
        self.seen = SeenFiles()
        self.unfinished = TemporaryFiles(state / UNFINISHED if state is not None else None)
        self.unfinished.sweep()
        self._checkpoints = checkpoints

    def make(self, run: ToolRun, tool: str, proposal: ChangeProposal) -> ChangeProposal:
        """Make a change if it is permitted.

        Args:
            run: The call that makes it.
            tool: The name of the call's tool.

        Returns:
            The change as made; the user may have edited the proposal.

        Raises:
            ToolError, WorkspaceError: The change was not made; says why. The files are unchanged.
        """
        _check_owner(proposal)
        answer = run.ask(PermissionRequest(tool, proposal, approval_reason=proposal.approval_reason))
        change = proposal
        if answer.edited is not None:
            change = replace(with_text(proposal, answer.edited), notes=(EDITED,))
        elif answer.hunks is not None:
            change = with_hunks(proposal, answer.hunks)
        if change is not proposal and change.kind is ChangeKind.EDIT and change.new == change.old:
            raise ToolError(EDITED_AWAY.format(path=escaped(change.path)), _EDITED_AWAY_SHOWN)
        if run.cancelled():
            raise ToolError(STOPPED, _STOPPED_SHOWN)
        try:
            with self._undoable(run, tuple(filter(None, (change.path, change.target)))):
                apply_change(change, self.unfinished)
        except WorkspaceError as error:
            raise ToolError(str(error), _not_written(error)) from error
        run.emit(ChangeMade(run.call_id, change))
        return change

    @contextmanager
    def around_command(self, run: ToolRun) -> Iterator[None]:
        """Make changes by a command inside this context undoable.

        Raises:
            ToolError: They could not be undone, so the command must not be run.
        """
        with self._undoable(run, None):
            yield

    @contextmanager
    def _undoable(self, run: ToolRun, paths: Collection[str] | None) -> Iterator[None]:
        """paths: The only ones that are changed; None for any."""
        if self._checkpoints is None:
            yield
            return
        # Imported late: only what changes files needs it.
        from laguna_tui.undo.undo import CheckpointError

        try:
            self._checkpoints.before_change(paths, run.cancelled)
        except CheckpointError as error:
            raise ToolError(str(error)) from error
        try:
            yield
        finally:
            try:
                if self._checkpoints.after_change():
                    run.note_change()
            except CheckpointError as error:
                run.emit(Notice(f"{str(error)[:1].upper()}{str(error)[1:]}."))


def _not_written(error: WorkspaceError) -> str:
    """Return why a change could not be written, for the user."""
    why, _, state = str(error).partition("; ")
    # After the reason, a changed file's error says what the model should do, the others the state of the file.
    is_unchanged = isinstance(error, ChangedError) or state == "nothing was changed"
    return f"Nothing was changed: {why}." if is_unchanged else f"Not written: {error}."


def _check_owner(proposal: ChangeProposal) -> None:
    """Refuse changes to the app's own files, which the folder may contain."""
    places = (
        platformdirs.user_config_path(APP),
        platformdirs.user_state_path(APP),
        platformdirs.user_cache_path(APP),
        platformdirs.user_data_path(APP),
    )
    for path in filter(None, (proposal.path, proposal.target)):
        if any((proposal.root / path).is_relative_to(os.path.realpath(place)) for place in places):
            raise ToolError(_OWN.format(path=escaped(path)))


def moved_notices(quarantine: "Quarantine") -> Iterator[Notice]:
    """Yield notices for the end of a turn: what appeared meanwhile and was moved."""
    for each in quarantine.take_unreported():
        yield Notice(
            f"{each.path} appeared while a background command or an MCP server ran. It was moved to {each.stored},"
            " because other programs execute it; the next command asks whether to put it back."
        )


def ask_to_put_back(run: ToolRun, tool: str, quarantine: "Quarantine") -> Iterator[str]:
    """Put back what was moved since the last call if the user agrees; yield notes for the model."""
    moved = quarantine.take_pending()
    if not moved:
        return
    # The last one of each name: a command that was refused may have created it again.
    latest = {each.path: each for each in moved}
    names = list(latest)
    shown = some_of(names, _MOST_NAMED)
    details = tuple(f"{path}: {execution_reason(path)}" for path in names)
    proposal = CallProposal(shown, details, action=f"Put back {shown}")
    try:
        run.ask(PermissionRequest(tool, proposal, approval_reason=_ALWAYS))
    except PermissionDenied:
        for each in latest.values():
            run.emit(Notice(f"{each.path} was moved to {each.stored}, because other programs execute it."))
        yield f"{shown} cannot be created by a command, because other programs execute it; it was moved away"
        return
    if failed := quarantine.put_back(latest.values()):
        places = ", ".join(str(latest[path].stored) for path in failed)
        run.emit(Notice(f"Not put back: {', '.join(failed)}. It is in {places}."))
        yield f"{', '.join(failed)} could not be put back"
