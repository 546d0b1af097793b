"""The values of a conversation: tools offered, calls made, a finished turn, and what the parser reports."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool the model may call. `parameters` is a JSON schema of type object; its key order is kept as given."""

    name: str
    description: str
    parameters: Mapping[str, object]

    def as_openai(self) -> dict[str, object]:
        """The shape Laguna was trained on, with keys in the order the templates print them."""
        body = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": body}


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A complete, type-checked call."""

    name: str
    arguments: dict[str, object]


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """A past assistant turn, taken apart as the templates take it apart."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Reasoning:
    """A stretch of the model's thinking."""

    text: str


@dataclass(frozen=True, slots=True)
class Text:
    """A stretch of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class CallStarted:
    """Call number `index` of the turn, from 0, to a tool that exists. Nothing may be run yet."""

    index: int
    name: str


@dataclass(frozen=True, slots=True)
class CallArgument:
    """A stretch of one argument's value as written: the string itself, or JSON for other types."""

    index: int
    key: str
    value_delta: str


@dataclass(frozen=True, slots=True)
class CallFinished:
    """The call is complete, and its arguments fit the tool's schema."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class Malformed:
    """A call that cannot be run: its text, and a sentence for the model saying what to do instead."""

    raw: str
    problem: str


ParserEvent = Reasoning | Text | CallStarted | CallArgument | CallFinished | Malformed
