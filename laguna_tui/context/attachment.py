"""What goes into the prompt beside the user's words: one value for each piece, framing included.

Values only; nothing here reads a file or counts a token. Texts are raw: they pass `laguna_tui.text` before a screen
shows them, and the safe encoder before a model reads them.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from laguna_tui.context.blocks import BlockKind, Place
from laguna_tui.repo.names import shown

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
    return (_READ_AGAIN if kind is BlockKind.FILE else _LEFT_OUT).format(title=shown(title))
