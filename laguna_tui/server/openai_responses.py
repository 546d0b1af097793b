"""OpenAI's responses: `/v1/responses`. Nothing is stored: a client sends the whole conversation, as Codex does."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Annotated, Any

from msgspec import Meta, Struct

from laguna_engine.chat.messages import AssistantMessage, Role, ToolCall
from laguna_tui.backends.base import Message
from laguna_tui.server.chat_answer import (
    AnswerEnded,
    AnswerPiece,
    CallPiece,
    ChatAnswer,
    Ending,
    ReasoningPiece,
    TextPiece,
    TokenUsage,
)
from laguna_tui.server.chat_request import ChatRequest, Content, Limit, Stops, in_call_order, text_of
from laguna_tui.server.openai_shared import ResponseFormat, ToolsBody, call_of, new_id, now, sse
from laguna_tui.server.request_body import refuse
from laguna_tui.session.shared_model import SharedModel

_TEXTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text", "refusal")
_ROLES = {"system": Role.SYSTEM, "developer": Role.SYSTEM, "user": Role.USER}
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_ELSEWHERE = frozenset(
    {
        *("web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "computer_call"),
        *("mcp_list_tools", "mcp_call", "mcp_approval_request", "mcp_approval_response", "tool_search_call"),
    }
)
"""Items of what another service did on its own; the text of its answer has the result."""


class Item(Struct):
    """An item of the input."""

    type: str | None = None
    role: str | None = None
    content: Content = None
    summary: Content = None
    name: str | None = None
    call_id: str | None = None
    arguments: str | dict[str, Any] | None = None
    input: str | None = None
    output: Content = None

    def message(self, place: str) -> Message | None:
        """Return it as a prompt has it; None if the model reads nothing of it. place: Of the item in the request."""
        match self.type:
            case None | "message":
                text = text_of(self.content, f"{place}.content", _TEXTS)
                if self.role == "assistant":
                    return Message(Role.ASSISTANT, answer=AssistantMessage(text))
                if self.role not in _ROLES:
                    refuse(f"{place}.role", "user, assistant, system or developer")
                return Message(_ROLES[self.role], (text,))
            case "reasoning":
                thoughts = text_of(self.content, f"{place}.content", _TEXTS)
                thoughts = thoughts or text_of(self.summary, f"{place}.summary", _TEXTS)
                return Message(Role.ASSISTANT, answer=AssistantMessage(reasoning=thoughts))
            case "function_call" | "custom_tool_call":
                if not self.name:
                    refuse(f"{place}.name", "the name of a function")
                call = call_of(self.name, self.arguments, f"{place}.arguments")
                if self.type == "custom_tool_call":
                    call = ToolCall(self.name, {"input": self.input or ""})
                return Message(Role.ASSISTANT, answer=AssistantMessage(calls=(call,)))
            case each if each in _OUTPUTS:
                return Message(Role.TOOL, (text_of(self.output, f"{place}.output", _TEXTS),))
            case _ if self.type not in _ELSEWHERE:
                refuse(f"{place}.type", f"left out: this server stores nothing, and does not read '{self.type}'")
        return None


class TextBody(Struct):
    """The form of the answer's text."""

    format: ResponseFormat | None = None


class ResponsesBody(ToolsBody, kw_only=True):
    """A request."""

    input: str | Annotated[list[Item], Meta(min_length=1)]
    instructions: str | None = None
    max_output_tokens: Limit | None = None
    stop: Stops = None
    text: TextBody | None = None
    include: list[str] | None = None


def parse(body: ResponsesBody, model: SharedModel) -> ChatRequest:
    """Return the chat to answer. ApiError if something is wrong with it."""
    if "message.output_text.logprobs" in (body.include or ()):
        refuse("include", "without message.output_text.logprobs: this server gives them in chats and completions")
    messages = [Message(Role.SYSTEM, (body.instructions,))] if body.instructions is not None else []
    if isinstance(body.input, str):
        messages.append(Message(Role.USER, (body.input,)))
    else:
        sent = in_call_order(list(enumerate(body.input)), _calls, _answered)
        items = (item.message(f"input[{index}]") for index, item in sent)
        messages += _joined([each for each in items if each is not None])
    form = None if body.text is None else body.text.format
    return body.request(
        messages,
        replace(body.options(model, body.max_output_tokens, body.stop), usage=True),
        schema=None if form is None else form.schema_at("text.format"),
        schema_place="text.format",
    )


def _calls(sent: tuple[int, Item]) -> list[str | None]:
    return [] if sent[1].call_id is None else [sent[1].call_id]


def _answered(sent: tuple[int, Item]) -> str | None:
    return sent[1].call_id if sent[1].type in _OUTPUTS else None


def _joined(messages: list[Message]) -> list[Message]:
    """Return the messages, with those of one turn of the assistant as one."""
    joined: list[Message] = []
    for each in messages:
        before = joined[-1].answer if joined else None
        if before is None or each.answer is None:
            joined.append(each)
            continue
        text = "\n".join(filter(None, (before.text, each.answer.text)))
        reasoning = "\n".join(filter(None, (before.reasoning, each.answer.reasoning)))
        answer = AssistantMessage(text, reasoning, (*before.calls, *each.answer.calls))
        joined[-1] = Message(Role.ASSISTANT, answer=answer)
    return joined


def _usage(usage: TokenUsage) -> dict[str, object]:
    stats = usage.stats
    return {
        "input_tokens": stats.prompt_tokens,
        "input_tokens_details": {"cached_tokens": stats.cached_tokens},
        "output_tokens": stats.generated_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": stats.prompt_tokens + stats.generated_tokens,
        "speculation": usage.speculation,
    }


