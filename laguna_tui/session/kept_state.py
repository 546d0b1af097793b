"""What a session's journal says, read from its beginning: numbers and places, so that a long session takes no room.

The events: `session` (folder, app), `opened` (model, title, identity, and how), `titled` (title), `mode` (mode, proof),
`asked` (message: what the user sent), `turn` (number, message: it stands in the conversation), `said` (how the
conversation changed, see `Items`), `tokens` (at, ids: of the generation that runs), `shown` (events for the screen),
`steered` (message, accepted), `left` (what was steered with was given back), `told` (pieces: what goes along with the
next message), `todo` (items), `seen` (files: digests by path), `history` (position: so many turns are done),
`turn_ended` (end, detail), `closed` (reason).

What changes the conversation is in one group with the change, so that a kill leaves both or neither: `opened` where
another model answers, `turn` with its message, `shown` for a message that went in while a turn ran, `history`.
"""

from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from laguna_tui.agent.event_codec import EventCodec, unpacked
from laguna_tui.agent.turn_history import TITLE_CHARS, TurnRecord
from laguna_tui.base.messages import Attachment, ChatMessage
from laguna_tui.context.shortening import FileShortener
from laguna_tui.context.token_counter import CachedTokenCounter
from laguna_tui.store.journal_lines import JournalError, Line
from laguna_tui.store.session_journal import SessionJournal

Event = Mapping[str, Any]


@dataclass(slots=True)
class Items:
    """The conversation's messages by their numbers.

    A change says how many of the messages there were are kept, and what is added behind them: a message, which gets
    the next number in the journal, or the number of one that was written before.

    Attributes:
        said, forgotten: the numbers of what is in the prompt, and of what was before it.
        count: how many messages were written.
        calls, opening, notes: as in `ConversationState`.
        first, places: of each line that adds messages, the number of the first and where the line begins.
    """

    said: list[int] = field(default_factory=list)
    forgotten: list[int] = field(default_factory=list)
    count: int = 0
    calls: int = 0
    opening: str | None = None
    notes: frozenset[str] = frozenset()
    first: "array[int]" = field(default_factory=lambda: array("Q"))
    places: "array[int]" = field(default_factory=lambda: array("Q"))

    def take(self, event: Event, place: int) -> None:
        """Follow a change."""
        before = self.count
        for name, numbers in (("said", self.said), ("forgotten", self.forgotten)):
            change = event.get(name)
            if change is not None:
                numbers[change["keep"] :] = [self._number(each) for each in change["add"]]
        if self.count > before:
            self.first.append(before)
            self.places.append(place)
        self.calls = event.get("calls", self.calls)
        self.opening = event.get("opening", self.opening)
        self.notes |= frozenset(event.get("notes", ()))

    def place(self, number: int) -> tuple[int, int]:
        """Where the line with a message begins, and which of the messages in it that is."""
        at = bisect_right(self.first, number) - 1
        return self.places[at], number - self.first[at]

    def _number(self, each: Any) -> int:
        if isinstance(each, int):
            return each
        self.count += 1
        return self.count - 1


LOST = "[this was lost when the disk failed]"
"""Stands in the place of a text whose blob is missing or damaged."""


def codec_of(journal: SessionJournal, count: Callable[[], CachedTokenCounter]) -> EventCodec:
    """What encodes into a journal, and decodes what is in it. count: counts tokens as the present model does."""

    def get(name: str) -> bytes:
        try:
            return journal.blob(name)
        except JournalError:
            return LOST.encode()

    def shortener(attachment: Attachment, question: str) -> FileShortener:
        return FileShortener.of_attached(attachment, question, count())

    return EventCodec(journal.put_blob, get, shortener)


def load_items(
    journal: SessionJournal, items: Items, numbers: Collection[int], codec: EventCodec
) -> dict[int, ChatMessage]:
    """Messages by their numbers.

    Raises:
        JournalError: one is lost.
    """
    wanted: dict[int, list[tuple[int, int]]] = {}
    for number in sorted(numbers):
        place, at = items.place(number)
        wanted.setdefault(place, []).append((number, at))
    loaded: dict[int, ChatMessage] = {}
    for place, found in wanted.items():
        line = next(journal.read(place))
        added = _added(line.event)
        loaded |= {number: codec.message(added[at]) for number, at in found}
    return loaded


def _added(event: Event) -> list[Any]:
    """The messages that a change writes, in the order of their numbers."""
    changes = [event[name]["add"] for name in ("said", "forgotten") if event.get(name) is not None]
    return [each for added in changes for each in added if not isinstance(each, int)]


