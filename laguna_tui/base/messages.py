"""Messages of a conversation and their attachments, as sessions store them; no template or tokenizer is known here.

All texts are unsanitized (files, tools, the model): a front end passes them through `laguna_tui.base.text`, and a
model's encoder reads them as content only.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from laguna_engine.chat.messages import AssistantMessage, Malformed, Role, ToolCall
from laguna_tui.base.paths import escaped
from laguna_tui.base.units import plural

MESSAGE = "message"
"""Label of the user's own words."""
REMINDER = "reminder"
"""Label of what the app says to the model on the user's behalf."""
SUMMARY = "summary"
"""Label of what replaces the oldest messages."""
REJECTED = "rejected call"
"""Label of the result of a call that cannot be run."""


class BlockKind(Enum):
    """Kind of a block's content."""

    SYSTEM = "system"
    MAP = "map"
    INSTRUCTIONS = "instructions"
    FILE = "file"
    MESSAGE = "message"
    ANSWER = "answer"
    TOOL = "tool"


class Place(Enum):
    """How much of a block is in the prompt."""

    KEPT = "kept"
    SHORTENED = "shortened"
    DROPPED = "dropped"


_DIGEST_BYTES = 16
# In the wording of the tools, so that the model knows how to get it back.
_READ_AGAIN = "[left out: {title}; read it again with the read tool]\n"
_LEFT_OUT = "[left out: {title}]\n"
_CHOSEN = {Place.KEPT: "you want all of it", Place.SHORTENED: "you shortened it", Place.DROPPED: "you left it out"}
_DROPPED = "… {count} {lines} left out to save room; call the tool again if they are needed"


@dataclass(frozen=True, slots=True)
class Attachment:
    """A piece of a user message.

    Attributes:
        kind: INSTRUCTIONS, MAP, FILE, or TOOL for the output of a user's command.
        title: Name for the user ("src/a.py:10-20").
        path: The file's, relative to the folder; "" for a map.
        text: As in the prompt, framing included, ending in a newline.
        whole: The same with nothing left out.
        place: How much of it is in the prompt.
        why: Sentence fragment: why it is in this place.
        shorter: Returns the shortened text, the same every time; None if it is never shortened.
        certain: Whether it stays the same, whatever else is typed into the message.
    """

    kind: BlockKind
    title: str
    path: str
    text: str
    whole: str
    place: Place
    why: str
    shorter: Callable[[], str] | None = field(default=None, compare=False, repr=False)
    certain: bool = True

    @property
    def digest(self) -> str:
        """Hash of path and text in the prompt; attachments with equal digests are attached once."""
        return digest_of(self.path, self.text)

    @property
    def choices(self) -> tuple[Place, ...]:
        """Places the user may choose."""
        return (Place.KEPT, Place.DROPPED) if self.shorter is None else tuple(Place)

    def at(self, place: Place) -> "Attachment":
        """Return the piece in another place; unchanged if that is not among its choices.

        Shortening a file that was whole until now reads nothing, but takes a moment the first time.
        """
        if place is self.place or place not in self.choices:
            return self
        return replace(self, text=self._text(place), place=place, why=_CHOSEN[place])

    def _text(self, place: Place) -> str:
        if place is Place.SHORTENED and self.shorter is not None:
            return self.shorter()
        return self.whole if place is Place.KEPT else stand_in(self.kind, self.title)


def digest_of(path: str, text: str) -> str:
    """Return a hash of a path and its text."""
    name = path.encode("utf-8", "surrogatepass")
    data = len(name).to_bytes(8, "little") + name + text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()


def stand_in(kind: BlockKind, title: str) -> str:
    """Return the text in place of a dropped piece: its title and, for a file, how to read it again."""
    return (_READ_AGAIN if kind is BlockKind.FILE else _LEFT_OUT).format(title=escaped(title))


@dataclass(frozen=True, slots=True)
class Trace:
    """How a model in this process generated an answer; read only by the backend of the same model.

    Attributes:
        model: Identifies the model file, its template and whether it thinks: what token IDs depend on.
        tokens: Everything generated, the stop token included if there was one.
    """

    model: str
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message.

    Attributes:
        text: The user's or a tool's.
        answer: The model's, None for others; a call that cannot be run is part of its text.
        opening, attachments: What comes before a user's text, in this order.
        reminder: What the app adds after a user's text.
        places: How much of the attachments or of a tool's text is given, one for each; empty for all as they came.
        shorter: A tool's text where its place is SHORTENED; empty until it was shortened.
        calls: Calls of an answer in the order written, runnable or not, also one that was cut off; empty where
            `answer` has them all.
        trace: How an answer was generated; None for what no model in this process wrote.
    """

    role: Role
    label: str
    text: str = ""
    answer: AssistantMessage | None = None
    opening: str = ""
    attachments: tuple[Attachment, ...] = ()
    places: tuple[Place, ...] = ()
    shorter: str = ""
    reminder: str = ""
    calls: tuple[ToolCall | Malformed, ...] = ()
    trace: Trace | None = None

    @classmethod
    def asked(cls, text: str) -> "ChatMessage":
        """Return a message of the user's words alone."""
        return cls(Role.USER, MESSAGE, text)

    @property
    def attached(self) -> tuple[Attachment, ...]:
        """The attachments in their places."""
        if not self.attachments or not self.places:
            return self.attachments
        return tuple(each.at(place) for each, place in zip(self.attachments, self.places, strict=True))

    @property
    def parts(self) -> tuple[str, ...]:
        """A user's message in parts: one part if nothing is attached, else opening, attachments and words."""
        if not self.attachments:
            return (self.opening + self.text,)
        return (self.opening, *(each.text for each in self.attached), self.text)

    @property
    def place(self) -> Place:
        """How much of a tool's text is given."""
        return self.places[0] if self.places else Place.KEPT

    @property
    def given(self) -> str:
        """A tool's text as the model reads it."""
        match self.place:
            case Place.KEPT:
                return self.text
            case Place.SHORTENED:
                return self.shorter
            case Place.DROPPED:
                lines = len(self.text.splitlines())
                return _DROPPED.format(count=lines, lines=plural(lines, "line"))

    @property
    def written_calls(self) -> Sequence[ToolCall | Malformed]:
        """An answer's calls in the order written."""
        return self.calls or (self.answer.calls if self.answer is not None else ())

    @property
    def is_empty_answer(self) -> bool:
        """Whether the model wrote, thought and called nothing."""
        answer = self.answer
        return answer is not None and not (answer.text.strip() or answer.reasoning.strip() or self.written_calls)

    @property
    def is_question(self) -> bool:
        """Whether these are the user's own words, with which a turn begins."""
        return self.role is Role.USER and self.label == MESSAGE

    def placed(self, part: int, place: Place, shorten: Callable[[str, str], str]) -> "ChatMessage":
        """Return the message with one part in another place; the user's own words and the model's stay as they are.

        Args:
            part: Which part of a user's message, from 0; 0 for a tool's.
            place: The new place.
            shorten: Shortens a tool's text, given with its label.
        """
        if self.role is Role.TOOL:
            shorter = self.shorter or (shorten(self.text, self.label) if place is Place.SHORTENED else "")
            return replace(self, places=(place,), shorter=shorter)
        if not 0 < part <= len(self.attachments):
            return self
        places = [each.place for each in self.attached]
        places[part - 1] = place
        return replace(self, places=tuple(places))
