"""The session's turns and undo, with a store on disk that is opened when first needed."""

import shutil
import tempfile
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_tui.agent.turn_history import TurnHistory
from laguna_tui.base.paths import APP, SESSIONS
from laguna_tui.session.kv_cache import KvCache
from laguna_tui.session.recorder import Recorder
from laguna_tui.session.values import RewindCost

if TYPE_CHECKING:
    from laguna_tui.agent.loop import Agent
    from laguna_tui.repo.files.source_writer import TemporaryFiles
    from laguna_tui.undo.file_diff import FileDiff
    from laguna_tui.undo.undo import UndoHistory
    from laguna_tui.undo.undo_plan import UndoPlan, UndoPoint, UndoResult

STORES = "undo"
"""The folder with a session's store; in the state folder, the stores of sessions that were not kept."""


class History:
    """The turns, what they changed, and undo. Any thread, except `apply`; each call may take seconds.

    Every method raises UserError if there is nothing to do, or nothing can be stored. All texts are raw.

    Attributes:
        turns: the turns of the session.
    """

    def __init__(
        self, folder: Path, state: Path | None, agent: "Callable[[], Agent]", recorder: Recorder, cache: KvCache
    ) -> None:
        """Open nothing yet.

        Args:
            folder: the folder that is asked about.
            state: the user's state folder; None for none.
            agent: the session's agent; raises UserError before there is one.
            recorder: keeps the session; the store of one that is not kept is in a temporary folder.
            cache: the KV cache, which follows.
        """
        self.turns = TurnHistory(self._open, recorder)
        self._folder, self._state, self._agent, self._recorder, self._cache = folder, state, agent, recorder, cache
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
        """The turns, including those that changed nothing or are undone; newest last."""
        return self.turns.points()

    def plan_undo(self) -> "UndoPlan":
        """What undoing the last turn would do."""
        return self.turns.journal().plan_undo()

    def plan_redo(self) -> "UndoPlan":
        """What redoing the last undone turn would do."""
        return self.turns.journal().plan_redo()

    def plan_rewind(self, number: int) -> "UndoPlan":
        """What undoing this turn and all after it would do."""
        return self.turns.journal().plan_rewind(number)

    def unfinished(self) -> "UndoPlan | None":
        """The rest of an undo in which an earlier session about this folder was killed; None if there is none."""
        from laguna_tui.base.object_store import StoreError
        from laguna_tui.repo.files.workspace import Workspace
        from laguna_tui.undo.undo import UndoHistory
        from laguna_tui.undo.undo_log import unfinished_stores

        if self._state is None:
            return None
        if self._recorder.writer is not None and (plan := self.turns.journal().plan_unfinished()) is not None:
            return plan
        root = Workspace(self._folder).root
        for store in unfinished_stores((self._state / STORES, self._state / SESSIONS), root):
            # One that another session has open is that session's to finish.
            with suppress(StoreError):
                self._close_killed()
                self._killed = UndoHistory(root, store, unfinished=self._unfinished())
                if (plan := self._killed.plan_unfinished()) is not None:
                    return plan
        self._close_killed()
        return None

    def preview(self, plan: "UndoPlan") -> "Sequence[FileDiff]":
        """What applying a plan would change, conflicts included."""
        if plan.resumes and self._killed is not None:
            return self._killed.preview(plan)
        return self.turns.journal().preview(plan)

    def cost(self, plan: "UndoPlan") -> RewindCost | None:
        """What the conversation would cost after a plan; None if that is not known."""
        return self._cache.cost(self.turns.said_after(plan))

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
        result = self._agent().apply_undo(plan, overwrite)
        self._cache.restore()
        return result

    def diff(self, *, turn: bool = False) -> "Sequence[FileDiff]":
        """What the turns of this session changed, without those that are undone.

        Args:
            turn: only the last one.
        """
        return self.turns.diff(0 if turn else None)

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
        from laguna_tui.base.object_store import remove_old_stores
        from laguna_tui.undo.undo import UndoHistory

        writer = self._recorder.writer
        if writer is not None:
            store = writer.journal.folder / STORES
        else:
            store = self._store = Path(tempfile.mkdtemp(prefix=f"{APP}-{STORES}-"))
        if self._state is not None:
            remove_old_stores(self._state / STORES)
        return UndoHistory(self._folder, store, unfinished=self._unfinished())

    def _unfinished(self) -> "TemporaryFiles | None":
        from laguna_tui.agent.changes import UNFINISHED
        from laguna_tui.repo.files.source_writer import TemporaryFiles

        return TemporaryFiles(self._state / UNFINISHED) if self._state is not None else None
