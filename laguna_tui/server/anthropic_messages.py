"""Anthropic's messages: `/v1/messages` and `/v1/messages/count_tokens`."""

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from laguna_engine.chat.messages import AssistantMessage, Role, ToolCall
from laguna_tui.backends.base import Message
from laguna_tui.server.chat_answer import (
    AnswerEnded,
    CallPiece,
    ChatAnswer,
    Ending,
    Progress,
    ReasoningPiece,
    TextPiece,
    TokenUsage,
)
from laguna_tui.server.chat_request import (
    CallChoice,
    ChatRequest,
    Content,
    GenerationBody,
    Limit,
    Stops,
    in_call_order,
    text_of,
    tool_spec,
)
from laguna_tui.server.openai_shared import ResponseFormat, new_id, sse
from laguna_tui.server.request_body import refuse
from laguna_tui.session.shared_model import SharedModel

_BILLING = "x-anthropic-billing-header"
"""Claude Code sends a block of the system prompt that begins like this and changes every time, which would make the KV
cache useless."""
_REASONS = {Ending.STOP: "end_turn", Ending.LENGTH: "max_tokens", Ending.CALLS: "tool_use"}
_CHOICES = {"auto": CallChoice.AUTO, "none": CallChoice.NONE, "any": CallChoice.REQUIRED, "tool": CallChoice.REQUIRED}


class Block(Struct):
    """A block of a message."""

    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    id: str | None = None
    name: str | None = None
    input: dict[str, Any] | None = None
    tool_use_id: str | None = None
    content: Content = None
    is_error: bool | None = None

    def __post_init__(self) -> None:
        self.type = self.type or "text"


class AnthropicMessageParam(Struct):
    """A message of a chat."""

    role: Literal["user", "assistant", "system"]
    content: str | list[Block]

    @property
    def blocks(self) -> Sequence[Block]:
        """The blocks of its content."""
        return [Block(text=self.content)] if isinstance(self.content, str) else self.content

    def messages(self, place: str, before: Sequence[Block]) -> list[Message]:
        """Return it as a prompt has it; ApiError if it is empty.

        Args:
            place: Of the message in the request.
            before: The blocks of the message before.
        """
        if self.role == "assistant":
            return [_answer(self.blocks, place)]
        if isinstance(self.content, str):
            return [Message(Role(self.role), (self.content,))]
        # An answer may be empty; a question may not.
        if not self.content:
            refuse(f"{place}.content", "a string or a list of blocks")
        return _users(self.content, Role(self.role), place, before)


class AnthropicToolParam(Struct):
    """A tool; one without a schema is Anthropic's own, and left out."""

    name: str | None = None
    description: str | None = None
    input_schema: dict[str, Any] | None = None
    strict: bool | None = None


class ToolChoice(Struct):
    """Whether a tool is called."""

    type: Literal["auto", "none", "any", "tool"] | None = None
    name: str | None = None
    disable_parallel_tool_use: bool | None = None


class Thinking(Struct):
    """How much the model thinks."""

    type: str | None = None
    budget_tokens: Annotated[int, Meta(ge=0)] | None = None


class OutputConfig(Struct):
    """The form of the answer's text."""

    format: ResponseFormat | None = None


class MessagesBody(GenerationBody, kw_only=True):
    """A request."""

    messages: Annotated[list[AnthropicMessageParam], Meta(min_length=1)]
    system: str | list[Block] | None = None
    max_tokens: Limit | None = None
    stop_sequences: Stops = None
    tools: list[AnthropicToolParam] | None = None
    tool_choice: ToolChoice | None = None
    thinking: Thinking | None = None
    output_config: OutputConfig | None = None
    output_format: ResponseFormat | None = None


