"""What was said in a conversation, apart from how a model's template writes it: so that another model can read it.

Tokens mean something else to another model, so a conversation is taken apart with the old vocabulary, and rendered
again with the new one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from laguna_engine.chat.encoding import Tokenizer
from laguna_engine.chat.messages import AssistantMessage, CallFinished, Malformed, Reasoning, Text, ToolCall, ToolSpec
from laguna_engine.chat.parser import StreamParser
from laguna_engine.chat.transcript import Role
from laguna_tui.agent.tools.base.results import in_place
from laguna_tui.context.blocks import Attachment, Place

MESSAGE = "message"
"""The label of the user's own words."""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message. text: the user's or a tool's. answer: the model's, None for others.

    opening, attachments: what stands before a user's text, in this order. places: what the user made of the attachments
    or of a tool's text, one for each; empty leaves them as they came.
    """

    role: Role
    label: str
    text: str = ""
    answer: AssistantMessage | None = None
    opening: str = ""
    attachments: tuple[Attachment, ...] = ()
    places: tuple[Place, ...] = ()

    @classmethod
    def asked(cls, text: str) -> "ChatMessage":
        """The user's words, with nothing beside them."""
        return cls(Role.USER, MESSAGE, text)

    @property
    def attached(self) -> tuple[Attachment, ...]:
        """The attachments in their places."""
        if not self.attachments or not self.places:
            return self.attachments
        return tuple(each.at(place) for each, place in zip(self.attachments, self.places, strict=True))

    @property
    def parts(self) -> tuple[str, ...]:
        """A user's message, piece by piece: in one when nothing is attached, else opening, attachments and words."""
        if not self.attachments:
            return (self.opening + self.text,)
        return (self.opening, *(each.text for each in self.attached), self.text)

    @property
    def place(self) -> Place:
        """How much of a tool's text is given."""
        return self.places[0] if self.places else Place.KEPT

    @property
    def given(self) -> str:
        """What the model reads of a tool's text."""
        return in_place(self.text, self.place)

    def placed(self, part: int, place: Place) -> "ChatMessage":
        """The same with one part in another place; the user's own words and the model's stay as they are."""
        if self.role is Role.TOOL:
            return replace(self, places=(place,))
        if not 0 < part <= len(self.attachments):
            return self
        places = [each.place for each in self.attached]
        places[part - 1] = place
        return replace(self, places=tuple(places))


@dataclass(frozen=True, slots=True)
class GeneratedMessage:
    """What the model said, as it is kept while the conversation runs: its tokens."""

    label: str
    tokens: Sequence[int]


def as_messages(
    heard: Sequence[ChatMessage | GeneratedMessage],
    vocabulary: Tokenizer,
    markers: Mapping[int, str],
    tools: Sequence[ToolSpec],
    *,
    thinking: bool,
) -> tuple[ChatMessage, ...]:
    """The messages, with the model's taken apart. vocabulary, markers, thinking: what they were generated with."""

    def said(each: ChatMessage | GeneratedMessage) -> ChatMessage:
        if isinstance(each, ChatMessage):
            return each
        parser = StreamParser(tools, in_reasoning=thinking, markers=markers)
        return ChatMessage(Role.ASSISTANT, each.label, answer=_message(each.tokens, vocabulary, parser))

    return tuple(map(said, heard))


def _message(tokens: Sequence[int], vocabulary: Tokenizer, parser: StreamParser) -> AssistantMessage:
    events = [event for token in tokens for event in parser.feed(token, vocabulary.piece(token))]
    text, reasoning, calls = "", "", list[ToolCall]()
    for event in (*events, *parser.finish()):
        match event:
            case Reasoning(part):
                reasoning += part
            case Text(part) | Malformed(raw=part):
                text += part
            case CallFinished(call):
                calls.append(call)
            case _:
                pass
    return AssistantMessage(text, reasoning, tuple(calls))
