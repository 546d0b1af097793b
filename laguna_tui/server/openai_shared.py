"""What OpenAI's three APIs have alike: usage, tools, choices of tools, formats of answers."""

import json
import time
import uuid
from collections.abc import Mapping

from laguna_engine.chat.messages import ToolCall, ToolSpec
from laguna_tui import __version__
from laguna_tui.server.api_error import ApiError
from laguna_tui.server.chat_answer import Usage
from laguna_tui.server.chat_request import CallChoice, tool_spec
from laguna_tui.server.json_fields import Fields, parse_json

FINGERPRINT = f"laguna-tui-{__version__}"


def new_id(prefix: str) -> str:
    """A name that nothing else has."""
    return f"{prefix}-{uuid.uuid4().hex}"


def now() -> int:
    """Seconds since the epoch."""
    return int(time.time())


def sse(data: Mapping[str, object], event: str = "") -> bytes:
    """One server-sent event."""
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {json.dumps(data, ensure_ascii=False)}\n\n".encode("utf-8", "replace")


DONE = b"data: [DONE]\n\n"
"""The end of a stream."""


def usage_of(usage: Usage) -> dict[str, object]:
    """As chats and completions report it, with the drafts' figures beside."""
    stats = usage.stats
    return {
        "prompt_tokens": stats.prompt_tokens,
        "completion_tokens": stats.generated_tokens,
        "total_tokens": stats.prompt_tokens + stats.generated_tokens,
        "prompt_tokens_details": {"cached_tokens": stats.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
        "speculation": usage.speculation,
    }


def tools_of(fields: Fields) -> tuple[ToolSpec, ...]:
    """The functions that may be called; other kinds of tools (Codex offers some) are left out."""
    functions = (tool for tool in fields.objects("tools") if tool.text("type", "function") == "function")
    # Responses have the function's fields beside the type, chats inside "function".
    insides = (tool.inner("function") if tool.has("function") else tool for tool in functions)
    return tuple(tool_spec(inside, "parameters") for inside in insides)


def choice_of(fields: Fields, tools: tuple[ToolSpec, ...]) -> tuple[CallChoice, str]:
    """Whether a tool is called, and which one; empty for any."""
    value = fields.values.get("tool_choice")
    if value is None:
        return CallChoice.AUTO, ""
    if isinstance(value, str):
        if value not in {each.value for each in CallChoice}:
            fields.wrong("tool_choice", '"auto", "none", "required" or one function')
        choice = CallChoice(value)
        if choice is CallChoice.REQUIRED and not tools:
            fields.wrong("tool_choice", '"auto" or left out where there are no tools')
        return choice, tools[0].name if choice is CallChoice.REQUIRED and len(tools) == 1 else ""
    chosen = fields.inner("tool_choice")
    name = (chosen.inner("function") if chosen.has("function") else chosen).text("name")
    if name not in {tool.name for tool in tools}:
        fields.wrong("tool_choice", "the name of one of the tools")
    return CallChoice.REQUIRED, name


def schema_of(fields: Fields, name: str = "response_format") -> Mapping[str, object] | None:
    """The JSON schema that the answer has to match; None for free text."""
    wanted = fields.inner(name)
    kind = wanted.text("type", "text")
    if kind == "text":
        return None
    if kind == "json_object":
        return wanted.inner("schema").values or {"type": "object"}
    if kind != "json_schema":
        wanted.wrong("type", '"text", "json_object" or "json_schema"')
    # Responses have the schema beside the type, chats inside "json_schema".
    inside = wanted.inner("json_schema") if wanted.has("json_schema") else wanted
    schema = inside.inner("schema").values
    if not schema:
        inside.wrong("schema", "a JSON schema")
    return schema


def call_of(fields: Fields) -> ToolCall:
    """A call that an assistant made, from its name and its arguments as JSON text."""
    name = fields.text("name")
    raw = fields.values.get("arguments")
    if isinstance(raw, str):
        try:
            raw = parse_json(raw, fields.place("arguments")) if raw.strip() else {}
        except ValueError:
            # A call that could not be run is part of the conversation all the same.
            raw = {"arguments": raw}
    if raw is None:
        raw = {}
    if not isinstance(raw, dict):
        raise ApiError(400, f"'{fields.place('arguments')}' must be a JSON object.", param=fields.place("arguments"))
    return ToolCall(name, raw)


def thinking_of(fields: Fields) -> bool | None:
    """Whether the model is to think: by the template's own switch, or by the effort; None where nothing is said."""
    switch = fields.inner("chat_template_kwargs")
    if switch.has("enable_thinking"):
        return switch.flag("enable_thinking")
    effort = fields.inner("reasoning").text("effort", "") or fields.text("reasoning_effort", "")
    return effort not in ("none", "minimal") if effort else None