def parse(body: MessagesBody, model: SharedModel, *, counting: bool = False) -> ChatRequest:
    """Return the chat to answer. ApiError if something is wrong. counting: It is only counted, and needs no limit."""
    if not counting and body.max_tokens is None:
        refuse("max_tokens", "given")
    messages = (
        message.messages(f"messages[{index}]", body.messages[index - 1].blocks if index else ())
        for index, message in enumerate(body.messages)
    )
    tools = tuple(
        tool_spec(tool.name, tool.description, tool.input_schema, tool.strict, f"tools[{index}]")
        for index, tool in enumerate(body.tools or ())
        if tool.input_schema is not None
    )
    chosen = body.tool_choice or ToolChoice()
    only = (chosen.name or "") if chosen.type == "tool" else ""
    if chosen.type == "tool" and only not in {tool.name for tool in tools}:
        refuse("tool_choice.name", "the name of one of the tools")
    form, place = body.output_format, "output_format"
    if form is None and body.output_config is not None:
        form, place = body.output_config.format, "output_config.format"
    return ChatRequest(
        (*_system(body.system), *chain.from_iterable(messages)),
        replace(body.options(model, body.max_tokens, body.stop_sequences), usage=True),
        tools,
        _CHOICES[chosen.type or "auto"],
        only,
        one_call=bool(chosen.disable_parallel_tool_use),
        thinking=None if body.thinking is None else body.thinking.type != "disabled",
        thinking_limit=None if body.thinking is None else body.thinking.budget_tokens,
        schema=None if form is None else form.schema_at(place),
        schema_place=place,
    )


def _system(system: str | list[Block] | None) -> list[Message]:
    texts = [system] if isinstance(system, str) else [block.text or "" for block in system or ()]
    return [Message(Role.SYSTEM, (text,)) for text in texts if not text.startswith(_BILLING)]


def _users(blocks: Sequence[Block], role: Role, place: str, before: Sequence[Block]) -> list[Message]:
    """Return results of tools and the user's text, in the order of the blocks and of the calls in the turn before."""
    messages: list[Message] = []
    numbered = list(enumerate([*before, *blocks], -len(before)))
    for index, block in in_call_order(numbered, lambda sent: [sent[1].id], lambda sent: sent[1].tool_use_id):
        if index < 0:
            continue
        where = f"{place}.content[{index}]"
        if block.type == "tool_result":
            failed = "error: " if block.is_error else ""
            messages.append(Message(Role.TOOL, (failed + text_of(block.content, f"{where}.content"),)))
        elif block.type == "text":
            text = block.text or ""
            if messages and messages[-1].role is role:
                text = f"{messages.pop().parts[0]}\n{text}"
            messages.append(Message(role, (text,)))
        else:
            refuse(f"{where}.type", f"text or tool_result: this model does not read '{block.type}'")
    return messages


def _answer(blocks: Sequence[Block], place: str) -> Message:
    # Encrypted reasoning and tools of another service are in blocks of other types.
    texts = [block.text or "" for block in blocks if block.type == "text"]
    thoughts = [block.thinking or "" for block in blocks if block.type == "thinking"]
    calls: list[ToolCall] = []
    for index, block in enumerate(blocks):
        if block.type == "tool_use":
            if not block.name:
                refuse(f"{place}.content[{index}].name", "the name of a tool")
            calls.append(ToolCall(block.name, block.input or {}))
    return Message(Role.ASSISTANT, answer=AssistantMessage("\n".join(texts), "\n".join(thoughts), tuple(calls)))


def _usage(usage: TokenUsage) -> dict[str, object]:
    stats = usage.stats
    tokens = _input(stats.prompt_tokens, stats.cached_tokens)
    return {**tokens, "output_tokens": stats.generated_tokens, "speculation": usage.speculation}


def _input(prompt: int, cached: int) -> dict[str, object]:
    return {
        "input_tokens": prompt - cached,
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": 0,
    }


def _end(ended: AnswerEnded) -> dict[str, object]:
    reason = "stop_sequence" if ended.stop else _REASONS[ended.ending]
    return {"stop_reason": reason, "stop_sequence": ended.stop or None}


