"""The turns of a session and the way back: files by the journal, the conversation by what was said before each turn.

The journal is opened when a file is first changed, or when it is asked about: most questions change nothing.
"""

import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from laguna_tui.agent.conversation import Conversation
from laguna_tui.agent.messages import ConversationMark

if TYPE_CHECKING:
    from laguna_tui.journal.file_diff import FileDiff
    from laguna_tui.journal.undo import UndoHistory
    from laguna_tui.journal.undo_plan import UndoPlan, UndoPoint, UndoResult


@dataclass(slots=True)
class _Turn:
    """A turn: which chat it belongs to, when it began, and what was said before it and after it."""

    number: int
    title: str
    chat: int
    began: float
    before: ConversationMark
    after: ConversationMark


def no_journal() -> "UndoHistory":
    """What opens the journal where there is none."""
    from laguna_tui.journal.object_store import StoreError

    raise StoreError("this session keeps nothing to undo")


class TurnHistory:
    """The turns of one session. Turns begin, end and are undone on the session's thread; the rest is for any thread."""

    def __init__(self, open_journal: "Callable[[], UndoHistory]") -> None:
        """open_journal: opens the session's own journal; raises StoreError where there cannot be one."""
        self._open_journal = open_journal
        self._journal: UndoHistory | None = None
        self._lock = threading.RLock()
        self._turns: list[_Turn] = []
        self._position = self._last = self._told = self._chat = 0
        self._wanted = False

    # -- turns

    @property
    def next_number(self) -> int:
        """The number of the next turn, from 1; none is given twice."""
        return self._last + 1

    def new_chat(self) -> None:
        """What is said from now on belongs to another chat: an undo of earlier turns leaves it alone."""
        self._chat += 1

    def use_model(self) -> None:
        """What was said so far has to be written again for another model."""
        with self._lock:
            for turn in self._turns:
                turn.before, turn.after = turn.before.retold(), turn.after.retold()

    def begin(self, message: str, conversation: Conversation) -> None:
        """A user's message begins a turn; turns that are undone are forgotten."""
        with self._lock:
            del self._turns[self._position :]
            self._last += 1
            mark = conversation.mark()
            self._turns.append(_Turn(self._last, message, self._chat, time.time(), mark, mark))
            self._position = len(self._turns)

    def end(self, conversation: Conversation) -> None:
        """The turn that began last has ended."""
        with self._lock:
            if self._position:
                self._turns[self._position - 1].after = conversation.mark()
            journal = self._journal
        if journal is not None:
            # Imported late: most questions change nothing.
            from laguna_tui.journal.undo import CheckpointError

            # What cannot be written down now is tried again with the next change.
            with suppress(CheckpointError):
                journal.end_turn()

    # -- changes

    def prepare(self, should_stop: Callable[[], bool]) -> None:
        """Store what is in the folder ahead of the first command, so that it need not wait. Nothing is raised.

        The first change ends it, which would wait for it.
        """
        from laguna_tui.journal.undo import CheckpointError

        with suppress(CheckpointError):
            self._synced().prepare(lambda: self._wanted or should_stop())

    def before_change(self, paths: Collection[str] | None, should_stop: Callable[[], bool]) -> None:
        """Take the checkpoint before a change; arguments as for `UndoHistory.before_change`.

        Raises:
            CheckpointError: there is none, and the change must not be made.
        """
        self._wanted = True
        self._synced().before_change(paths, should_stop)

    def after_change(self) -> bool:
        """Take the state after a change; whether files were changed.

        Raises:
            CheckpointError: it cannot be stored; undo will ask about each file.
        """
        return self._journal is not None and self._journal.after_change()

    # -- the way back

    def points(self) -> "tuple[UndoPoint, ...]":
        """The turns, newest last; CheckpointError where there is no journal."""
        points = self._synced().points()
        with self._lock:
            began = {turn.number: turn.began for turn in self._turns}
        return tuple(replace(point, time=began.get(point.number, point.time)) for point in points)

    def plan_undo(self) -> "UndoPlan":
        """What undoing the last turn would do. UndoError, CheckpointError: as `UndoHistory.plan_undo`, also below."""
        return self._synced().plan_undo()

    def plan_redo(self) -> "UndoPlan":
        """What redoing the turn that was undone last would do."""
        return self._synced().plan_redo()

    def plan_rewind(self, number: int) -> "UndoPlan":
        """What undoing a turn and all after it would do."""
        return self._synced().plan_rewind(number)

    def preview(self, plan: "UndoPlan") -> "tuple[FileDiff, ...]":
        """What applying a plan would change, conflicts included."""
        return self._synced().preview(plan)

    def diff(self, number: int | None = None) -> "tuple[FileDiff, ...]":
        """What a turn changed, or all that are not undone; 0 is the last one of these."""
        journal = self._synced()
        if number == 0:
            with self._lock:
                number = self._turns[self._position - 1].number if self._position else None
            if number is None:
                return ()
        return journal.diff(number)

    def apply(self, plan: "UndoPlan", overwrite: Collection[str], conversation: Conversation) -> "UndoResult":
        """Put the files and the conversation where a plan wants them; not while a turn runs.

        Args:
            plan: of the present state.
            overwrite: paths of conflicts that the user agreed to lose.
            conversation: the present one.

        Raises:
            UndoError, CheckpointError: nothing was changed.
        """
        result = self._synced().apply(plan, overwrite)
        with self._lock:
            before, self._position = self._position, plan.position
            concerned = self._turns[min(before, plan.position) : max(before, plan.position)]
            of_chat = [turn for turn in concerned if turn.chat == self._chat]
        if of_chat:
            conversation.restore(of_chat[0].before if plan.position < before else of_chat[-1].after)
        return result

    def close(self) -> None:
        """Close the journal and forget the turns. Idempotent."""
        with self._lock:
            journal, self._journal = self._journal, None
            self._turns.clear()
            self._position = self._last = self._told = 0
        if journal is not None:
            journal.close()

    def _synced(self) -> "UndoHistory":
        """The journal, which knows of all turns by now.

        Raises:
            CheckpointError: it cannot be opened, or nothing can be stored in it.
        """
        from laguna_tui.journal.object_store import StoreError
        from laguna_tui.journal.undo import CheckpointError

        with self._lock:
            if self._journal is None:
                try:
                    self._journal = self._open_journal()
                except StoreError as error:
                    raise CheckpointError(f"nothing was changed, because it could not be undone: {error}") from error
            for turn in self._turns[: self._position]:
                if turn.number > self._told:
                    self._journal.begin_turn(turn.title)
                    self._told = turn.number
            return self._journal
