"""What a conversation is made of apart from its model, and how its moments are remembered without a copy of each.

Messages are never changed, only replaced, so two moments differ by what was added behind what both begin with.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from laguna_tui.agent.messages import ChatMessage, GeneratedMessage, retold, with_opening

Said = ChatMessage | GeneratedMessage


class ConversationMark(NamedTuple):
    """What was said in a conversation at some moment, in the prompt and before it."""

    said: tuple[Said, ...] = ()
    forgotten: tuple[Said, ...] = ()

    def retold(self) -> "ConversationMark":
        """The same for another model, which writes all of it in its own format."""
        return ConversationMark(tuple(map(retold, self.said)), tuple(map(retold, self.forgotten)))


class ConversationState(NamedTuple):
    """All that a conversation is made of, apart from its model.

    Attributes:
        said, forgotten: what is in the prompt, and what was before it. Of a conversation that goes on these are its
            own lists, which grow.
        calls: how many calls of tools there were.
        opening: what stands before the user's first words; None where that is not settled.
        notes: notes about the model that were shown.
    """

    said: Sequence[Said] = ()
    forgotten: Sequence[Said] = ()
    calls: int = 0
    opening: str | None = None
    notes: frozenset[str] = frozenset()


def all_said(state: ConversationState) -> tuple[ChatMessage, ...]:
    """Everything said so far, for another model."""
    # What opens the chat stands before its first words, and again before those that are first in the prompt.
    opening = "" if state.forgotten else None
    return tuple(map(retold, [*state.forgotten, *with_opening(state.said, opening)]))


class Difference(NamedTuple):
    """How a list became another one: its first `kept` stay, and the others are `added`."""

    kept: int
    added: tuple[Said, ...]

    @classmethod
    def between(cls, before: Sequence[Said], after: Sequence[Said]) -> "Difference":
        """The difference of two lists; the same is what is the same object."""
        kept = 0
        for old, new in zip(before, after, strict=False):
            if old is not new:
                break
            kept += 1
        return cls(kept, tuple(after[kept:]))


Place = ConversationMark | int
"""Where a log finds a moment again: all of it, or a number that the log understands."""


class TurnLog(Protocol):
    """Remembers what was said at the turns of a session."""

    def note(self, state: ConversationState) -> Place:
        """Remember the present moment."""
        ...

    def load(self, place: Place) -> ConversationMark:
        """What was said at a moment.

        Raises:
            UserError: it is lost.
        """
        ...

    def began(self, number: int, message: str) -> None:
        """A turn has begun."""
        ...

    def moved(self, position: int) -> None:
        """So many turns are done now, the others are undone."""
        ...


class MemoryLog:
    """A `TurnLog` in memory, for a session that is not kept: what every moment added to the one before it."""

    def __init__(self) -> None:
        self._changes: list[tuple[Difference, Difference]] = []
        self._last = ConversationMark()

    def note(self, state: ConversationState) -> Place:
        """Remember the present moment."""
        before, self._last = self._last, ConversationMark(tuple(state.said), tuple(state.forgotten))
        changes = zip(before, self._last, strict=True)
        said, forgotten = (Difference.between(old, new) for old, new in changes)
        self._changes.append((said, forgotten))
        return len(self._changes)

    def load(self, place: Place) -> ConversationMark:
        """What was said at a moment."""
        if isinstance(place, ConversationMark):
            return place
        lists: tuple[list[Said], list[Said]] = ([], [])
        for change in self._changes[:place]:
            for each, (kept, added) in zip(lists, change, strict=True):
                each[kept:] = added
        return ConversationMark(tuple(lists[0]), tuple(lists[1]))

    def began(self, number: int, message: str) -> None:
        """A turn has begun, which nobody has to know of later."""

    def moved(self, position: int) -> None:
        """Likewise."""