@dataclass(slots=True)
class KeptState:
    """A session as its journal has it.

    Attributes:
        header, opened: the newest event of each kind.
        items: the conversation.
        turns: as in `TurnHistory`, with places of the journal; `position` of them are done, `last` is the last number.
        model: which of the models that were asked is the present one, from 0.
        mode: the permissions' mode; empty where it was never said.
        mode_proof: that it was chosen on this machine, see `chosen_modes`.
        todo: the list of steps, as it was written.
        seen: digests of the files that the model was shown.
        told: place of the newest pieces that go along with the next message; None for none.
        waiting: what the user steered with and is not in the conversation.
        asks: where each message of the user's was sent, and the number of its turn, 0 where it has none.
        tokens: what was generated and is not in the conversation.
        words: what was shown of that, its kind and text.
        running: how many calls have begun and not ended.
        in_turn: whether the last turn has not ended.
        closed: how the session ended; None where it did not.
    """

    header: Event = field(default_factory=dict)
    opened: Event = field(default_factory=dict)
    items: Items = field(default_factory=Items)
    turns: list[TurnRecord] = field(default_factory=list)
    position: int = 0
    last: int = 0
    model: int = 0
    mode: str = ""
    mode_proof: str = ""
    todo: Sequence[Any] = ()
    seen: dict[str, bytes] = field(default_factory=dict)
    told: int | None = None
    waiting: deque[Any] = field(default_factory=deque)
    asks: list[tuple[int, int]] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    words: list[tuple[str, Any]] = field(default_factory=list)
    running: int = 0
    in_turn: bool = False
    closed: str | None = None

    @property
    def folder(self) -> Path:
        """What it is about."""
        return Path(self.header.get("folder", ""))

    def take(self, line: Line) -> None:
        """Follow an event; one that is not known is ignored."""
        takes: Mapping[str, Callable[[Event, int], None]] = {
            "session": self._take_header,
            "opened": self._take_opened,
            "mode": self._take_mode,
            "asked": self._take_asked,
            "turn": self._take_turn,
            "said": self._take_said,
            "tokens": self._take_tokens,
            "shown": self._take_shown,
            "steered": self._take_steered,
            "left": self._take_left,
            "told": self._take_told,
            "todo": self._take_todo,
            "seen": self._take_seen,
            "history": self._take_history,
            "turn_ended": lambda event, place: self._take_turn_ended(line.end),
            "closed": self._take_closed,
        }
        take = takes.get(line.event["event"])
        if take is not None:
            take(line.event, line.start)

    @property
    def done(self) -> Sequence[TurnRecord]:
        """The turns that are not undone."""
        return self.turns[: self.position]

    def _take_header(self, event: Event, place: int) -> None:
        self.header = event

    def _take_opened(self, event: Event, place: int) -> None:
        if self.opened and event.get("identity") != self.opened.get("identity"):
            self.model += 1
        self.opened, self.closed = event, None

    def _take_mode(self, event: Event, place: int) -> None:
        self.mode, self.mode_proof = event["mode"], str(event.get("proof", ""))

    def _take_asked(self, event: Event, place: int) -> None:
        self.asks.append((place, 0))
        self.in_turn, self.closed = True, None
        self.waiting.clear()

    def _take_turn(self, event: Event, place: int) -> None:
        del self.turns[self.position :]
        self.last = event["number"]
        title = event["message"] if isinstance(event["message"], str) else ""
        self.turns.append(TurnRecord(self.last, title[:TITLE_CHARS], 0, event["time"], self.model, place, place))
        self.position = len(self.turns)
        self.told = None
        if self.asks and self.in_turn:
            self.asks[-1] = (self.asks[-1][0], self.last)

    def _take_said(self, event: Event, place: int) -> None:
        self.items.take(event, place)
        self.tokens.clear()
        self.words.clear()

    def _take_tokens(self, event: Event, place: int) -> None:
        self.tokens[event["at"] :] = unpacked(event["ids"])

    def _take_shown(self, event: Event, place: int) -> None:
        for each in event["events"]:
            kind = each.get("type")
            if kind in ("TextDelta", "ReasoningDelta"):
                self.words.append((kind, each["text"]))
            self.running += (kind == "ToolStarted") - (kind == "ToolFinished")
            if kind == "Steered" and each["message"] in self.waiting:
                self.waiting.remove(each["message"])

    def _take_steered(self, event: Event, place: int) -> None:
        self.waiting.append(event["message"])

    def _take_left(self, event: Event, place: int) -> None:
        self.waiting.clear()

    def _take_told(self, event: Event, place: int) -> None:
        self.told = place if event["pieces"] else None

    def _take_todo(self, event: Event, place: int) -> None:
        self.todo = event["items"]

    def _take_seen(self, event: Event, place: int) -> None:
        for path, digest in event["files"].items():
            if digest is None:
                self.seen.pop(path, None)
            else:
                self.seen[path] = bytes.fromhex(digest)

    def _take_history(self, event: Event, place: int) -> None:
        self.position = event["position"]

    def _take_turn_ended(self, end: int) -> None:
        if self.turns and self.asks and self.asks[-1][1] == self.turns[-1].number and self.in_turn:
            # Not where the line begins: a group of lines cannot be read in part.
            self.turns[-1].after = end
        self.in_turn, self.running = False, 0
        self.tokens.clear()
        self.words.clear()

    def _take_closed(self, event: Event, place: int) -> None:
        self.closed = event.get("reason", "")
