"""The turns of a session, and undo: files by the undo journal, the conversation by what was said at each turn.

The undo journal is opened when a file is first changed, or when it is asked about: most questions change nothing.
Messages are never changed, only replaced, so two moments of a conversation differ by what was added behind what both
begin with, and no moment needs a copy of its own.
"""

import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from laguna_tui.agent.conversation import ConversationMark, ConversationState
from laguna_tui.base.errors import UserError
from laguna_tui.base.messages import ChatMessage

if TYPE_CHECKING:
    from laguna_tui.agent.conversation import Conversation
    from laguna_tui.undo.file_diff import FileDiff
    from laguna_tui.undo.undo import UndoHistory
    from laguna_tui.undo.undo_plan import UndoPlan, UndoPoint, UndoResult


TITLE_CHARS = 200
"""Of a message, what is kept of it to name its turn."""

Place = ConversationMark | int
"""Where a log finds a moment again: all of it, or a number that the log understands."""


@dataclass(slots=True)
class TurnRecord:
    """A turn.

    Attributes:
        number: From 1; never reused in a session.
        title: The beginning of its message.
        chat: Which chat of the session it belongs to.
        began: Seconds since the epoch.
        before, after: Where the log has the conversation before it and after it.
    """

    number: int
    title: str
    chat: int
    began: float
    before: Place
    after: Place


class TurnLog(Protocol):
    """Records a session's conversation at each turn."""

    def note(self, state: ConversationState) -> Place:
        """Record the present moment."""
        ...

    def load(self, place: Place) -> ConversationMark:
        """Return the conversation at a moment.

        Raises:
            UserError: It is lost.
        """
        ...

    def began(self, number: int, message: str, state: ConversationState) -> Place:
        """Record the present moment: a turn has begun, and its message is in the conversation."""
        ...

    def moved(self, position: int, state: ConversationState) -> None:
        """Record that this many turns are done, the others undone, and the conversation is as it was then."""
        ...


class ListDifference(NamedTuple):
    """How a list became another one: its first `kept` stay, and the others are `added`."""

    kept: int
    added: tuple[ChatMessage, ...]

    @classmethod
    def between(cls, before: Sequence[ChatMessage], after: Sequence[ChatMessage]) -> "ListDifference":
        """Return the difference of two lists, by identity."""
        kept = 0
        for old, new in zip(before, after, strict=False):
            if old is not new:
                break
            kept += 1
        return cls(kept, tuple(after[kept:]))


class MemoryLog:
    """A `TurnLog` in memory, for a session that is not saved: what each moment added to the one before it."""

    def __init__(self) -> None:
        self._changes: list[tuple[ListDifference, ListDifference]] = []
        self._last = ConversationMark()

    def note(self, state: ConversationState) -> Place:
        before, self._last = self._last, ConversationMark(tuple(state.current), tuple(state.forgotten))
        changes = zip(before, self._last, strict=True)
        said, forgotten = (ListDifference.between(old, new) for old, new in changes)
        self._changes.append((said, forgotten))
        return len(self._changes)

    def load(self, place: Place) -> ConversationMark:
        if isinstance(place, ConversationMark):
            return place
        lists: tuple[list[ChatMessage], list[ChatMessage]] = ([], [])
        for change in self._changes[:place]:
            for each, (kept, added) in zip(lists, change, strict=True):
                each[kept:] = added
        return ConversationMark(tuple(lists[0]), tuple(lists[1]))

    def began(self, number: int, message: str, state: ConversationState) -> Place:
        return self.note(state)

    def moved(self, position: int, state: ConversationState) -> None:
        self.note(state)


def no_journal() -> "UndoHistory":
    """Raise the error of a session without an undo journal."""
    from laguna_tui.base.object_store import StoreError

    raise StoreError("this session records nothing to undo")


