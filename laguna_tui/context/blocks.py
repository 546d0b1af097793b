"""Values of the prompt's contents: blocks with their cost, attachments, completions.

Nothing here reads a file or counts a token. Texts are unsanitised (files, tools, the model): a front end passes them
through `laguna_tui.base.text`, and the safe encoder reads them before a model does.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum

from laguna_tui.repo.relative_paths import escaped


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


@dataclass(frozen=True, slots=True)
class ContextBlock:
    """One block of the prompt.

    Attributes:
        number: Identifies it for the whole conversation.
        kind: Kind of its content.
        title: Name to show.
        tokens: Tokens it takes now.
        whole: Tokens it would take with nothing left out.
        cached: How many of `tokens` are in the KV cache; None of a remote model, whose cache nobody knows here.
        place: How much of it is in the prompt.
        why: Sentence fragment: why it is whole, shortened or dropped.
        choices: Places the user may choose, the present one included; a single one means that it is never changed.
    """

    number: int
    kind: BlockKind
    title: str
    tokens: int
    whole: int
    cached: int | None
    place: Place
    why: str
    choices: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class BlockText:
    """A block's whole text, and as it is in the prompt; `after` is empty when it was dropped."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of sending a message now.

    Attributes:
        new: Tokens to compute.
        cached: Tokens reused from the KV cache; None of a remote model, where `new` is all of them, estimated.
        lost: Cached tokens to compute again, because something before them changes.
        seconds: Until the first token, scoring of files that are shortened included; None before anything was measured.
        fits: Whether prompt and answer have room.
        notes: Sentences about mentions and attachments.
        measuring: Whether `seconds` lacks a scorer whose speed is being measured; ask again.
    """

    new: int
    cached: int | None
    lost: int
    seconds: float | None
    fits: bool
    notes: tuple[str, ...] = ()
    measuring: bool = False


@dataclass(frozen=True, slots=True)
class Completion:
    """A completion of the typed text: `insert` replaces the characters from `start` up to the cursor."""

    start: int
    insert: str
    label: str
    detail: str = ""


_DIGEST_BYTES = 16
# In the wording of the tools, so that the model knows how to get it back.
_READ_AGAIN = "[left out: {title}; read it again with the read tool]\n"
_LEFT_OUT = "[left out: {title}]\n"
_CHOSEN = {Place.KEPT: "you want all of it", Place.SHORTENED: "you shortened it", Place.DROPPED: "you left it out"}


@dataclass(frozen=True, slots=True)
class Attachment:
    """A piece of a user message.

    Attributes:
        kind: INSTRUCTIONS, MAP, FILE, or TOOL for what a command of the user's put out.
        title: Name for the user ("src/a.py:10-20").
        path: The file's, relative to the folder; "" for a map.
        text: As in the prompt, framing included, ending in a newline.
        whole: The same with nothing left out.
        place: How much of it is in the prompt.
        why: Sentence fragment: why it is in this place.
        shorter: Returns the shortened text, the same every time; None if it is never shortened.
        certain: Whether it stays the same whatever else is typed into the message.
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


@dataclass(frozen=True, slots=True)
class Gathered:
    """Attachments of a message.

    Attributes:
        attachments: In the order of the prompt.
        notes: Sentences for the user about them.
        seconds: Estimated time to choose what to keep of files that are shortened; 0 once that is done.
        measuring: Whether that lacks a scorer whose speed is being measured.
    """

    attachments: tuple[Attachment, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    measuring: bool = False

    def followed_by(self, other: "Gathered") -> "Gathered":
        """Return both, these first."""
        attachments, notes = self.attachments + other.attachments, self.notes + other.notes
        return Gathered(attachments, notes, self.seconds + other.seconds, self.measuring or other.measuring)


def digest_of(path: str, text: str) -> str:
    """Return a hash of a path and its text."""
    name = path.encode("utf-8", "surrogatepass")
    data = len(name).to_bytes(8, "little") + name + text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()


def stand_in(kind: BlockKind, title: str) -> str:
    """Return the text in place of a dropped piece: its title and, for a file, how to read it again."""
    return (_READ_AGAIN if kind is BlockKind.FILE else _LEFT_OUT).format(title=escaped(title))
