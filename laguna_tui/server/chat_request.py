"""What a client wants, whichever API it speaks: messages, tools, and how the answer is generated."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Annotated, Any

from msgspec import Meta, Struct

from laguna_engine.chat.messages import AssistantMessage, ToolSpec
from laguna_engine.config import MAX_SEED, Sampling
from laguna_tui.server.request_body import refuse
from laguna_tui.session.shared_model import SharedModel

Stops = str | Annotated[list[str], Meta(max_length=32)] | None
Logprobs = Annotated[int, Meta(ge=0, le=20)]


class Speaker(Enum):
    """Who says a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class Said:
    """One message. answer: what an assistant said, taken apart; text: what anybody else said."""

    speaker: Speaker
    text: str = ""
    answer: AssistantMessage = field(default_factory=AssistantMessage)


class CallChoice(Enum):
    """Whether tools are called: as the model likes, never, or in any case."""

    AUTO = "auto"
    NONE = "none"
    REQUIRED = "required"


@dataclass(frozen=True, slots=True)
class Wanted:
    """How an answer is generated.

    Attributes:
        sampling: the settings of its tokens.
        max_tokens: most tokens; None until the context is full.
        stops: texts that end it.
        model: its name, as the answer says it.
        logprobs: note so many of the likeliest tokens beside each; None for nothing.
        stream: send it as it comes.
        usage: the stream ends with its usage.
        progress: the stream begins with the progress of the prompt.
    """

    sampling: Sampling
    model: str
    max_tokens: int | None = None
    stops: tuple[str, ...] = ()
    logprobs: int | None = None
    stream: bool = False
    usage: bool = False
    progress: bool = False


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A chat to answer.

    Attributes:
        said: the messages, oldest first.
        wanted: how the answer is generated.
        tools: what may be called.
        choice: whether something is.
        only: the one tool that is to be called; empty for any.
        one_call: end after the first call.
        thinking: whether the model thinks first; None as it is set.
        thinking_limit: most tokens of thinking; None as it is set.
        schema: JSON schema that the answer's text has to match; None for free text.
        schema_place: where the request has it.
    """

    said: tuple[Said, ...]
    wanted: Wanted
    tools: tuple[ToolSpec, ...] = ()
    choice: CallChoice = CallChoice.AUTO
    only: str = ""
    one_call: bool = False
    thinking: bool | None = None
    thinking_limit: int | None = None
    schema: Mapping[str, object] | None = None
    schema_place: str = "response_format"

    @property
    def offered(self) -> tuple[ToolSpec, ...]:
        """The tools that the model is told about."""
        return () if self.choice is CallChoice.NONE else self.tools


Limit = Annotated[int, Meta(ge=-1, le=1 << 30)]
"""Most tokens; llama.cpp's clients say -1 for no limit."""


class StreamOptions(Struct):
    """How a stream is sent."""

    include_usage: bool | None = None


class GenerationBody(Struct, kw_only=True):
    """The fields that all APIs have alike. Everywhere in a request, null is the same as a missing field."""

    model: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    temperature: Annotated[float, Meta(ge=0, le=5)] | None = None
    top_k: Annotated[int, Meta(ge=-1, le=1 << 20)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    min_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    repeat_penalty: Annotated[float, Meta(ge=1, le=10)] | None = None
    repetition_penalty: Annotated[float, Meta(ge=1, le=10)] | None = None
    seed: Annotated[int, Meta(ge=-1)] | None = None

    def wanted(self, model: SharedModel, limit: int | None, stops: Stops) -> Wanted:
        """Return how the answer is generated. limit: most tokens, as the client wants them."""
        limits = [each for each in (limit, model.max_tokens) if each is not None and each >= 0]
        return Wanted(
            sampling=self._sampling(model.sampling),
            model=self.model or model.name,
            max_tokens=min(limits, default=None),
            stops=tuple(filter(None, [stops] if isinstance(stops, str) else stops or ())),
            stream=bool(self.stream),
            usage=self.stream_options is not None and bool(self.stream_options.include_usage),
        )

    def _sampling(self, default: Sampling) -> Sampling:
        penalty = self.repetition_penalty if self.repeat_penalty is None else self.repeat_penalty
        changes: dict[str, Any] = {
            "temperature": self.temperature,
            "top_k": 0 if self.top_k == -1 else self.top_k,
            "top_p": self.top_p,
            "min_p": self.min_p,
            "repeat_penalty": penalty,
            "seed": None if self.seed is None or self.seed < 0 else self.seed % (MAX_SEED + 1),
        }
        if self.top_p == 0:
            # Nothing but the likeliest.
            changes |= {"top_p": 1.0, "top_k": 1}
        return replace(default, **{name: value for name, value in changes.items() if value is not None})


class ContentPart(Struct):
    """A part of a message."""

    type: str | None = None
    text: str | None = None
    refusal: str | None = None

    def __post_init__(self) -> None:
        self.type = self.type or "text"


Content = str | list[ContentPart] | None
"""A message's text, or its parts."""


def text_of(content: Content, place: str, kinds: tuple[str, ...] = ("text",)) -> str:
    """Return a message's text; ApiError for a part of another kind. place: of the content in the request."""
    if content is None or isinstance(content, str):
        return content or ""
    for index, part in enumerate(content):
        if part.type not in kinds:
            refuse(f"{place}[{index}].type", f"text: this model reads no '{part.type}'")
    return "\n".join((part.refusal if part.type == "refusal" else part.text) or "" for part in content)


def tool_spec(
    name: str | None, description: str | None, parameters: Mapping[str, Any] | None, strict: bool | None, place: str
) -> ToolSpec:
    """Return a tool as the model reads of it. place: of the tool in the request."""
    if not name or any(letter in name for letter in "\n<>"):
        refuse(f"{place}.name", "a word")
    return ToolSpec(name, description or "", parameters or {"type": "object", "properties": {}}, bool(strict))