class AnthropicMessage:
    """Writes one answer."""

    def __init__(self, request: ChatRequest, answer: ChatAnswer) -> None:
        self._answer = answer
        self._head: dict[str, object] = {
            "id": new_id("msg_"),
            "type": "message",
            "role": "assistant",
            "model": request.options.model,
        }

    async def whole(self) -> dict[str, object]:
        """Return the answer in one object."""
        calls: list[dict[str, object]] = []
        ended: AnswerEnded | None = None
        async for piece in self._answer.pieces():
            if isinstance(piece, CallPiece):
                calls.append(_call(piece) | {"input": piece.call.arguments})
            elif isinstance(piece, AnswerEnded):
                ended = piece
        assert ended is not None, "every answer ends"
        answer = self._answer.message
        content: list[dict[str, object]] = []
        if answer.reasoning:
            content.append({"type": "thinking", "thinking": answer.reasoning, "signature": ""})
        if answer.text or not calls:
            content.append({"type": "text", "text": answer.text})
        return self._head | {"content": [*content, *calls], **_end(ended), "usage": _usage(ended.usage)}

    async def stream(self) -> AsyncIterator[bytes]:
        """Yield the answer as server-sent events."""
        begun = False
        blocks = _Blocks()
        async for piece in self._answer.pieces():
            if isinstance(piece, Progress):
                if not begun:
                    start = self._head | {"content": [], "stop_reason": None, "stop_sequence": None}
                    usage = {**_input(piece.total, piece.cached), "output_tokens": 0}
                    yield _event("message_start", message=start | {"usage": usage})
                    yield _event("ping")
                begun = True
                continue
            for event in blocks.more(piece):
                yield event
            if isinstance(piece, AnswerEnded):
                yield _event("message_delta", delta=_end(piece), usage=_usage(piece.usage))
                yield _event("message_stop")


_EMPTY: dict[str, dict[str, object]] = {
    "text": {"type": "text", "text": ""},
    "thinking": {"type": "thinking", "thinking": "", "signature": ""},
}


class _Blocks:
    """The blocks of a streamed answer: each is opened, continued and closed before the next."""

    def __init__(self) -> None:
        self._open = ""
        self._index = -1

    def more(self, piece: ReasoningPiece | TextPiece | CallPiece | AnswerEnded) -> list[bytes]:
        match piece:
            case ReasoningPiece(text):
                return self._delta("thinking", {"type": "thinking_delta", "thinking": text})
            case TextPiece(text):
                return self._delta("text", {"type": "text_delta", "text": text})
            case CallPiece():
                return self._call(piece)
            case AnswerEnded():
                return self._close()

    def _delta(self, kind: str, delta: dict[str, object]) -> list[bytes]:
        events = [] if self._open == kind else [*self._close(), self._begin(kind, _EMPTY[kind])]
        return [*events, _event("content_block_delta", index=self._index, delta=delta)]

    def _call(self, piece: CallPiece) -> list[bytes]:
        opened = [*self._close(), self._begin("tool_use", _call(piece) | {"input": {}})]
        arguments = json.dumps(piece.call.arguments, ensure_ascii=False)
        delta = {"type": "input_json_delta", "partial_json": arguments}
        return [*opened, _event("content_block_delta", index=self._index, delta=delta), *self._close()]

    def _close(self) -> list[bytes]:
        if not self._open:
            return []
        kind, self._open = self._open, ""
        sealed = {"type": "signature_delta", "signature": ""}
        last = [_event("content_block_delta", index=self._index, delta=sealed)] if kind == "thinking" else []
        return [*last, _event("content_block_stop", index=self._index)]

    def _begin(self, kind: str, block: dict[str, object]) -> bytes:
        self._open = kind
        self._index += 1
        return _event("content_block_start", index=self._index, content_block=block)


def _call(piece: CallPiece) -> dict[str, object]:
    return {"type": "tool_use", "id": new_id("toolu_"), "name": piece.call.name}


def _event(name: str, **fields: object) -> bytes:
    return sse({"type": name, **fields}, name)
