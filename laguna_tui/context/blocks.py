"""What the prompt consists of, as values: blocks with their cost, what is attached to a message, ways to complete one.

Nothing here reads a file or counts a token. Texts are raw (files, tools, the model): a front end passes them through
`laguna_tui.base.text`, and the safe encoder reads them before a model does.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum

from laguna_tui.repo.relative_paths import escaped


class BlockKind(Enum):
    """What a block holds."""

    SYSTEM = "system"
    MAP = "map"
    INSTRUCTIONS = "instructions"
    FILE = "file"
    MESSAGE = "message"
    ANSWER = "answer"
    TOOL = "tool"


class Place(Enum):
    """How much of a block stands in the prompt."""

    KEPT = "kept"
    SHORTENED = "shortened"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class ContextBlock:
    """One block of the prompt.

    number: names it as long as the conversation lasts. tokens: what it takes now; whole: what it would take with
    nothing left out. cached: how many of `tokens` are in the KV cache. why: a sentence fragment that says why it is
    whole, shortened or dropped. choices: what the user may make of it, the present place included; a single one means
    that it is never touched.
    """

    number: int
    kind: BlockKind
    title: str
    tokens: int
    whole: int
    cached: int
    place: Place
    why: str
    choices: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class BlockText:
    """A block's text with nothing left out, and as it stands in the prompt; `after` is empty when it was dropped."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Cost:
    """What sending would cost now, in tokens and seconds.

    new: tokens to compute. cached: tokens that are kept. lost: tokens that are in the KV cache now and would have to be
    computed again, because something before them changes. seconds: until the first token, None before anything was
    measured. fits: whether prompt and answer have room. notes: sentences about what was mentioned and attached.
    """

    new: int
    cached: int
    lost: int
    seconds: float | None
    fits: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Completion:
    """One way to go on with what the user types: `insert` replaces the characters from `start` up to the cursor."""

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

    kind: INSTRUCTIONS, MAP or FILE. title: names it for the user ("src/a.py:10-20"). path: the file's, relative to the
    folder; of a map, "". text: as it stands in the prompt, framing included, ending in a newline. whole: the same with
    nothing left out. why: a sentence fragment that says why it is in this place. shorter: makes the shortened text,
    the same one every time; None for what is never shortened. certain: whatever else is typed into the message, this
    piece stays as it is.
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
        """Tells path and contents as they stand in the prompt: what has the same digest is not attached twice."""
        return digest_of(self.path, self.text)

    @property
    def choices(self) -> tuple[Place, ...]:
        """What the user may make of it."""
        return (Place.KEPT, Place.DROPPED) if self.shorter is None else tuple(Place)

    def at(self, place: Place) -> "Attachment":
        """The same piece in another place; where that is not among its choices, as it is.

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
    """What a message brings along, in the order of the prompt, and sentences for the user about it."""

    attachments: tuple[Attachment, ...] = ()
    notes: tuple[str, ...] = ()


def digest_of(path: str, text: str) -> str:
    """A digest of a path and what stands under it."""
    name = path.encode("utf-8", "surrogatepass")
    data = len(name).to_bytes(8, "little") + name + text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()


def stand_in(kind: BlockKind, title: str) -> str:
    """What stands in the prompt for a piece that was dropped: what it was and, for a file, how to get it back."""
    return (_READ_AGAIN if kind is BlockKind.FILE else _LEFT_OUT).format(title=escaped(title))
