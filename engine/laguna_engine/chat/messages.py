"""Values of a conversation: tool specs, tool calls, assistant turns and parser events."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from msgspec import Struct


class Role(Enum):
    """Author of a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool the model may call.

    Attributes:
        parameters: a JSON schema of type object; its key order is preserved.
        strict: whether calls have to keep to it while they are written. The model does not see this.
    """

    name: str
    description: str
    parameters: Mapping[str, object]
    strict: bool = False

    def as_openai(self) -> dict[str, object]:
        """Return the OpenAI tool schema Laguna was trained on, keys in the order the templates print them."""
        body = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": body}


class ToolCall(Struct, frozen=True, tag=True, tag_field="type"):
    """A complete, type-checked tool call."""

    name: str
    arguments: dict[str, object]


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """A past assistant turn, split into the parts the templates distinguish."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Reasoning:
    """A piece of the model's reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A call to an existing tool has begun; it must not run before `CallFinished`.

    Attributes:
        index: position of the call in the turn, from 0.
    """

    index: int
    name: str


@dataclass(frozen=True, slots=True)
class CallArgument:
    """A piece of one argument's value as written: the string itself, or JSON for other types."""

    index: int
    key: str
    value_delta: str


@dataclass(frozen=True, slots=True)
class CallFinished:
    """The call is complete and its arguments match the tool's schema."""

    call: ToolCall


class Malformed(Struct, frozen=True, tag=True, tag_field="type"):
    """A call that cannot run.

    Attributes:
        raw: the call as the model wrote it.
        problem: a sentence for the model: what is wrong and what to do instead.
    """

    raw: str
    problem: str


ParserEvent = Reasoning | Text | CallStarted | CallArgument | CallFinished | Malformed
