"""Records the open session: each event is in its journal before the screen shows it as done.

A session has no folder before its first message. If sessions are not saved, events pass through.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_tui import __version__
from laguna_tui.agent.conversation_state import ConversationMark, ConversationState
from laguna_tui.agent.turn_history import MemoryLog, Place
from laguna_tui.base.events import AgentEvent, Compacted, Compacting, TurnEnd, TurnFinished
from laguna_tui.store.events import FAILED, Event, MessageSent, Opened, SteeringSent, TurnEnded

if TYPE_CHECKING:
    from laguna_tui.session.kv_cache import KvCache
    from laguna_tui.session.session_writer import SessionWriter, Watched


class Recorder:
    """Records one session at a time; the `TurnLog` of its turns. The session's thread, but for `put` and `load`.

    Attributes:
        parent: the folder of the sessions; None if sessions are not saved.
        watched: the state that is recorded; None before the session is open.
        writer: of the open session; None before its first message.
    """

    def __init__(self, parent: Path | None, first: Callable[[], tuple[Path, Opened]], cache: "KvCache") -> None:
        """Record nothing yet.

        Args:
            parent: the folder of the sessions; None saves nothing.
            first: what a new session is about, and its first event.
            cache: the KV cache, saved at the end of a turn and before a compaction.
        """
        self.parent = parent
        self.watched: Watched | None = None
        self.writer: SessionWriter | None = None
        self._first, self._cache = first, cache
        self._memory = MemoryLog()

    def put(self, event: Event, *, durable: bool = False) -> None:
        """Write an event if the session is recorded. Any thread."""
        writer = self.writer
        if writer is not None:
            writer.journal.append(event, durable=durable)

    def put_message(self, kind: type[MessageSent] | type[SteeringSent], message: str) -> None:
        """Write a message of the user's if the session is recorded. Any thread."""
        writer = self.writer
        if writer is not None:
            writer.journal.append(kind(message=writer.content.stored_text(message)))

    def look(self) -> None:
        """Write what has changed."""
        if self.writer is not None:
            self.writer.look()

    def look_at_told(self) -> None:
        """Write what the next message brings along, if that has changed. Any thread."""
        if self.writer is not None:
            self.writer.look_at_told()

    def end(self, reason: str = "") -> None:
        """End the session; what follows belongs to another one."""
        writer, self.writer = self.writer, None
        if writer is not None:
            writer.look()
            writer.journal.close(reason)
            self._cache.use("")
        self._memory = MemoryLog()

    # -- turns

    def turn(self, message: str, events: Iterator[AgentEvent]) -> Generator[AgentEvent, None, None]:
        """The events of a turn, each yielded once it is written; the last one once the whole turn is."""
        self.put_message(MessageSent, message)
        end, detail = TurnEnd.CANCELLED.value, ""
        finished: TurnFinished | None = None
        try:
            with closing(self.kept(events)) as whole:
                for event in whole:
                    if isinstance(event, TurnFinished):
                        finished, end, detail = event, event.end.value, event.detail
                    else:
                        yield event
        except Exception as error:
            end, detail = FAILED, str(error)
            raise
        finally:
            self.put(TurnEnded(end=end, detail=detail), durable=True)
            self._cache.save()
        if finished is not None:
            yield finished

    def kept(self, events: Iterator[AgentEvent]) -> Generator[AgentEvent, None, None]:
        """Events, each yielded once it and what it changed are written, except the end of a turn."""
        assert isinstance(events, Generator), "an agent's events can be closed"
        writer, compacting = self.writer, False
        try:
            for event in events:
                if isinstance(event, Compacting | Compacted) and not compacting:
                    self._cache.save_now()
                compacting = isinstance(event, Compacting)
                if writer is not None and not isinstance(event, TurnFinished):
                    writer.take(event)
                yield event
        finally:
            events.close()
            if writer is not None:
                writer.flush()
                writer.look()

    def begin(self) -> None:
        """Start recording in a new folder."""
        assert self.parent is not None, "sessions are kept"
        assert self.watched is not None, "there is an agent"
        from laguna_tui.session.session_writer import SessionWriter
        from laguna_tui.store.session_journal import SessionJournal

        folder, opened = self._first()
        writer = SessionWriter(SessionJournal.create(self.parent, str(folder), __version__), self.watched)
        writer.journal.append(opened)
        writer.look()
        self.writer = writer
        self._cache.use(writer.journal.id)

    # -- a log of turns

    def note(self, state: ConversationState) -> Place:
        """Remember the present moment."""
        return (self.writer or self._memory).note(state)

    def load(self, place: Place) -> ConversationMark:
        """What was said at a moment; UserError if it is lost."""
        return (self.writer or self._memory).load(place)

    def began(self, number: int, message: str, state: ConversationState) -> Place:
        """A turn has begun, and its message is in the conversation."""
        return (self.writer or self._memory).began(number, message, state)

    def moved(self, position: int, state: ConversationState) -> None:
        """So many turns are done now, which leaves this conversation."""
        (self.writer or self._memory).moved(position, state)
