"""The state of a conversation, independent of its model."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from laguna_engine.chat.messages import Role
from laguna_tui.base.messages import ChatMessage


class ConversationMark(NamedTuple):
    """What was said up to some moment, in the prompt and before it."""

    said: tuple[ChatMessage, ...] = ()
    forgotten: tuple[ChatMessage, ...] = ()


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
    """Return everything said so far, for another model."""
    # What opens the chat stands before its first words, and again before those that are first in the prompt.
    return (*state.forgotten, *with_opening(state.said, "" if state.forgotten else None))


def with_opening(said: Sequence[ChatMessage], opening: str | None) -> list[ChatMessage]:
    """Return the same with this before the first words; None leaves them as they are."""
    if not said or opening is None or said[0].role is Role.ASSISTANT:
        return list(said)
    return [replace(said[0], opening=opening), *said[1:]]
