"""A client's request, whichever API it uses: messages, tools, and how the answer is generated."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from operator import itemgetter
from typing import Annotated, Any, TypeVar

from msgspec import Meta, Struct

from laguna_engine.chat.messages import ToolSpec
from laguna_engine.config import MAX_SEED, Sampling
from laguna_tui.backends.base import Message
from laguna_tui.server.request_body import refuse
from laguna_tui.session.shared_model import SharedModel

Stops = str | Annotated[list[str], Meta(max_length=32)] | None
Logprobs = Annotated[int, Meta(ge=0, le=20)]


Sent = TypeVar("Sent")


class CallChoice(Enum):
    """Whether tools are called: as the model decides, never, or always."""

    AUTO = "auto"
    NONE = "none"
    REQUIRED = "required"


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """How an answer is generated.

    Attributes:
        sampling: How tokens are sampled.
        model: The model's name, for the answer.
        max_tokens: Token limit; None until the context is full.
        stops: Texts that end it.
        logprobs: How many of the most likely tokens are reported for each; None for no logprobs.
        stream: Whether it is sent as it is generated.
        usage: Whether the stream ends with its usage.
        progress: Whether the stream begins with the progress of the prompt.
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
        messages: Oldest first.
        options: How the answer is generated.
        tools: The tools that may be called.
        choice: Whether one is.
        only: The one tool that must be called; empty for any.
        one_call: Whether the answer ends after the first call.
        thinking: Whether the model thinks first; None for the user's setting.
        thinking_limit: Token limit of the thinking; None for the user's setting.
        schema: JSON schema that the answer's text must match; None for free text.
        schema_place: The field of the request that has it.
    """

    messages: tuple[Message, ...]
    options: AnswerOptions
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
        """The tools that the model reads about."""
        return () if self.choice is CallChoice.NONE else self.tools


Limit = Annotated[int, Meta(ge=-1, le=1 << 30)]
"""A token limit; clients of llama.cpp use -1 for none."""


class StreamOptions(Struct):
    """What a stream contains."""

    include_usage: bool | None = None


class GenerationBody(Struct, kw_only=True):
    """The fields that all APIs share. Everywhere in a request, null is the same as a missing field."""

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

    def options(self, model: SharedModel, limit: int | None, stops: Stops) -> AnswerOptions:
        """Return how the answer is generated. limit: The client's token limit."""
        limits = [each for each in (limit, model.max_tokens) if each is not None and each >= 0]
        return AnswerOptions(
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
            # Only the most likely token.
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


def in_call_order(
    sent: Sequence[Sent], calls: Callable[[Sent], Collection[str | None]], answered: Callable[[Sent], str | None]
) -> list[Sent]:
    """Return what a client sent, the results of a turn's calls in the order of the calls.

    A prompt pairs them by order, and clients send them as they come.

    Args:
        sent: Messages, or parts of them.
        calls: Returns the identifiers of the calls in one.
        answered: Returns the identifier of the call whose result it is; None for anything else.
    """
    places: dict[str | None, int] = {}
    keys: list[tuple[int, int]] = []
    segment, after_result = 0, False
    for each in sent:
        if (call := answered(each)) is not None:
            keys.append((segment, 1 + places.get(call, len(places))))
            after_result = True
            continue
        segment += 1
        keys.append((segment, 0))
        if after_result:
            places, after_result = {}, False
        for made in calls(each):
            places.setdefault(made, len(places))
    return [each for _, each in sorted(zip(keys, sent, strict=True), key=itemgetter(0))]


def text_of(content: Content, place: str, kinds: tuple[str, ...] = ("text",)) -> str:
    """Return the text of a content; ApiError for a part that is not text. place: Of the content in the request."""
    if content is None or isinstance(content, str):
        return content or ""
    for index, part in enumerate(content):
        if part.type not in kinds:
            refuse(f"{place}[{index}].type", f"text: this model does not read '{part.type}'")
    return "\n".join((part.refusal if part.type == "refusal" else part.text) or "" for part in content)


def tool_spec(
    name: str | None, description: str | None, parameters: Mapping[str, Any] | None, strict: bool | None, place: str
) -> ToolSpec:
    """Return a tool as the model reads about it. place: Of the tool in the request."""
    if not name or any(letter in name for letter in "\n<>"):
        refuse(f"{place}.name", "a word")
    return ToolSpec(name, description or "", parameters or {"type": "object", "properties": {}}, bool(strict))
