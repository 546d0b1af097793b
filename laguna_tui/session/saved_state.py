"""What a session's journal says, read from its beginning: numbers and places, so that a long session takes no room."""

from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

from laguna_engine.chat.messages import AssistantMessage
from laguna_tui.agent.turn_history import TITLE_CHARS, TurnRecord
from laguna_tui.base.events import ReasoningDelta, Steered, TextDelta, TodoItem, ToolFinished, ToolStarted
from laguna_tui.base.messages import Attachment, ChatMessage
from laguna_tui.context.shortening import FileShortener
from laguna_tui.context.token_counter import CachedTokenCounter
from laguna_tui.session.model_options import trace_model
from laguna_tui.store.events import (
    LOST,
    Began,
    Change,
    Content,
    ConversationChanged,
    Event,
    FilesSeen,
    Generated,
    ModeChosen,
    Opened,
    PiecesWaiting,
    Shown,
    SteeringReturned,
    SteeringSent,
    TodoWritten,
    TurnBegun,
    TurnEnded,
    Unread,
    Value,
    unpacked,
)
from laguna_tui.store.journal_lines import JournalError, Line
from laguna_tui.store.session_journal import SessionJournal
from laguna_tui.store.session_turns import SentMessages


@dataclass(slots=True)
class SavedMessages:
    """The conversation's messages by their numbers.

    Attributes:
        current, forgotten: the numbers of what is in the prompt, and of what was before it.
        count: how many messages were written.
        calls, opening, notes: as in `ConversationState`.
        model: the model that is open, as traces name it.
        first, places, models: of each line that adds messages, the number of the first, where the line begins, and the
            model that was open.
    """

    current: list[int] = field(default_factory=list)
    forgotten: list[int] = field(default_factory=list)
    count: int = 0
    calls: int = 0
    opening: str | None = None
    notes: frozenset[str] = frozenset()
    model: str = ""
    first: "array[int]" = field(default_factory=lambda: array("Q"))
    places: "array[int]" = field(default_factory=lambda: array("Q"))
    models: list[str] = field(default_factory=list)

    def take(self, event: ConversationChanged | Opened, place: int) -> None:
        """Apply a change, or the opening of a model, in the line at this place."""
        if isinstance(event, Opened):
            self.model = trace_model(event.identity)
            return
        before = self.count
        for change, numbers in ((event.said, self.current), (event.forgotten, self.forgotten)):
            if change is not None:
                numbers[change.keep :] = [self._number(each) for each in change.add]
        if self.count > before:
            self.first.append(before)
            self.places.append(place)
            self.models.append(self.model)
        self.calls = self.calls if event.calls is None else event.calls
        self.opening = self.opening if event.opening is None else event.opening
        self.notes |= frozenset(event.notes)

    def load(self, journal: SessionJournal, numbers: Collection[int], content: Content) -> dict[int, ChatMessage]:
        """Return messages by their numbers.

        Raises:
            JournalError: one is lost.
        """
        wanted: dict[int, list[tuple[int, int, str]]] = {}
        for number in sorted(numbers):
            line = bisect_right(self.first, number) - 1
            found = number, number - self.first[line], self.models[line]
            wanted.setdefault(self.places[line], []).append(found)
        loaded: dict[int, ChatMessage] = {}
        for place, messages in wanted.items():
            event = next(journal.read(place)).event
            assert isinstance(event, ConversationChanged), event
            added = [*_added(event.said), *_added(event.forgotten)]
            loaded |= {number: content.message(added[at], model) for number, at, model in messages}
        return loaded

    def _number(self, each: int | Value) -> int:
        if isinstance(each, int):
            return each
        self.count += 1
        return self.count - 1


def _added(change: Change | None) -> Iterator[Value]:
    """Yield the messages that a change writes, in the order of their numbers."""
    return (each for each in (change.add if change is not None else ()) if not isinstance(each, int))


def content_of(journal: SessionJournal, count: Callable[[], CachedTokenCounter]) -> Content:
    """Return what converts the contents of a journal's lines.

    Args:
        journal: the session's.
        count: returns what counts tokens as the present model does.
    """

    def get(name: str) -> bytes:
        try:
            return journal.blob(name)
        except JournalError:
            return LOST.encode()

    def shortener(attachment: Attachment, question: str) -> FileShortener:
        return FileShortener.of_attached(attachment, question, count())

    return Content(get, journal.put_blob, shortener)


