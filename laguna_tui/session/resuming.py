"""Resumes a saved session: its conversation token by token, its turns, what the model knows of files."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_tui.agent.conversation import ConversationState
from laguna_tui.agent.turn import end_interrupted
from laguna_tui.base.events import AgentEvent, Asked, Notice, ReasoningDelta, TextDelta, TurnEnd, TurnFinished
from laguna_tui.base.messages import Attachment, Trace
from laguna_tui.context.token_counter import CachedTokenCounter
from laguna_tui.session.recorder import Recorder
from laguna_tui.session.saved_state import LastTurn, SavedState, content_of
from laguna_tui.session.session_parts import SessionParts
from laguna_tui.session.session_writer import SessionWriter
from laguna_tui.store.events import UNREADABLE, Content, Opened, PiecesWaiting, TurnEnded
from laguna_tui.store.journal_lines import JournalError
from laguna_tui.store.session_journal import SessionJournal
from laguna_tui.store.session_turns import shown_events

if TYPE_CHECKING:
    from laguna_tui.agent.conversation import Conversation
    from laguna_tui.agent.turn_history import TurnHistory

SHOWN_TURNS = 50
"""How many of the newest turns are shown again."""
DAMAGED = "the session {id} is damaged ({error}); to read what is left of it: laguna-tui sessions export {id}"


@dataclass(frozen=True, slots=True)
class SavedSession:
    """A saved session, opened and locked.

    Attributes:
        journal: its journal.
        state: its contents.
        left: what the last turn has that is not in the conversation.
        end: where the journal ended when it was opened.
    """

    journal: SessionJournal
    state: SavedState
    left: LastTurn
    end: int

    @classmethod
    def open(cls, folder: Path) -> "SavedSession":
        """Open and lock a session.

        Raises:
            JournalError: it cannot be opened; says why.
        """
        journal = SessionJournal.open(folder)
        state, left = SavedState(), LastTurn()
        content = content_of(journal, _no_count)
        try:
            for line in journal.read():
                state.take(line)
            for line in journal.read(state.sent.places[-1][0]) if state.sent.places else ():
                left.take(line.event, content)
        except BaseException as error:
            journal.release()
            if isinstance(error, UNREADABLE):
                raise JournalError(DAMAGED.format(id=folder.name, error=error)) from error
            raise
        return cls(journal, state, left, journal.end)

    def conversation(self, parts: SessionParts) -> ConversationState:
        """Return the conversation, as the present model counts it; JournalError if part of it is lost."""
        messages, content = self.state.messages, self._content(parts)
        try:
            loaded = messages.load(self.journal, {*messages.current, *messages.forgotten}, content)
        except UNREADABLE as error:
            raise JournalError(DAMAGED.format(id=self.journal.id, error=error)) from error
        said, forgotten = ([loaded[number] for number in each] for each in (messages.current, messages.forgotten))
        began = self.state.began
        day = date.fromtimestamp(began.time) if began is not None else None
        return ConversationState(said, forgotten, messages.calls, messages.opening, messages.notes, day)

    def resume(
        self, conversation: ConversationState, recorder: Recorder, turns: "TurnHistory", opened: Opened
    ) -> SessionWriter:
        """Restore the session's state, and record it from now on; returns what writes it.

        Args:
            conversation: what was said.
            recorder: has the agent and the rest of the state to restore.
            turns: the history, empty so far.
            opened: the event that names the open model.
        """
        parts, state = recorder.parts, self.state
        assert parts is not None, "there is an agent"
        agent = parts.agent
        same_model = state.opened.identity == opened.identity
        agent.resume(conversation, self._pieces(parts), self.left.waiting, same_model=same_model)
        parts.toolbox.todo.items = state.todo
        parts.changes.seen.resume(state.seen)
        writer = SessionWriter(self.journal, parts, state.messages.count)
        if same_model:
            numbers = (*state.messages.current, *state.messages.forgotten)
            writer.assume_written(numbers, (*conversation.current, *conversation.forgotten))
        # Where the turns find their undo store.
        recorder.writer = turns.log = writer
        turns.resume(state.turns, state.sent.position, state.last)
        if state.sent.in_turn:
            self._end_turn(agent.conversation, same_model=same_model)
            writer.sync([opened], [TurnEnded(end=TurnEnd.CANCELLED.value, detail="")])
        else:
            writer.sync([opened])
        if state.sent.in_turn and state.sent.places[-1][1]:
            turns.end(agent.conversation)
        turns.catch_up(agent.conversation)
        return writer

    def _end_turn(self, conversation: "Conversation", *, same_model: bool) -> None:
        """End the turn in which the app was killed, as if the user had stopped it."""
        left = self.left
        if self.state.sent.places[-1][1]:
            if left.words and not (same_model and left.tokens):
                conversation.correct_turn(left.answer())
            trace = Trace(self.state.messages.model, tuple(left.tokens)) if same_model and left.tokens else None
            end_interrupted(conversation, trace, left.running)

    def _pieces(self, parts: SessionParts) -> Sequence[Attachment]:
        """Return the attachments of the next message; unreadable parts are left out."""
        pieces, content = list[Attachment](), self._content(parts)
        if self.state.pieces is not None:
            event = next(self.journal.read(self.state.pieces)).event
            assert isinstance(event, PiecesWaiting), event
            for piece in event.pieces:
                with suppress(*UNREADABLE):
                    pieces.append(content.attachment(piece))
        return pieces

    def _content(self, parts: SessionParts) -> Content:
        return content_of(self.journal, lambda: parts.agent.conversation.count)


def _no_count() -> CachedTokenCounter:
    raise AssertionError("nothing is shortened")


def shown_turns(
    saved: SavedSession, content: Content, newest: int = SHOWN_TURNS
) -> tuple[list[Asked | AgentEvent], int]:
    """Return what the screen showed of the newest turns that are not undone, and the number of turns before these.

    Raises:
        JournalError: the journal cannot be read.
    """
    journal, sent = saved.journal, saved.state.sent
    for line in journal.read(saved.end):
        saved.state.take(line)
    places = sent.shown(journal.end)
    events: list[Asked | AgentEvent] = []
    for start, end in places[-newest:]:
        for event in shown_events(journal.read(start, end), content):
            last = events[-1] if events else None
            if isinstance(event, TextDelta | ReasoningDelta) and type(last) is type(event):
                events[-1] = type(event)(last.text + event.text)
            elif isinstance(event, TurnFinished) and event.end is TurnEnd.CANCELLED and event.detail:
                events += Notice(event.detail), TurnFinished(TurnEnd.CANCELLED)
            else:
                events.append(event)
    return events, max(0, len(places) - newest)
