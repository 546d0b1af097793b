"""The session's turns and the way back, with a store on disk that is opened when it is first needed."""

import secrets
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_tui.agent.turn_history import TurnHistory
from laguna_tui.base.paths import APP

if TYPE_CHECKING:
    from laguna_tui.agent.loop import Agent
    from laguna_tui.journal.file_diff import FileDiff
    from laguna_tui.journal.undo import UndoHistory
    from laguna_tui.journal.undo_plan import UndoPlan, UndoPoint, UndoResult
    from laguna_tui.repo.source_writer import TemporaryFiles

STORES = "undo"
"""The folder in the state folder with a store for each session."""


class LocalHistory:
    """A `History`.

    Attributes:
        turns: the turns of the session.
    """

    def __init__(self, folder: Path, state: Path | None, agent: "Callable[[], Agent]") -> None:
        """Open nothing yet.

        Args:
            folder: the folder that is asked about.
            state: the user's state folder; None keeps the store in a temporary folder.
            agent: the session's agent; raises UserError before there is one.
        """
        self.turns = TurnHistory(self._open)
        self._folder, self._state, self._agent = folder, state, agent
        self._store: Path | None = None
        self._killed: UndoHistory | None = None
        self._closed = threading.Event()
        self._preparing: threading.Thread | None = None

    def prepare(self) -> None:
        """Store what is in the folder, in the background, so that the first command need not wait."""
        self._closed.clear()
        self._preparing = threading.Thread(
            target=self.turns.prepare, args=(self._closed.is_set,), name="laguna-undo", daemon=True
        )
        self._preparing.start()

    def points(self) -> "Sequence[UndoPoint]":
        """The turns, newest last."""
        return self.turns.points()

    def plan_undo(self) -> "UndoPlan":
        """What undoing the last turn would do."""
        return self.turns.plan_undo()

    def plan_redo(self) -> "UndoPlan":
        """What redoing the turn that was undone last would do."""
        return self.turns.plan_redo()

    def plan_rewind(self, number: int) -> "UndoPlan":
        """What undoing this turn and all after it would do."""
        return self.turns.plan_rewind(number)

    def unfinished(self) -> "UndoPlan | None":
        """The rest of an undo that an earlier session about this folder was killed in."""
        from laguna_tui.journal.object_store import StoreError
        from laguna_tui.journal.undo import UndoHistory
        from laguna_tui.journal.undo_log import unfinished_stores
        from laguna_tui.repo.workspace import Workspace

        if self._state is None:
            return None
        root = Workspace(self._folder).root
        for store in unfinished_stores(self._state / STORES, root):
            # One that another session has open is that session's to finish.
            with suppress(StoreError):
                self._close_killed()
                self._killed = UndoHistory(root, store, unfinished=self._unfinished())
                if (plan := self._killed.plan_unfinished()) is not None:
                    return plan
        self._close_killed()
        return None

    def preview(self, plan: "UndoPlan") -> "Sequence[FileDiff]":
        """What applying a plan would change."""
        if plan.resumes and self._killed is not None:
            return self._killed.preview(plan)
        return self.turns.preview(plan)

    def apply(self, plan: "UndoPlan", overwrite: Collection[str] = ()) -> "UndoResult":
        """Put files and conversation where a plan wants them; not while a turn runs."""
        if plan.resumes and self._killed is not None:
            try:
                return self._killed.apply(plan, overwrite)
            finally:
                self._close_killed()
        return self._agent().apply_undo(plan, overwrite)

    def diff(self, *, turn: bool = False) -> "Sequence[FileDiff]":
        """What the turns changed, or only the last one."""
        return self.turns.diff(0 if turn else None)

    def close(self) -> None:
        """Close the store and remove it, because nobody can go back any longer. Idempotent."""
        self._closed.set()
        if self._preparing is not None:
            self._preparing.join()
        self.turns.close()
        self._close_killed()
        if self._store is not None:
            shutil.rmtree(self._store, ignore_errors=True)

    def _close_killed(self) -> None:
        killed, self._killed = self._killed, None
        if killed is not None:
            killed.close()

    def _open(self) -> "UndoHistory":
        from laguna_tui.journal.object_store import remove_old_stores
        from laguna_tui.journal.undo import UndoHistory

        if self._state is None:
            store = Path(tempfile.mkdtemp(prefix=f"{APP}-{STORES}-"))
        else:
            store = self._state / STORES / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}"
            remove_old_stores(store.parent)
        self._store = store
        return UndoHistory(self._folder, store, unfinished=self._unfinished())

    def _unfinished(self) -> "TemporaryFiles | None":
        from laguna_tui.agent.changes import UNFINISHED
        from laguna_tui.repo.source_writer import TemporaryFiles

        return TemporaryFiles(self._state / UNFINISHED) if self._state is not None else None