class _Item:
    """One item of the output, which grows."""

    def __init__(self, kind: str, index: int) -> None:
        self.kind, self.index, self.text = kind, index, ""
        self.id = new_id({"message": "msg_", "reasoning": "rs_"}[kind])

    def part(self) -> dict[str, object]:
        if self.kind == "reasoning":
            return {"type": "reasoning_text", "text": self.text}
        return {"type": "output_text", "text": self.text, "annotations": [], "logprobs": []}

    def item(self, status: str) -> dict[str, object]:
        content = [self.part()] if self.text or status == "completed" else []
        found: dict[str, object] = {"id": self.id, "type": self.kind, "status": status, "content": content}
        return found | self._own

    @property
    def _own(self) -> dict[str, object]:
        return {"summary": []} if self.kind == "reasoning" else {"role": "assistant"}

    @property
    def logprobs(self) -> dict[str, object]:
        return {} if self.kind == "reasoning" else {"logprobs": []}

    @property
    def delta(self) -> str:
        return "response.reasoning_text" if self.kind == "reasoning" else "response.output_text"


def _call_item(piece: CallPiece) -> dict[str, object]:
    return {
        "id": new_id("fc_"),
        "type": "function_call",
        "status": "completed",
        "call_id": new_id("call_"),
        "name": piece.call.name,
        "arguments": piece.arguments,
    }


class ModelResponse:
    """Writes one answer."""

    def __init__(self, request: ChatRequest, answer: ChatAnswer, values: Mapping[str, object]) -> None:
        """values: The request, of which a response repeats some fields."""
        self._answer = answer
        self._output: list[dict[str, object]] = []
        self._open: _Item | None = None
        self._number = 0
        self._body: dict[str, object] = {
            "id": new_id("resp_"),
            "object": "response",
            "created_at": now(),
            "model": request.options.model,
            "error": None,
            "incomplete_details": None,
            "instructions": values.get("instructions"),
            "metadata": values.get("metadata") or {},
            "parallel_tool_calls": not request.one_call,
            "store": False,
            "temperature": values.get("temperature"),
            "top_p": values.get("top_p"),
            "tool_choice": values.get("tool_choice") or "auto",
            "tools": values.get("tools") or [],
            "text": {"format": {"type": "text"}},
        }

    async def whole(self) -> dict[str, object]:
        """Return the answer in one object."""
        body: dict[str, object] = {}
        async for piece in self._answer.pieces():
            self._take(piece)
            if isinstance(piece, AnswerEnded):
                body = self._ended(piece)
        return body

    async def stream(self) -> AsyncIterator[bytes]:
        """Yield the answer as server-sent events."""
        begun = self._body | {"status": "in_progress", "output": [], "usage": None}
        yield self._event("response.created", response=begun)
        yield self._event("response.in_progress", response=begun)
        async for piece in self._answer.pieces():
            for event in self._take(piece):
                yield event
            if isinstance(piece, AnswerEnded):
                body = self._ended(piece)
                yield self._event(f"response.{body['status']}", response=body)

    def _take(self, piece: AnswerPiece) -> list[bytes]:
        match piece:
            case ReasoningPiece(text):
                return self._more("reasoning", text)
            case TextPiece(text):
                return self._more("message", text)
            case CallPiece():
                return [*self._close(), *self._call(piece)]
            case AnswerEnded():
                return self._close()
            case _:
                return []

    def _more(self, kind: str, text: str) -> list[bytes]:
        events: list[bytes] = []
        item = self._open
        if item is None or item.kind != kind:
            events = self._close()
            item = self._open = _Item(kind, len(self._output))
            events.append(
                self._event("response.output_item.added", output_index=item.index, item=item.item("in_progress"))
            )
            place = self._place(item)
            events.append(self._event("response.content_part.added", **place, part=item.part()))
        item.text += text
        events.append(self._event(f"{item.delta}.delta", **self._place(item), delta=text, **item.logprobs))
        return events

    def _close(self) -> list[bytes]:
        item, self._open = self._open, None
        if item is None:
            return []
        done = item.item("completed")
        self._output.append(done)
        place = self._place(item)
        return [
            self._event(f"{item.delta}.done", **place, text=item.text, **item.logprobs),
            self._event("response.content_part.done", **place, part=item.part()),
            self._event("response.output_item.done", output_index=item.index, item=done),
        ]

    def _call(self, piece: CallPiece) -> list[bytes]:
        item, index = _call_item(piece), len(self._output)
        self._output.append(item)
        place = {"item_id": item["id"], "output_index": index}
        begun = item | {"status": "in_progress", "arguments": ""}
        name = "response.function_call_arguments"
        return [
            self._event("response.output_item.added", output_index=index, item=begun),
            self._event(f"{name}.delta", **place, delta=piece.arguments),
            self._event(f"{name}.done", **place, arguments=piece.arguments, name=piece.call.name),
            self._event("response.output_item.done", output_index=index, item=item),
        ]

    def _ended(self, ended: AnswerEnded) -> dict[str, object]:
        cut = ended.ending is Ending.LENGTH
        return self._body | {
            "status": "incomplete" if cut else "completed",
            "completed_at": now(),
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "output": self._output,
            "usage": _usage(ended.usage),
        }

    def _place(self, item: _Item) -> dict[str, object]:
        return {"item_id": item.id, "output_index": item.index, "content_index": 0}

    def _event(self, kind: str, /, **fields: object) -> bytes:
        self._number += 1
        return sse({"type": kind, "sequence_number": self._number - 1, **fields}, kind)