class TurnHistory:
    """The turns of one session. They begin, end and are undone on the session's thread; the rest is for any thread.

    Attributes:
        log: Records the conversation at each turn; in memory until it is replaced.
    """

    def __init__(self, open_journal: "Callable[[], UndoHistory]") -> None:
        """Begin without turns.

        Args:
            open_journal: Opens the session's undo journal; raises StoreError if there cannot be one.
        """
        self._open_journal = open_journal
        self.log: TurnLog = MemoryLog()
        self._journal: UndoHistory | None = None
        self._lock = threading.RLock()
        self._turns: list[TurnRecord] = []
        self._position = self._last = self._journaled = self._chat = 0
        self._wanted = False

    # -- turns

    @property
    def next_number(self) -> int:
        """The number of the next turn, from 1; never reused."""
        return self._last + 1

    def new_chat(self) -> None:
        """Begin a new chat; undoing earlier turns leaves it alone."""
        self._chat += 1

    def begin(self, message: str, conversation: "Conversation", add: Callable[[], None]) -> None:
        """Begin a turn with a user's message; undone turns are forgotten.

        Args:
            message: What the user sent.
            conversation: The present one.
            add: Adds the message to it.
        """
        with self._lock:
            before = self.log.note(conversation.state)
            add()
            self._last += 1
            after = self.log.began(self._last, message, conversation.state)
            title = message[:TITLE_CHARS]
            turn = TurnRecord(self._last, title, self._chat, time.time(), before, after)
            self._turns[self._position :] = [turn]
            self._position = len(self._turns)

    def end(self, conversation: "Conversation") -> None:
        """End the newest turn."""
        with self._lock:
            if self._position:
                self._turns[self._position - 1].after = self.log.note(conversation.state)
            journal = self._journal
        if journal is not None:
            # Imported late: most questions change nothing.
            from laguna_tui.undo.undo import CheckpointError

            # What cannot be recorded now is tried again with the next change.
            with suppress(CheckpointError):
                journal.after_change()

    # -- changes

    def prepare(self, should_stop: Callable[[], bool]) -> None:
        """Store the folder's contents before the first command, so that it need not wait. Raises nothing.

        The first change ends it, which would wait for it.
        """
        from laguna_tui.undo.undo import CheckpointError

        with suppress(CheckpointError):
            self.journal().prepare(lambda: self._wanted or should_stop())

    def before_change(self, paths: Collection[str] | None, should_stop: Callable[[], bool]) -> None:
        """Take the checkpoint before a change; arguments as for `UndoHistory.before_change`.

        Raises:
            CheckpointError: There is none, and the change must not be made.
        """
        self._wanted = True
        self.journal().before_change(paths, should_stop)

    def after_change(self) -> bool:
        """Record the state after a change; return whether files were changed.

        Raises:
            CheckpointError: It cannot be stored; undo will ask about each file.
        """
        return self._journal is not None and self._journal.after_change()

    # -- undo

    def points(self) -> "tuple[UndoPoint, ...]":
        """Return the turns, newest last; CheckpointError if there is no journal."""
        points = self.journal().points()
        with self._lock:
            began = {turn.number: turn.began for turn in self._turns}
        return tuple(replace(point, time=began.get(point.number, point.time)) for point in points)

    def journal(self) -> "UndoHistory":
        """Return the journal, with all turns so far.

        Raises:
            CheckpointError: It cannot be opened, or nothing can be stored in it.
        """
        from laguna_tui.base.object_store import StoreError
        from laguna_tui.undo.undo import CheckpointError

        with self._lock:
            if self._journal is None:
                try:
                    self._journal = self._open_journal()
                except StoreError as error:
                    raise CheckpointError(f"nothing was changed, because it could not be undone: {error}") from error
                self._journaled, _ = self._journal.progress
                # It may have turns that did not fit on the disk with the log.
                self._last = max(self._last, self._journaled)
            for turn in self._turns[: self._position]:
                if turn.number > self._journaled:
                    self._journal.begin_turn(turn.title)
                    self._journaled = turn.number
            return self._journal

    def diff(self, *, turn: bool = False) -> "tuple[FileDiff, ...]":
        """Return what the turns that are not undone changed; with `turn`, the last one of these alone."""
        journal = self.journal()
        if not turn:
            return journal.diff()
        with self._lock:
            return journal.diff(self._turns[self._position - 1].number) if self._position else ()

    def apply(self, plan: "UndoPlan", overwrite: Collection[str], conversation: "Conversation") -> "UndoResult":
        """Apply a plan to files and conversation; not while a turn runs.

        Args:
            plan: Of the present state.
            overwrite: Conflicting paths that the user agreed to overwrite.
            conversation: The present one.

        Raises:
            UndoError, CheckpointError, UserError: Nothing was changed.
        """
        journal = self.journal()
        position = self._position_after(plan)
        said = self._mark_at(position)
        result = journal.apply(plan, overwrite)
        self._move(position, said, conversation)
        return result

    def mark_after(self, plan: "UndoPlan") -> ConversationMark | None:
        """Return the conversation after a plan; None if the plan does not change it.

        Raises:
            UserError: It is lost.
        """
        return self._mark_at(self._position_after(plan))

    def _position_after(self, plan: "UndoPlan") -> int:
        """Return how many turns are done after a plan."""
        from laguna_tui.undo.undo_log import UndoKind

        numbers = [] if plan.resumes else [point.number for point in plan.points]
        return self._position_with(numbers, done=plan.kind is UndoKind.REDO)

    def _position_with(self, numbers: Collection[int], *, done: bool) -> int:
        """Return how many turns are done once those with these numbers are, or are not: all or none behind one."""
        with self._lock:
            places = [place for place, turn in enumerate(self._turns) if turn.number in numbers]
            if not places:
                return self._position
            return max(self._position, places[-1] + 1) if done else min(self._position, places[0])

    def _mark_at(self, position: int) -> ConversationMark | None:
        with self._lock:
            concerned = self._turns[min(self._position, position) : max(self._position, position)]
            of_chat = [turn for turn in concerned if turn.chat == self._chat]
            if not of_chat:
                return None
            turn, back = (of_chat[0], True) if position < self._position else (of_chat[-1], False)
            return self.log.load(turn.before if back else turn.after)

    def _move(self, position: int, said: ConversationMark | None, conversation: "Conversation") -> None:
        """Move the conversation to where this many turns are done."""
        with self._lock:
            self._position = position
        if said is not None:
            conversation.restore(said)
        self.log.moved(position, conversation.state)

    def resume(self, turns: Sequence[TurnRecord], position: int, last: int) -> None:
        """Resume with the turns of an earlier process.

        Args:
            turns: Oldest first.
            position: How many of them are done.
            last: The last number that was given to one.
        """
        with self._lock:
            self._turns, self._position = list(turns), position
            self._last, self._journaled, self._chat = last, 0, 0

    def catch_up(self, conversation: "Conversation") -> None:
        """Complete an undo during which an earlier process was killed: its files are, or will be, in place.

        Raises nothing: what cannot be opened here fails again, with a sentence, when it is needed.
        """
        from laguna_tui.undo.undo import CheckpointError

        with suppress(CheckpointError, UserError):
            _, done = self.journal().progress
            undone = [turn.number for turn in self._turns[: self._position] if turn.number not in done]
            position = self._position_with(undone or done, done=not undone)
            if position != self._position:
                self._move(position, self._mark_at(position), conversation)

    def close(self) -> None:
        """Close the journal and forget the turns. Idempotent."""
        with self._lock:
            journal, self._journal = self._journal, None
            self.log = MemoryLog()
            self._turns.clear()
            self._position = self._last = self._journaled = self._chat = 0
        if journal is not None:
            journal.close()
