"""The state of a conversation, independent of its model."""

from collections.abc import Sequence
from typing import NamedTuple

from laguna_tui.agent.rendering import retold, with_opening
from laguna_tui.base.messages import ChatMessage


class ConversationMark(NamedTuple):
    """What was said up to some moment, in the prompt and before it."""

    said: tuple[ChatMessage, ...] = ()
    forgotten: tuple[ChatMessage, ...] = ()

    def retold(self) -> "ConversationMark":
        """The same for another model, which writes all of it in its own format."""
        return ConversationMark(tuple(map(retold, self.said)), tuple(map(retold, self.forgotten)))


class ConversationState(NamedTuple):
    """The state of a conversation, independent of its model.

    Attributes:
        said, forgotten: what is in the prompt, and what was before it. Of a conversation that continues these are its
            own lists, which grow.
        calls: how many calls of tools there were.
        opening: text before the user's first words; None until it is settled.
        notes: notes about the model that were already shown.
    """

    said: Sequence[ChatMessage] = ()
    forgotten: Sequence[ChatMessage] = ()
    calls: int = 0
    opening: str | None = None
    notes: frozenset[str] = frozenset()


def all_said(state: ConversationState) -> tuple[ChatMessage, ...]:
    """Everything said so far, for another model."""
    # What opens the chat stands before its first words, and again before those that are first in the prompt.
    opening = "" if state.forgotten else None
    return tuple(map(retold, [*state.forgotten, *with_opening(state.said, opening)]))
