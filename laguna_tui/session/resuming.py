"""Resumes a saved session: its conversation token by token, its turns, what the model knows of files."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from laguna_engine.chat.messages import AssistantMessage
from laguna_tui.agent.conversation_state import ConversationState
from laguna_tui.agent.event_codec import EventCodec
from laguna_tui.agent.interrupted_turn import end_interrupted
from laguna_tui.base.events import (
    AgentEvent,
    Asked,
    Notice,
    ReasoningDelta,
    TextDelta,
    TodoItem,
    TodoState,
    TurnEnd,
    TurnFinished,
)
from laguna_tui.base.messages import Attachment
from laguna_tui.session.kept_state import KeptState, codec_of, load_items
from laguna_tui.session.recorder import FAILED, Recorder
from laguna_tui.session.session_writer import SessionWriter, Watched
from laguna_tui.store.journal_lines import JournalError
from laguna_tui.store.session_journal import SessionJournal

if TYPE_CHECKING:
    from laguna_tui.agent.conversation import Conversation
    from laguna_tui.agent.turn_history import TurnHistory

SHOWN_TURNS = 50
"""So many of the newest turns are shown again."""
# What reading something else than was written gives.
_UNREADABLE = (KeyError, ValueError, TypeError, IndexError, AttributeError)
DAMAGED = "the session {id} is damaged ({error}); to read what is left of it: laguna-tui sessions export {id}"


@dataclass(frozen=True, slots=True)
class KeptSession:
    """A saved session, opened and locked.

    Attributes:
        journal: its journal.
        state: its contents.
        end: where the journal ended when it was opened.
    """

    journal: SessionJournal
    state: KeptState
    end: int

    @classmethod
    def open(cls, folder: Path) -> "KeptSession":
        """Open and lock a session.

        Raises:
            JournalError: it cannot be opened; says why.
        """
        journal = SessionJournal.open(folder)
        state = KeptState()
        try:
            for line in journal.read():
                state.take(line)
        except BaseException as error:
            journal.release()
            if isinstance(error, _UNREADABLE):
                raise JournalError(DAMAGED.format(id=folder.name, error=error)) from error
            raise
        return cls(journal, state, journal.end)

    def conversation(self, watched: Watched) -> ConversationState:
        """The conversation; JournalError if part of it is lost."""
        items, codec = self.state.items, self._codec(watched)
        try:
            loaded = load_items(self.journal, items, {*items.said, *items.forgotten}, codec)
        except _UNREADABLE as error:
            raise JournalError(DAMAGED.format(id=self.journal.id, error=error)) from error
        said, forgotten = ([loaded[number] for number in numbers] for numbers in (items.said, items.forgotten))
        return ConversationState(said, forgotten, items.calls, items.opening, items.notes)

    def go_on(
        self,
        said: ConversationState,
        watched: Watched,
        recorder: Recorder,
        turns: "TurnHistory",
        opened: Mapping[str, Any],
    ) -> None:
        """Restore the session's state, and record from now on.

        Args:
            said: the conversation.
            watched: the state to restore.
            recorder: records the session from now on.
            turns: the history, empty so far.
            opened: the event that names the open model.
        """
        same_model = self.state.opened.get("identity") == opened["identity"]
        state, agent = self.state, watched.agent
        codec = self._codec(watched)
        agent.go_on(said, self._told(codec), map(codec.whole, state.waiting), same_model=same_model)
        watched.todo.items = tuple(TodoItem(text, TodoState(mark)) for mark, text in state.todo)
        watched.changes.seen.go_on(state.seen)
        writer = SessionWriter(self.journal, watched, state.items.count)
        if same_model:
            writer.know((*state.items.said, *state.items.forgotten), (*said.said, *said.forgotten))
        recorder.writer = writer
        turns.go_on(state.turns, state.position, state.last, state.model + (not same_model))
        if state.in_turn:
            self._end_turn(agent.conversation, codec, same_model=same_model)
            writer.look([opened], [{"event": "turn_ended", "end": TurnEnd.CANCELLED.value, "detail": ""}])
        else:
            writer.look([opened])
        if state.in_turn and state.asks[-1][1]:
            turns.end(agent.conversation)
        turns.catch_up(agent.conversation)

    def _end_turn(self, conversation: "Conversation", codec: EventCodec, *, same_model: bool) -> None:
        """End the turn in which the app was killed, as if the user had stopped it."""
        state = self.state
        if state.asks[-1][1]:
            if state.words and not (same_model and state.tokens):
                conversation.correct_turn(self._words(codec))
            end_interrupted(conversation, state.tokens if same_model else (), state.running)

    def _words(self, codec: EventCodec) -> AssistantMessage:
        """The part of an answer that was shown but is not in the conversation."""
        texts = {kind: "".join(codec.whole(text) for each, text in self.state.words if each == kind) for kind in _KINDS}
        return AssistantMessage(texts["TextDelta"], texts["ReasoningDelta"])

    def _told(self, codec: EventCodec) -> Sequence[Attachment]:
        """What the next message brings along; unreadable parts are left out."""
        told: list[Attachment] = []
        if self.state.told is not None:
            for piece in next(self.journal.read(self.state.told)).event["pieces"]:
                with suppress(*_UNREADABLE):
                    told.append(codec.attachment(piece))
        return told

    def _codec(self, watched: Watched) -> EventCodec:
        return codec_of(self.journal, lambda: watched.agent.conversation.count)


_KINDS = ("TextDelta", "ReasoningDelta")


def shown_turns(kept: KeptSession, codec: EventCodec, newest: int = SHOWN_TURNS) -> tuple[list[Any], int]:
    """What the screen showed of the newest turns that are not undone; and how many turns there are before these.

    Raises:
        JournalError: the journal cannot be read.
    """
    journal, state = kept.journal, kept.state
    for line in journal.read(kept.end):
        state.take(line)
    done = {turn.number for turn in state.done}
    starts = [place for place, _ in state.asks]
    # A session that was killed at its very beginning has no message.
    asked = zip(state.asks, [*starts[1:], journal.end], strict=False)
    places = [(start, end) for (start, number), end in asked if not number or number in done]
    events: list[Asked | AgentEvent] = []
    for start, end in places[-newest:]:
        for event in _events(journal, codec, start, end):
            last = events[-1] if events else None
            if isinstance(event, TextDelta | ReasoningDelta) and type(last) is type(event):
                events[-1] = type(event)(last.text + event.text)
            else:
                events.append(event)
    return events, max(0, len(places) - newest)


def _events(journal: SessionJournal, codec: EventCodec, start: int, end: int) -> Iterator[Asked | AgentEvent]:
    for line in journal.read(start, end):
        event = line.event
        match event["event"]:
            case "asked":
                yield Asked(codec.whole(event["message"]), event["time"])
            case "shown":
                for each in event["events"]:
                    try:
                        yield codec.event(each)
                    except _UNREADABLE:
                        # A later version's, or damaged: the others are worth showing.
                        continue
            case "turn_ended":
                if event["end"] == FAILED:
                    yield Notice(event["detail"])
                    yield TurnFinished(TurnEnd.CANCELLED)
                else:
                    yield TurnFinished(TurnEnd(event["end"]), event["detail"])
            case _:
                pass
