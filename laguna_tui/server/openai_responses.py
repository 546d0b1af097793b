"""OpenAI's responses: `/v1/responses`. Nothing is stored, so a client sends the whole conversation, as Codex does."""

from collections.abc import AsyncIterator
from dataclasses import replace

from laguna_engine.chat.messages import AssistantMessage
from laguna_tui.server.chat_answer import (
    AnswerEnded,
    AnswerPiece,
    CallPiece,
    ChatAnswer,
    Ending,
    ReasoningPiece,
    TextPiece,
    Usage,
)
from laguna_tui.server.chat_request import ChatRequest, Said, Speaker, text_of, wanted_of
from laguna_tui.server.json_fields import Fields
from laguna_tui.server.openai_shared import call_of, choice_of, new_id, now, schema_of, sse, thinking_of, tools_of
from laguna_tui.session.shared_model import SharedModel

_TEXTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text", "refusal")
_SPEAKERS = {"system": Speaker.SYSTEM, "developer": Speaker.SYSTEM, "user": Speaker.USER}


def parse(fields: Fields, model: SharedModel) -> ChatRequest:
    """A request as the server understands it; ApiError says what is wrong with it."""
    if fields.has("previous_response_id"):
        fields.wrong("previous_response_id", "left out: this server stores nothing; send the whole input")
    said = [Said(Speaker.SYSTEM, fields.text("instructions"))] if fields.has("instructions") else []
    value = fields.values.get("input")
    if isinstance(value, str):
        said.append(Said(Speaker.USER, value))
    else:
        items = fields.objects("input")
        if not items:
            fields.wrong("input", "a string or a list with at least one item")
        said += _joined([each for item in items for each in _said(item)])
    tools = tools_of(fields)
    choice, only = choice_of(fields, tools)
    return ChatRequest(
        tuple(said),
        replace(wanted_of(fields, model.sampling, limits=("max_output_tokens",), stops="stop"), usage=True),
        tools,
        choice,
        only,
        one_call=not fields.flag("parallel_tool_calls", default=True),
        thinking=thinking_of(fields),
        schema=schema_of(fields.inner("text"), "format"),
    )


def _said(item: Fields) -> list[Said]:
    match item.text("type", "message"):
        case "message":
            role = item.text("role")
            text = text_of(item, "content", _TEXTS)
            if role == "assistant":
                return [Said(Speaker.ASSISTANT, answer=AssistantMessage(text))]
            if role not in _SPEAKERS:
                item.wrong("role", "user, assistant, system or developer")
            return [Said(_SPEAKERS[role], text)]
        case "reasoning":
            thoughts = text_of(item, "content", _TEXTS) or text_of(item, "summary", _TEXTS)
            return [Said(Speaker.ASSISTANT, answer=AssistantMessage(reasoning=thoughts))]
        case "function_call":
            return [Said(Speaker.ASSISTANT, answer=AssistantMessage(calls=(call_of(item),)))]
        case "function_call_output":
            return [Said(Speaker.TOOL, text_of(item, "output", _TEXTS))]
        case _:
            # What a tool of another service did.
            return []


def _joined(said: list[Said]) -> list[Said]:
    """The items of one turn of the assistant's as one message."""
    joined: list[Said] = []
    for each in said:
        last = joined[-1] if joined else None
        if last is None or not (each.speaker is last.speaker is Speaker.ASSISTANT):
            joined.append(each)
            continue
        texts = "\n".join(filter(None, (last.answer.text, each.answer.text)))
        thoughts = "\n".join(filter(None, (last.answer.reasoning, each.answer.reasoning)))
        answer = AssistantMessage(texts, thoughts, (*last.answer.calls, *each.answer.calls))
        joined[-1] = replace(last, answer=answer)
    return joined


def _usage(usage: Usage) -> dict[str, object]:
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
        self.id = new_id({"message": "msg", "reasoning": "rs"}[kind])

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
        "id": new_id("fc"),
        "type": "function_call",
        "status": "completed",
        "call_id": new_id("call"),
        "name": piece.call.name,
        "arguments": piece.arguments,
    }


class ModelResponse:
    """Writes one answer."""

    def __init__(self, answer: ChatAnswer, model: SharedModel, fields: Fields) -> None:
        self._answer = answer
        self._output: list[dict[str, object]] = []
        self._open: _Item | None = None
        self._number = 0
        self._body: dict[str, object] = {
            "id": new_id("resp"),
            "object": "response",
            "created_at": now(),
            "model": fields.text("model", model.name),
            "error": None,
            "incomplete_details": None,
            "instructions": fields.values.get("instructions"),
            "metadata": fields.values.get("metadata") or {},
            "parallel_tool_calls": fields.flag("parallel_tool_calls", default=True),
            "store": False,
            "temperature": fields.values.get("temperature"),
            "top_p": fields.values.get("top_p"),
            "tool_choice": fields.values.get("tool_choice") or "auto",
            "tools": list(fields.items("tools")),
            "text": {"format": {"type": "text"}},
        }

    async def whole(self) -> dict[str, object]:
        """The answer in one object."""
        body: dict[str, object] = {}
        async for piece in self._answer.pieces():
            self._take(piece)
            if isinstance(piece, AnswerEnded):
                body = self._ended(piece)
        return body

    async def stream(self) -> AsyncIterator[bytes]:
        """The answer as server-sent events."""
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
