"""What OpenAI's three APIs share: usage, tools, tool choices, formats of answers."""

import json
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from laguna_engine.chat.messages import ToolCall, ToolSpec
from laguna_tui import __version__
from laguna_tui.backends.base import Message
from laguna_tui.server.chat_answer import TokenUsage
from laguna_tui.server.chat_request import AnswerOptions, CallChoice, ChatRequest, GenerationBody, tool_spec
from laguna_tui.server.request_body import parse_json, refuse

FINGERPRINT = f"laguna-tui-{__version__}"


def new_id(prefix: str) -> str:
    """Return a unique ID. prefix: With the character that ends it in the API's own IDs."""
    return f"{prefix}{uuid.uuid4().hex}"


def now() -> int:
    """Return the seconds since the epoch."""
    return int(time.time())


def sse(data: Mapping[str, object], event: str = "") -> bytes:
    """Return one server-sent event."""
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {json.dumps(data, ensure_ascii=False)}\n\n".encode("utf-8", "replace")


DONE = b"data: [DONE]\n\n"
"""The end of a stream."""


def usage_of(usage: TokenUsage) -> dict[str, object]:
    """Return the usage as chats and completions report it, with the figures of speculation."""
    stats = usage.stats
    return {
        "prompt_tokens": stats.prompt_tokens,
        "completion_tokens": stats.generated_tokens,
        "total_tokens": stats.prompt_tokens + stats.generated_tokens,
        "prompt_tokens_details": {"cached_tokens": stats.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
        "speculation": usage.speculation,
    }


class Function(Struct):
    """A function that may be called, or the name of one."""

    name: str | None = None
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class OpenAIToolParam(Function, kw_only=True):
    """A tool. Chats have a function's fields inside `function`, responses beside the type."""

    type: str | None = None
    function: Function | None = None


class SchemaFormat(Struct):
    """A JSON schema, as chats have it inside a format."""

    schema: dict[str, Any] | None = None


class ResponseFormat(Struct):
    """The form of an answer's text. Chats have the schema inside `json_schema`, responses beside the type."""

    type: Literal["text", "json_object", "json_schema"] | None = None
    json_schema: SchemaFormat | None = None
    schema: dict[str, Any] | None = None

    def schema_at(self, place: str) -> Mapping[str, Any] | None:
        """Return the schema that the text must match; None for free text. place: Of the format in the request."""
        if self.type is None or self.type == "text":
            return None
        schema = self.schema if self.json_schema is None else self.json_schema.schema
        if self.type == "json_object":
            return schema or {"type": "object"}
        if not schema:
            refuse(f"{place}.json_schema.schema" if self.json_schema else f"{place}.schema", "a JSON schema")
        return schema


def schema_of(schema: Mapping[str, Any] | None, form: ResponseFormat | None) -> tuple[Mapping[str, Any] | None, str]:
    """Return the schema of `json_schema` or `response_format`, None for free text, and the field it is in."""
    if schema is None and form is not None:
        return form.schema_at("response_format"), "response_format"
    return schema, "json_schema"


class TemplateSwitches(Struct):
    """The switches of the model's template."""

    enable_thinking: bool | None = None


class ReasoningBody(Struct):
    """How much the model thinks."""

    effort: str | None = None


class ToolsBody(GenerationBody, kw_only=True):
    """The fields that chats and responses share."""

    tools: list[OpenAIToolParam] | None = None
    tool_choice: str | OpenAIToolParam | None = None
    parallel_tool_calls: bool | None = None
    chat_template_kwargs: TemplateSwitches | None = None
    reasoning: ReasoningBody | None = None
    reasoning_effort: str | None = None

    def request(self, messages: Sequence[Message], options: AnswerOptions, **more: Any) -> ChatRequest:
        """Return the chat to answer. more: Fields of `ChatRequest`."""
        tools = self._functions()
        choice, only = self._choice(tools)
        return ChatRequest(
            tuple(messages),
            options,
            tools,
            choice,
            only,
            one_call=self.parallel_tool_calls is False,
            thinking=self._thinking(),
            **more,
        )

    def _functions(self) -> tuple[ToolSpec, ...]:
        """Return the functions that may be called; other kinds of tools (Codex offers some) are left out."""
        return tuple(
            tool_spec(inside.name, inside.description, inside.parameters, inside.strict, f"tools[{index}]")
            for index, tool in enumerate(self.tools or ())
            if tool.type in (None, "function")
            for inside in [tool.function or tool]
        )

    def _choice(self, tools: tuple[ToolSpec, ...]) -> tuple[CallChoice, str]:
        """Return whether a tool is called, and which one; empty for any."""
        value = self.tool_choice
        if value is None:
            return CallChoice.AUTO, ""
        if isinstance(value, str):
            if value not in {each.value for each in CallChoice}:
                refuse("tool_choice", '"auto", "none", "required" or one function')
            choice = CallChoice(value)
            if choice is CallChoice.REQUIRED and not tools:
                refuse("tool_choice", '"auto" or left out where there are no tools')
            return choice, tools[0].name if choice is CallChoice.REQUIRED and len(tools) == 1 else ""
        name = (value.function or value).name
        if name is None or name not in {tool.name for tool in tools}:
            refuse("tool_choice", "the name of one of the tools")
        return CallChoice.REQUIRED, name

    def _thinking(self) -> bool | None:
        """Return whether the model thinks, by the template's own switch or by the effort; None if neither is given."""
        if self.chat_template_kwargs is not None and self.chat_template_kwargs.enable_thinking is not None:
            return self.chat_template_kwargs.enable_thinking
        effort = (self.reasoning and self.reasoning.effort) or self.reasoning_effort
        return effort not in ("none", "minimal") if effort else None


class CallBody(Struct):
    """A call that the assistant made; its arguments are JSON text."""

    name: str
    arguments: str | dict[str, Any] | None = None


def call_of(name: str, arguments: str | dict[str, Any] | None, place: str) -> ToolCall:
    """Return a call that the assistant made. place: Of the arguments in the request."""
    if not isinstance(arguments, str):
        return ToolCall(name, arguments or {})
    try:
        found = parse_json(arguments, place) if arguments.strip() else {}
    except ValueError:
        # A call that could not be run is still part of the conversation.
        found = {"arguments": arguments}
    if not isinstance(found, dict):
        refuse(place, "a JSON object")
    return ToolCall(name, found)
