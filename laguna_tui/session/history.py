"""The session's turns and undo, with a store on disk that is opened when first needed."""

import shutil
import tempfile
import threading
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_tui.agent.turn_history import TurnHistory
from laguna_tui.base.errors import UserError
from laguna_tui.base.paths import APP, SESSIONS
from laguna_tui.session.engine_slot import NO_MODEL
from laguna_tui.session.recorder import Recorder
from laguna_tui.session.values import RewindCost

if TYPE_CHECKING:
    from laguna_tui.repo.files.source_writer import TemporaryFiles
    from laguna_tui.undo.file_diff import FileDiff
    from laguna_tui.undo.undo import UndoHistory
    from laguna_tui.undo.undo_plan import UndoPlan, UndoPoint, UndoResult


class History:
    """The turns, what they changed, and undo. Any thread, except `apply`; each call may take seconds.

    Every method raises UserError if there is nothing to do, or nothing can be stored. All texts are raw.

    Attributes:
        turns: the turns of the session.
    """

    def __init__(self, folder: Path, state: Path | None, recorder: Recorder) -> None:
        """Open nothing yet.

        Args:
            folder: the workspace.
            state: the user's state folder; None for none.
            recorder: saves the session; the store of an unsaved one is in a temporary folder.
        """
        self.turns = TurnHistory(self._open)
        self._folder, self._state, self._recorder = folder, state, recorder
        self._store: Path | None = None
        self._killed: UndoHistory | None = None
        self._closed = threading.Event()
        self._preparing: threading.Thread | None = None

    def prepare(self) -> None:
        """Store the folder's contents in the background, so that the first command need not wait; once per session."""
        if self._preparing is not None:
            return
        self._closed.clear()
        self._preparing = threading.Thread(
            target=self.turns.prepare, args=(self._closed.is_set,), name="laguna-undo", daemon=True
        )
        self._preparing.start()

    def points(self) -> "Sequence[UndoPoint]":
        """Return the turns, including those that changed nothing or are undone; newest last."""
        return self.turns.points()

    def plan_undo(self) -> "UndoPlan":
        """Return what undoing the last turn would do."""
        return self.turns.journal().plan_undo()

    def plan_redo(self) -> "UndoPlan":
        """Return what redoing the last undone turn would do."""
        return self.turns.journal().plan_redo()

    def plan_rewind(self, number: int) -> "UndoPlan":
        """Return what undoing this turn and all after it would do."""
        return self.turns.journal().plan_rewind(number)

    def diff(self, *, turn: bool = False) -> "Sequence[FileDiff]":
        """Return what the turns that are not undone changed; with `turn`, the last one of these alone."""
        return self.turns.diff(turn=turn)

    def unfinished(self) -> "UndoPlan | None":
        """Return the rest of an undo in which an earlier session about this folder was killed; None for none."""
        from laguna_tui.base.object_store import StoreError
        from laguna_tui.repo.files.workspace import Workspace
        from laguna_tui.undo.undo import UndoHistory
        from laguna_tui.undo.undo_log import unfinished_stores

        if self._state is None:
            return None
        if self._recorder.writer is not None and (plan := self.turns.journal().plan_unfinished()) is not None:
            return plan
        root = Workspace(self._folder).root
        for store in unfinished_stores(self._state / SESSIONS, root):
            # One that another session has open is that session's to finish.
            with suppress(StoreError):
                self._close_killed()
                self._killed = UndoHistory(root, store, unfinished=self._unfinished_writes())
                if (plan := self._killed.plan_unfinished()) is not None:
                    return plan
        self._close_killed()
        return None

    def preview(self, plan: "UndoPlan") -> "Sequence[FileDiff]":
        """Return what applying a plan would change, conflicts included."""
        if plan.resumes and self._killed is not None:
            return self._killed.preview(plan)
        return self.turns.journal().preview(plan)

    def cost(self, plan: "UndoPlan") -> RewindCost | None:
        """Return what the conversation would cost after a plan; None if that is unknown."""
        return self._recorder.kv_cache.cost(self.turns.mark_after(plan))

    def apply(self, plan: "UndoPlan", overwrite: Collection[str] = ()) -> "UndoResult":
        """Apply a plan to files and conversation. The session's thread only, while no turn runs.

        Args:
            plan: of the present state; another one is refused.
            overwrite: conflicting paths that the user agreed to overwrite; the others stay as they are.
        """
        if plan.resumes and self._killed is not None:
            try:
                return self._killed.apply(plan, overwrite)
            finally:
                self._close_killed()
        if self._recorder.parts is None:
            raise UserError(NO_MODEL)
        result = self._recorder.parts.agent.apply_undo(plan, overwrite)
        self._recorder.kv_cache.restore()
        return result

    def begin_again(self) -> None:
        """Forget the turns: another session begins. The old one's files stay on disk."""
        self._closed.set()
        preparing, self._preparing = self._preparing, None
        if preparing is not None:
            preparing.join()
        self.turns.close()
        store, self._store = self._store, None
        if store is not None:
            shutil.rmtree(store, ignore_errors=True)

    def close(self) -> None:
        """Close the store, and remove one that can no longer be resumed. Idempotent."""
        self.begin_again()
        self._close_killed()

    def _close_killed(self) -> None:
        killed, self._killed = self._killed, None
        if killed is not None:
            killed.close()

    def _open(self) -> "UndoHistory":
        from laguna_tui.undo.undo import UndoHistory
        from laguna_tui.undo.undo_log import STORE

        writer = self._recorder.writer
        if writer is not None:
            store = writer.journal.folder / STORE
        else:
            store = self._store = Path(tempfile.mkdtemp(prefix=f"{APP}-{STORE}-"))
        return UndoHistory(self._folder, store, unfinished=self._unfinished_writes())

    def _unfinished_writes(self) -> "TemporaryFiles | None":
        from laguna_tui.agent.changes import UNFINISHED
        from laguna_tui.repo.files.source_writer import TemporaryFiles

        return TemporaryFiles(self._state / UNFINISHED) if self._state is not None else None
