"""Anthropic's messages: `/v1/messages` and `/v1/messages/count_tokens`."""

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from laguna_engine.chat.messages import AssistantMessage, ToolCall
from laguna_tui.server.chat_answer import AnswerEnded, CallPiece, ChatAnswer, Ending, ReasoningPiece, TextPiece, Usage
from laguna_tui.server.chat_request import CallChoice, ChatRequest, Said, Speaker, text_of, tool_spec, wanted_of
from laguna_tui.server.json_fields import Fields
from laguna_tui.server.openai_shared import new_id, sse
from laguna_tui.session.shared_model import SharedModel

_BILLING = "x-anthropic-billing-header"
"""Claude Code sends a block of the system prompt that begins so and is another one every time: kept, it would make the
KV cache useless."""
_REASONS = {Ending.STOP: "end_turn", Ending.LENGTH: "max_tokens", Ending.CALLS: "tool_use"}
_CHOICES = {"auto": CallChoice.AUTO, "none": CallChoice.NONE, "any": CallChoice.REQUIRED, "tool": CallChoice.REQUIRED}


def parse(fields: Fields, model: SharedModel, *, counting: bool = False) -> ChatRequest:
    """A request as the server understands it. counting: it is only counted, and needs no limit of tokens."""
    messages = fields.objects("messages")
    if not messages:
        fields.wrong("messages", "a list with at least one message")
    said = [*_system(fields), *(each for message in messages for each in _said(message))]
    wanted = wanted_of(fields, model.sampling, limits=("max_tokens",), stops="stop_sequences")
    if not counting and not fields.has("max_tokens"):
        fields.wrong("max_tokens", "given")
    tools = tuple(tool_spec(tool, "input_schema") for tool in fields.objects("tools") if tool.has("input_schema"))
    chosen = fields.inner("tool_choice")
    kind = chosen.text("type", "auto")
    if kind not in _CHOICES:
        chosen.wrong("type", f"one of {', '.join(_CHOICES)}")
    only = chosen.text("name") if kind == "tool" else ""
    if only and only not in {tool.name for tool in tools}:
        chosen.wrong("name", "the name of one of the tools")
    thinking = fields.inner("thinking")
    return ChatRequest(
        tuple(said),
        replace(wanted, usage=True),
        tools,
        _CHOICES[kind],
        only,
        one_call=chosen.flag("disable_parallel_tool_use"),
        thinking=thinking.text("type", "") != "disabled" if thinking.values else None,
        thinking_limit=thinking.whole("budget_tokens", 0),
    )


def _system(fields: Fields) -> list[Said]:
    value = fields.values.get("system")
    if value is None:
        return []
    if isinstance(value, str):
        return [Said(Speaker.SYSTEM, value)]
    texts = [block.text("text") for block in fields.objects("system")]
    return [Said(Speaker.SYSTEM, text) for text in texts if not text.startswith(_BILLING)]


def _said(message: Fields) -> list[Said]:
    role = message.text("role")
    content = message.values.get("content")
    if role not in ("user", "assistant", "system"):
        message.wrong("role", "user or assistant")
    if isinstance(content, str):
        speaker = Speaker(role)
        return [Said(speaker, answer=AssistantMessage(content))] if role == "assistant" else [Said(speaker, content)]
    blocks = message.objects("content")
    # An empty answer has no blocks in Anthropic's library.
    if not blocks and not (role == "assistant" and message.has("content")):
        message.wrong("content", "a string or a list of blocks")
    return [_answer(blocks)] if role == "assistant" else _users(blocks, Speaker(role))


def _users(blocks: Sequence[Fields], speaker: Speaker) -> list[Said]:
    """Results of tools, and what the user says, in the order of the blocks."""
    said: list[Said] = []
    for block in blocks:
        kind = block.text("type", "text")
        if kind == "tool_result":
            failed = "error: " if block.flag("is_error") else ""
            said.append(Said(Speaker.TOOL, failed + text_of(block, "content")))
        elif kind == "text":
            text = block.text("text", "")
            if said and said[-1].speaker is speaker:
                text = f"{said.pop().text}\n{text}"
            said.append(Said(speaker, text))
        else:
            block.wrong("type", f"text or tool_result: this model reads no '{kind}'")
    return said


