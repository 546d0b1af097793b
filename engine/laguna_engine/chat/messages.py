"""What the chat room passes around: the tools offered, the calls made, and an assistant's finished turn.

Plain values without behaviour. Arguments and schemas are JSON values as Python's `json` spells them.
"""

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
