"""Writes a session's changes and its streamed text to its journal."""

import time
from collections.abc import Iterable, Iterator, Sequence
from threading import RLock

from laguna_engine.events import Prefill
from laguna_tui.agent.conversation import ConversationMark, ConversationState
from laguna_tui.agent.turn_history import ListDifference, Place
from laguna_tui.base.events import AgentEvent, Choosing, DraftRound, Rate, ReasoningDelta, TextDelta, ToolProgress
from laguna_tui.base.messages import ChatMessage
from laguna_tui.session.saved_state import SavedMessages, content_of
from laguna_tui.session.session_parts import SessionParts
from laguna_tui.store.events import (
    Change,
    ConversationChanged,
    Event,
    FilesSeen,
    Generated,
    HistoryMoved,
    Opened,
    PiecesWaiting,
    Shown,
    TodoWritten,
    TurnBegun,
    Value,
    packed,
)
from laguna_tui.store.session_journal import SessionJournal

FLUSH_S = 0.5
"""What streams is written at least this often."""
# Shown only while a turn runs.
_TRANSIENT = (Choosing, Rate, Prefill, DraftRound, ToolProgress)


class SessionWriter:
    """Writes one session: what belongs together in one group; also the `TurnLog` of its turns.

    The session's thread, except `load` and `sync_attached`.

    Attributes:
        journal: of the session.
        content: converts what its lines hold.
    """

    def __init__(self, journal: SessionJournal, parts: SessionParts, written: int = 0) -> None:
        """Write nothing yet.

        Args:
            journal: the session's.
            parts: the state to write.
            written: how many messages the journal has.
        """
        self.journal = journal
        self.content = content_of(journal, lambda: parts.agent.conversation.count)
        self._parts = parts
        self._lock = RLock()
        # By identity; the message is held, so that no other one gets its place in memory.
        self._numbers: dict[int, tuple[ChatMessage, int]] = {}
        self._next = written
        self._set_written(ConversationState())
        self._attached: tuple[object, ...] = ()
        self._steps: Sequence[object] = ()
        self._generated: Sequence[int] | None = None
        self._tokens = 0
        self._kind: type[TextDelta] | type[ReasoningDelta] = TextDelta
        self._texts: list[str] = []
        self._flushed_at = 0.0

    def assume_written(self, numbers: Iterable[int], messages: Iterable[ChatMessage]) -> None:
        """Take the present state as written already, with these numbers of its messages."""
        self._numbers = {id(each): (each, number) for number, each in zip(numbers, messages, strict=True)}
        self._set_written(self._parts.agent.conversation.state)
        self._attached, self._steps = tuple(self._parts.agent.attached), self._parts.toolbox.todo.items

    def sync(self, before: Iterable[Event] = (), after: Iterable[Event] = ()) -> None:
        """Write what has changed, in one group with these events."""
        with self._lock:
            self.journal.append(*before, *self._changes(), *after)

    def sync_attached(self) -> None:
        """Write what is attached to the next message, if that has changed. Any thread."""
        with self._lock:
            self.journal.append(*self._changed_attachments())

    def note(self, state: ConversationState) -> Place:
        """Write how the conversation has changed; returns where the journal has it as it is now."""
        with self._lock:
            self.journal.append(*self._changed_conversation(state))
        return self._place(state)

    def began(self, number: int, message: str, state: ConversationState) -> Place:
        """Write that a turn has begun, and its message into the conversation; returns as `note`."""
        with self._lock:
            turn = TurnBegun(number=number, message=self.content.stored_text(message))
            self.journal.append(turn, *self._changed_conversation(state))
        return self._place(state)

    def moved(self, position: int, state: ConversationState) -> None:
        """Write how many turns are not undone, and the conversation that this leaves."""
        with self._lock:
            self.journal.append(HistoryMoved(position=position), *self._changed_conversation(state), durable=True)

    def load(self, place: Place) -> ConversationMark:
        """Return the conversation as of a place in the journal; messages that are still in it are the same objects.

        Raises:
            JournalError: it is lost.
        """
        if isinstance(place, ConversationMark):
            return place
        messages = SavedMessages()
        for line in self.journal.read(0, place):
            if isinstance(line.event, ConversationChanged | Opened):
                messages.take(line.event, line.start)
        numbers = {*messages.current, *messages.forgotten}
        with self._lock:
            known = {number: each for each, number in self._numbers.values()}
            loaded = known | messages.load(self.journal, numbers - known.keys(), self.content)
            self._numbers |= {id(loaded[number]): (loaded[number], number) for number in numbers}
        said, forgotten = ([loaded[number] for number in each] for each in (messages.current, messages.forgotten))
        return ConversationMark(tuple(said), tuple(forgotten))

    def take(self, event: AgentEvent) -> None:
        """Write an event, and what has changed; texts are joined, and wait a moment."""
        if isinstance(event, TextDelta | ReasoningDelta):
            self.sync()
            if self._kind is not type(event):
                self.flush()
                self._kind = type(event)
            self._texts.append(event.text)
        elif isinstance(event, _TRANSIENT):
            self.sync()
        else:
            with self._lock:
                shown = Shown(events=(self.content.stored(event),))
                self.journal.append(*self._streamed(), *self._changes(), shown)
        if time.monotonic() - self._flushed_at >= FLUSH_S:
            self.flush()

    def flush(self) -> None:
        """Write the text streamed since the last flush."""
        with self._lock:
            self.journal.append(*self._streamed())

    def _streamed(self) -> Iterator[Event]:
        """Yield what was generated since it was written last: its tokens, and its text."""
        self._flushed_at = time.monotonic()
        generated = self._parts.agent.generated
        if generated is not self._generated:
            self._generated, self._tokens = generated, 0
        if generated is not None and len(generated) != self._tokens:
            at = min(self._tokens, len(generated))
            yield Generated(at=at, ids=packed(generated[at:]))
            self._tokens = len(generated)
        if self._texts:
            joined, self._texts = self._kind("".join(self._texts)), []
            yield Shown(events=(self.content.stored(joined),))

    def _changes(self) -> Iterator[Event]:
        """Yield what has changed since it was written last."""
        yield from self._changed_conversation(self._parts.agent.conversation.state)
        yield from self._changed_attachments()
        items = self._parts.toolbox.todo.items
        if items is not self._steps:
            self._steps = items
            yield TodoWritten(items=tuple((item.state, item.text) for item in items))
        if news := self._parts.changes.seen.news():
            files = {path: None if digest is None else digest.hex() for path, digest in news.items()}
            yield FilesSeen(files=files)

    def _changed_attachments(self) -> Iterator[Event]:
        attached = tuple(self._parts.agent.attached)
        if list(map(id, attached)) != list(map(id, self._attached)):
            self._attached = attached
            yield PiecesWaiting(pieces=tuple(map(self.content.stored, attached)))

    def _changed_conversation(self, state: ConversationState) -> Iterator[Event]:
        """Yield the change of a conversation, behind the streamed text, which is part of it."""
        if not self._is_written(state):
            yield from self._streamed()
            if (event := self._change(state)) != ConversationChanged():
                yield event
                # It replaces what was generated; of a generation that runs all is written again.
                self._generated = None

    def _place(self, state: ConversationState) -> Place:
        if self.journal.stopped:
            return ConversationMark(tuple(state.current), tuple(state.forgotten))
        return self.journal.end

    def _is_written(self, state: ConversationState) -> bool:
        """Return whether a conversation is as it was written last. Its lists only grow, or are replaced."""
        written = self._written
        return (
            state.current is self._lists[0]
            and state.forgotten is self._lists[1]
            and (len(state.current), len(state.forgotten)) == self._lengths
            and (state.calls, state.opening, state.notes) == (written.calls, written.opening, written.notes)
        )

    def _set_written(self, state: ConversationState) -> None:
        self._lists = state.current, state.forgotten
        self._lengths = len(state.current), len(state.forgotten)
        self._written = state._replace(current=tuple(state.current), forgotten=tuple(state.forgotten))

    def _change(self, state: ConversationState) -> ConversationChanged:
        """Return how a conversation has changed since it was written last; takes it as written."""
        written = self._written
        event = ConversationChanged(
            said=self._difference(written.current, state.current),
            forgotten=self._difference(written.forgotten, state.forgotten),
            calls=state.calls if state.calls != written.calls else None,
            opening=state.opening if state.opening != written.opening else None,
            notes=tuple(sorted(state.notes - written.notes)),
        )
        self._set_written(state)
        present = {id(each) for each in (*state.current, *state.forgotten)}
        self._numbers = {key: found for key, found in self._numbers.items() if key in present}
        return event

    def _difference(self, before: Sequence[ChatMessage], after: Sequence[ChatMessage]) -> Change | None:
        change = ListDifference.between(before, after)
        if change.kept == len(before) and not change.added:
            return None
        return Change(change.kept, tuple(map(self._numbered, change.added)))

    def _numbered(self, each: ChatMessage) -> int | Value:
        """Return a message as it is written: its number, if it was written before."""
        known = self._numbers.get(id(each))
        if known is not None:
            return known[1]
        self._numbers[id(each)] = (each, self._next)
        self._next += 1
        return self.content.stored(each)
