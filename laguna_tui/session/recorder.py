"""Records the open session: each event is in its journal before the screen shows it as done.

A session has no folder before its first message. If sessions are not saved, events pass through.
"""

from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_tui import __version__
from laguna_tui.agent.conversation import ConversationMark, ConversationState
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

    def recorded(self, events: Iterator[AgentEvent], message: str | None = None) -> Generator[AgentEvent, None, None]:
        """Yield events, each once it and what it changed are written; the end of a turn once all of it is.

        Args:
            events: Those of a turn, or of a compaction.
            message: What the user sent; None for a compaction.
        """
        assert isinstance(events, Generator), "an agent's events can be closed"
        if message is not None:
            self.put_message(MessageSent, message)
        writer, compacting = self.writer, False
        finished, ended = list[TurnFinished](), TurnEnded(end=TurnEnd.CANCELLED.value, detail="")
        try:
            for event in events:
                if isinstance(event, TurnFinished):
                    finished, ended = [event], TurnEnded(end=event.end.value, detail=event.detail)
                    continue
                if isinstance(event, Compacting | Compacted) and not compacting:
                    self._cache.save_now()
                compacting = isinstance(event, Compacting)
                if writer is not None:
                    writer.take(event)
                yield event
        except Exception as error:
            ended = TurnEnded(end=FAILED, detail=str(error))
            raise
        finally:
            events.close()
            if writer is not None:
                writer.flush()
                writer.look()
            if message is not None:
                self.put(ended, durable=True)
                self._cache.save()
        yield from finished

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
