"""The blocks of a conversation's prompt, and their titles."""

from typing import NamedTuple

from laguna_engine.chat.messages import Role, ToolCall
from laguna_tui.agent.tools.base.results import places_of
from laguna_tui.base.messages import Attachment, ChatMessage, Place
from laguna_tui.base.units import clipped

_TITLE_CHARS = 60


class ConversationBlock(NamedTuple):
    """One block of the prompt.

    Attributes:
        number: From 0, the system prompt with the tools.
        start: Tokens before it.
        tokens: Its own.
        message: The message that it is part of; None for the system's block.
        item: The message's number in the conversation, from 0.
        part: Which part of the message it is, from 0.
    """

    number: int
    start: int
    tokens: int
    message: ChatMessage | None = None
    item: int = -1
    part: int = 0

    @property
    def role(self) -> Role:
        return Role.SYSTEM if self.message is None else self.message.role

    @property
    def label(self) -> str:
        return "system prompt and tools" if self.message is None else self.message.label

    @property
    def attachment(self) -> Attachment | None:
        """The attachment, unless the block is words."""
        if self.message is None or not 0 < self.part <= len(self.message.attachments):
            return None
        return self.message.attached[self.part - 1]

    @property
    def place(self) -> Place:
        if self.attachment is not None:
            return self.attachment.place
        return self.message.place if self.message is not None and self.message.role is Role.TOOL else Place.KEPT

    @property
    def choices(self) -> tuple[Place, ...]:
        """Places it can have, its own included; none for words and the system's block."""
        if self.attachment is not None:
            return self.attachment.choices
        return places_of(self.message.text) if self.message is not None and self.message.role is Role.TOOL else ()

    @property
    def about(self) -> str:
        """What a tool's result or an attachment is about."""
        return self.attachment.path if self.attachment is not None else self.label


def call_title(call: ToolCall) -> str:
    """Return a call in a few words: its name and main argument."""
    pattern = call.arguments.get("pattern")
    texts = [value for value in call.arguments.values() if isinstance(value, str)]
    # Both `list` and `pattern` of a search; only the path of an edit.
    about = texts[: texts.index(pattern) + 1] if isinstance(pattern, str) else texts[:1]
    return short_title(" ".join([call.name, *about]))


def short_title(text: str) -> str:
    """Return the beginning of a text on one line, enough to recognise it in a list."""
    return clipped(" ".join(text.split()), _TITLE_CHARS)
