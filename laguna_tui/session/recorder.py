"""Records the open session: each event is in its journal before the screen shows it as done.

A session has no folder before its first message. If sessions are not saved, events pass through.
"""

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_engine.events import Stats
from laguna_tui import __version__
from laguna_tui.base.events import AgentEvent, Compacted, Compacting, StepFinished, TurnEnd, TurnFinished
from laguna_tui.base.paths import SESSIONS
from laguna_tui.session.engine_slot import EngineSlot
from laguna_tui.session.kv_cache import KvCache
from laguna_tui.session.session_parts import SessionParts
from laguna_tui.store.events import FAILED, Event, MessageSent, Opened, SteeringSent, TurnEnded
from laguna_tui.store.snapshot_store import SnapshotStore

if TYPE_CHECKING:
    from laguna_tui.session.session_writer import SessionWriter


class Recorder:
    """Records one session at a time. The session's thread, except `put` and `put_message`.

    Attributes:
        state: the user's state folder; None if sessions are not saved.
        cache_folder: the user's cache folder; None if there is none.
        kv_cache: the session's KV cache, saved at the end of a turn and before a compaction.
        parts: what is recorded; None before the session is open.
        writer: writes the open session's journal; None before its first message.
    """

    def __init__(self, state: Path | None, cache: Path | None, slot: EngineSlot) -> None:
        """Record nothing yet.

        Args:
            state: the user's state folder; None saves nothing.
            cache: the user's cache folder; None saves no KV snapshots.
            slot: the engine.
        """
        self.state, self.cache_folder, self._slot = state, cache, slot
        self.kv_cache = KvCache(SnapshotStore(cache) if cache is not None and state is not None else None, slot)
        self.parts: SessionParts | None = None
        self.writer: SessionWriter | None = None

    def watch(self, parts: SessionParts | None) -> None:
        """Record this agent from now on; None ends that, where the session is closed."""
        self.parts = self.kv_cache.parts = parts

    def begin(self, folder: Path, opened: Opened) -> "SessionWriter":
        """Begin to record a new session about a folder, with a model."""
        assert self.state is not None, "sessions are saved"
        assert self.parts is not None, "there is an agent"
        from laguna_tui.session.session_writer import SessionWriter
        from laguna_tui.store.session_journal import SessionJournal

        journal = SessionJournal.create(self.state / SESSIONS, str(folder), __version__)
        writer = SessionWriter(journal, self.parts)
        writer.journal.append(opened)
        writer.sync()
        self.writer = writer
        self.kv_cache.use(journal.id)
        return writer

    def end(self, reason: str = "") -> None:
        """End the session; what follows belongs to another one.

        Args:
            reason: why it ended early; empty for a normal end.
        """
        writer, self.writer = self.writer, None
        if writer is not None:
            writer.sync()
            writer.journal.close(reason)
            self.kv_cache.use("")

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

    def sync(self) -> None:
        """Write what has changed."""
        if self.writer is not None:
            self.writer.sync()

    def sync_attached(self) -> None:
        """Write what is attached to the next message, if that has changed. Any thread."""
        if self.writer is not None:
            self.writer.sync_attached()

    def recorded(self, events: Iterator[AgentEvent], message: str | None = None) -> Generator[AgentEvent, None, None]:
        """Yield events, each once it and what it changed are written; the end of a turn once all of it is.

        Args:
            events: those of a turn, or of a compaction.
            message: what the user sent; None for a compaction.
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
                    self.kv_cache.save_now()
                compacting = isinstance(event, Compacting)
                if writer is not None:
                    writer.take(event)
                if isinstance(event, StepFinished):
                    self._record_rate(event.stats)
                yield event
        except Exception as error:
            ended = TurnEnded(end=FAILED, detail=str(error))
            raise
        finally:
            events.close()
            if writer is not None:
                writer.flush()
                writer.sync()
            if message is not None:
                self.put(ended, durable=True)
                self.kv_cache.save()
        yield from finished

    def _record_rate(self, stats: Stats) -> None:
        """Record how fast the model answers on this machine, in place of the estimate in the list of models."""
        opened_as = self._slot.opened_as
        if self.state is not None and opened_as is not None and opened_as.options is not None:
            from laguna_engine.fit.decode_speed import record_rate

            record_rate(opened_as.options.model, stats.generated_tokens, stats.decode_rate)