@dataclass(slots=True)
class LastTurn:
    """What the newest turn has that is not in the conversation.

    Attributes:
        waiting: what the user steered with.
        tokens: what was generated.
        words: what was shown of that.
        running: how many calls have begun and not ended.
    """

    waiting: deque[str] = field(default_factory=deque)
    tokens: list[int] = field(default_factory=list)
    words: list[TextDelta | ReasoningDelta] = field(default_factory=list)
    running: int = 0

    def take(self, event: Event | Unread, content: Content) -> None:
        """Apply an event of the turn."""
        match event:
            case ConversationChanged() | TurnEnded():
                self.tokens.clear()
                self.words.clear()
                self.running = 0 if isinstance(event, TurnEnded) else self.running
            case Generated(at=at, ids=ids):
                self.tokens[at:] = unpacked(ids)
            case Shown():
                self._take_shown(event, content)
            case SteeringSent(message=message):
                self.waiting.append(content.text(message))
            case SteeringReturned():
                self.waiting.clear()
            case _:
                pass

    def answer(self) -> AssistantMessage:
        """Return the part of an answer that was shown."""
        text, reasoning = ("".join(each.text for each in self.words if isinstance(each, kind)) for kind in _STREAMED)
        return AssistantMessage(text, reasoning)

    def _take_shown(self, shown: Shown, content: Content) -> None:
        for event in content.events(shown, *_STREAMED, ToolStarted, ToolFinished, Steered):
            match event:
                case TextDelta() | ReasoningDelta():
                    self.words.append(event)
                case ToolStarted():
                    self.running += 1
                case ToolFinished():
                    self.running -= 1
                case Steered(message) if message in self.waiting:
                    self.waiting.remove(message)
                case _:
                    pass


_STREAMED = (TextDelta, ReasoningDelta)


@dataclass(slots=True)
class SavedState:
    """A session as its journal has it.

    Attributes:
        began, opened: the first line, and the newest one about a model.
        messages: the conversation.
        turns: as in `TurnHistory`, with places of the journal; `last` is the last number.
        mode: the permissions' mode, with the proof that it was chosen on this machine, see `chosen_modes`.
        todo: the list of steps.
        seen: digests of the files that the model was shown.
        pieces: place of the newest attachments of the next message; None for none.
        sent: the messages that the user sent.
    """

    began: Began | None = None
    opened: Opened = field(default_factory=Opened)
    messages: SavedMessages = field(default_factory=SavedMessages)
    turns: list[TurnRecord] = field(default_factory=list)
    last: int = 0
    mode: ModeChosen | None = None
    todo: tuple[TodoItem, ...] = ()
    seen: dict[str, bytes] = field(default_factory=dict)
    pieces: int | None = None
    sent: SentMessages = field(default_factory=SentMessages)

    def take(self, line: Line) -> None:
        """Apply a line; one of a later version is ignored.

        Raises:
            ValueError: it is damaged.
        """
        match line.event:
            case Began() as event:
                self.began = event
            case Opened() as event:
                self.opened = event
                self.messages.take(event, line.start)
            case ModeChosen() as event:
                self.mode = event
            case TodoWritten(items=items):
                self.todo = tuple(TodoItem(text, state) for state, text in items)
            case FilesSeen(files=files):
                for path, digest in files.items():
                    if digest is None:
                        self.seen.pop(path, None)
                    else:
                        self.seen[path] = bytes.fromhex(digest)
            case Unread(problem=problem) if problem:
                raise ValueError(problem)
            case _:
                self._take_turn(line)

    def _take_turn(self, line: Line) -> None:
        match line.event:
            case TurnBegun() as event:
                del self.turns[self.sent.position :]
                self.last = event.number
                title = event.message if isinstance(event.message, str) else ""
                self.turns.append(TurnRecord(self.last, title[:TITLE_CHARS], 0, event.time, line.start, line.start))
                self.pieces = None
            case ConversationChanged() as event:
                self.messages.take(event, line.start)
            case PiecesWaiting(pieces=pieces):
                self.pieces = line.start if pieces else None
            case TurnEnded() if self.turns and self.sent.in_turn and self.sent.places[-1][1] == self.turns[-1].number:
                # Not where the line begins: a group of lines cannot be read in part.
                self.turns[-1].after = line.end
            case _:
                pass
        self.sent.take(line)