def _answer(blocks: Sequence[Fields]) -> Said:
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[ToolCall] = []
    for block in blocks:
        match block.text("type", "text"):
            case "text":
                texts.append(block.text("text", ""))
            case "thinking":
                thoughts.append(block.text("thinking", ""))
            case "tool_use":
                calls.append(ToolCall(block.text("name"), dict(block.inner("input").values)))
            case _:
                # What was thought elsewhere and is sealed, or what another service's tool did.
                pass
    return Said(Speaker.ASSISTANT, answer=AssistantMessage("\n".join(texts), "\n".join(thoughts), tuple(calls)))


def _usage(usage: Usage) -> dict[str, object]:
    stats = usage.stats
    return {
        "input_tokens": stats.prompt_tokens - stats.cached_tokens,
        "cache_read_input_tokens": stats.cached_tokens,
        "cache_creation_input_tokens": 0,
        "output_tokens": stats.generated_tokens,
        "speculation": usage.speculation,
    }


def _end(ended: AnswerEnded) -> dict[str, object]:
    reason = "stop_sequence" if ended.stop else _REASONS[ended.ending]
    return {"stop_reason": reason, "stop_sequence": ended.stop or None}


class AnthropicMessage:
    """Writes one answer."""

    def __init__(self, answer: ChatAnswer, model: SharedModel, fields: Fields) -> None:
        self._answer = answer
        self._head: dict[str, object] = {
            "id": new_id("msg"),
            "type": "message",
            "role": "assistant",
            "model": fields.text("model", model.name),
        }

    async def whole(self) -> dict[str, object]:
        """The answer in one object."""
        calls: list[dict[str, object]] = []
        ended: AnswerEnded | None = None
        async for piece in self._answer.pieces():
            if isinstance(piece, CallPiece):
                calls.append(_call(piece) | {"input": piece.call.arguments})
            elif isinstance(piece, AnswerEnded):
                ended = piece
        assert ended is not None, "every answer ends"
        said = self._answer.said
        content: list[dict[str, object]] = []
        if said.reasoning:
            content.append({"type": "thinking", "thinking": said.reasoning, "signature": ""})
        if said.text or not calls:
            content.append({"type": "text", "text": said.text})
        return self._head | {"content": [*content, *calls], **_end(ended), "usage": _usage(ended.usage)}

    async def stream(self) -> AsyncIterator[bytes]:
        """The answer as server-sent events."""
        start = self._head | {"content": [], "stop_reason": None, "stop_sequence": None}
        start["usage"] = {"input_tokens": 0, "output_tokens": 0}
        yield _event("message_start", message=start)
        yield _event("ping")
        blocks = _Blocks()
        async for piece in self._answer.pieces():
            match piece:
                case ReasoningPiece(text):
                    for event in blocks.more("thinking", {"type": "thinking_delta", "thinking": text}):
                        yield event
                case TextPiece(text):
                    for event in blocks.more("text", {"type": "text_delta", "text": text}):
                        yield event
                case CallPiece():
                    for event in blocks.call(piece):
                        yield event
                case AnswerEnded():
                    for event in blocks.close():
                        yield event
                    yield _event("message_delta", delta=_end(piece), usage=_usage(piece.usage))
                    yield _event("message_stop")
                case _:
                    pass


_EMPTY: dict[str, dict[str, object]] = {
    "text": {"type": "text", "text": ""},
    "thinking": {"type": "thinking", "thinking": "", "signature": ""},
}


class _Blocks:
    """The blocks of a streamed answer: each is opened, continued and closed before the next."""

    def __init__(self) -> None:
        self._open = ""
        self._index = -1

    def more(self, kind: str, delta: dict[str, object]) -> list[bytes]:
        events = [] if self._open == kind else [*self.close(), self._begin(kind, _EMPTY[kind])]
        return [*events, _event("content_block_delta", index=self._index, delta=delta)]

    def call(self, piece: CallPiece) -> list[bytes]:
        opened = [*self.close(), self._begin("tool_use", _call(piece) | {"input": {}})]
        arguments = json.dumps(piece.call.arguments, ensure_ascii=False)
        delta = {"type": "input_json_delta", "partial_json": arguments}
        return [*opened, _event("content_block_delta", index=self._index, delta=delta), *self.close()]

    def close(self) -> list[bytes]:
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
    return {"type": "tool_use", "id": new_id("toolu"), "name": piece.call.name}


def _event(name: str, **fields: object) -> bytes:
    return sse({"type": name, **fields}, name)
