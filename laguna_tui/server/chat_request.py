"""What a client wants, whichever API it speaks: messages, tools, and how the answer is generated."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from laguna_engine.chat.messages import AssistantMessage, ToolSpec
from laguna_engine.config import MAX_SEED, Sampling
from laguna_engine.errors import RequestError
from laguna_tui.server.api_error import ApiError
from laguna_tui.server.json_fields import Fields

MAX_STOPS = 32
MAX_LOGPROBS = 20
_MOST_TOKENS = 1 << 30


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
        logprobs: note so many of the likeliest tokens beside each; None for nothing.
        stream: send it as it comes.
        usage: the stream ends with its usage.
    """

    sampling: Sampling
    max_tokens: int | None = None
    stops: tuple[str, ...] = ()
    logprobs: int | None = None
    stream: bool = False
    usage: bool = False


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

    @property
    def offered(self) -> tuple[ToolSpec, ...]:
        """The tools that the model is told about."""
        return () if self.choice is CallChoice.NONE else self.tools


def wanted_of(fields: Fields, default: Sampling, *, limits: tuple[str, ...], stops: str) -> Wanted:
    """How an answer is generated, from the fields that all APIs have alike.

    Args:
        fields: the request.
        default: the sampling where it says nothing.
        limits: names of the field with the most tokens, the first that is there counts.
        stops: name of the field with the stop texts.
    """
    limit = next((fields.whole(name, -1, _MOST_TOKENS) for name in limits if fields.has(name)), None)
    if fields.whole("n", 1, None) not in (None, 1):
        fields.wrong("n", "1: this server gives one answer to a request; send it again with another seed")
    if fields.has("logit_bias") and fields.values["logit_bias"]:
        fields.wrong("logit_bias", "left out: this server does not change single tokens' logits")
    return Wanted(
        sampling=_sampling(fields, default),
        # llama.cpp's clients say -1 for no limit.
        max_tokens=None if limit is None or limit < 0 else limit,
        stops=fields.texts(stops, MAX_STOPS),
        stream=fields.flag("stream"),
        usage=fields.inner("stream_options").flag("include_usage"),
    )


def _sampling(fields: Fields, default: Sampling) -> Sampling:
    seed = fields.whole("seed", -1)
    changes: dict[str, object] = {
        "temperature": fields.number("temperature", 0, 5),
        "top_k": fields.whole("top_k", -1, 1 << 20),
        "top_p": fields.number("top_p", 0, 1),
        "min_p": fields.number("min_p", 0, 1),
        "repeat_penalty": fields.number("repeat_penalty", 1, 10),
        "seed": None if seed is None or seed < 0 else seed % (MAX_SEED + 1),
    }
    known = {name: value for name, value in changes.items() if value is not None}
    if known.get("top_k") == -1:
        known["top_k"] = 0
    if known.get("top_p") == 0:
        # Nothing but the likeliest.
        known |= {"top_p": 1.0, "top_k": 1}
    try:
        return replace(default, **known)  # type: ignore[arg-type]
    except RequestError as error:
        raise ApiError(400, str(error)) from error


def text_of(fields: Fields, name: str, kinds: tuple[str, ...] = ("text",)) -> str:
    """A message's text: a string, or its parts of these kinds; parts that are no text are refused."""
    value = fields.values.get(name)
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    texts = []
    for part in fields.objects(name):
        kind = part.text("type", "text")
        if kind not in kinds:
            part.wrong("type", f"text: this model reads no '{kind}'")
        texts.append(part.text("refusal" if kind == "refusal" else "text", ""))
    return "\n".join(texts)


def tool_spec(fields: Fields, schema: str) -> ToolSpec:
    """A tool as the model is told about it. schema: name of the field with its parameters."""
    parameters = fields.inner(schema).values
    name = fields.text("name")
    if not name or any(letter in name for letter in "\n<>"):
        fields.wrong("name", "a word")
    parameters = parameters or {"type": "object", "properties": {}}
    return ToolSpec(name, fields.text("description", ""), parameters, fields.flag("strict"))
