"""OpenAI's chat completions: `/v1/chat/completions`."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from laguna_engine.chat.messages import AssistantMessage, Role
from laguna_engine.llama.vocab import Vocab
from laguna_tui.backends.base import Message
from laguna_tui.server.api_error import ApiError
from laguna_tui.server.chat_answer import AnswerEnded, CallPiece, ChatAnswer, Progress, ReasoningPiece, TextPiece
from laguna_tui.server.chat_request import ChatRequest, Content, Limit, Logprobs, Stops, in_call_order, text_of
from laguna_tui.server.openai_shared import (
    DONE,
    FINGERPRINT,
    CallBody,
    ResponseFormat,
    ToolsBody,
    call_of,
    new_id,
    now,
    schema_of,
    sse,
    usage_of,
)
from laguna_tui.server.request_body import refuse
from laguna_tui.server.shown_tokens import ShownToken
from laguna_tui.session.shared_model import SharedModel

_ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}


class Call(Struct):
    """A call that an assistant made."""

    function: CallBody
    id: str | None = None


class OpenAIMessageParam(Struct, kw_only=True):
    """A message of a chat."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Content | UnsetType = UNSET
    tool_calls: list[Call] | None = None
    tool_call_id: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None

    def message(self, place: str) -> Message:
        """Return it as a prompt has it; ApiError if it is empty. place: Of the message in the request."""
        role, content, where = _ROLES[self.role], self.content, f"{place}.content"
        # OpenAI's library sends null for an answer without text, and for a tool that returned nothing.
        if content is None and role in (Role.SYSTEM, Role.USER):
            content = UNSET
        if role is not Role.ASSISTANT:
            if content is UNSET:
                refuse(where, "a string or a list of parts")
            return Message(role, (text_of(content, where),))
        if content is UNSET and not self.tool_calls:
            raise ApiError(400, "An assistant's message must have 'content' or 'tool_calls'.", param=where)
        text = text_of(None if content is UNSET else content, where, ("text", "refusal", "output_text"))
        calls = tuple(
            call_of(each.function.name, each.function.arguments, f"{place}.tool_calls[{index}].function.arguments")
            for index, each in enumerate(self.tool_calls or ())
        )
        thoughts = self.reasoning_content or self.reasoning or ""
        return Message(role, answer=AssistantMessage(text or self.refusal or "", thoughts, calls))


class ChatBody(ToolsBody, kw_only=True):
    """A request."""

    messages: Annotated[list[OpenAIMessageParam], Meta(min_length=1)]
    max_completion_tokens: Limit | None = None
    max_tokens: Limit | None = None
    n_predict: Limit | None = None
    stop: Stops = None
    logprobs: bool | None = None
    top_logprobs: Logprobs | None = None
    response_format: ResponseFormat | None = None
    json_schema: dict[str, Any] | None = None
    thinking_budget_tokens: Annotated[int, Meta(ge=0)] | None = None
    add_generation_prompt: bool | None = None
    continue_final_message: bool | None = None
    return_progress: bool | None = None


def parse(body: ChatBody, model: SharedModel) -> ChatRequest:
    """Return the chat to answer. ApiError if something is wrong with it."""
    limits = (body.max_completion_tokens, body.max_tokens, body.n_predict)
    options = body.options(model, next((each for each in limits if each is not None), None), body.stop)
    if body.top_logprobs is not None and not body.logprobs:
        refuse("top_logprobs", "given together with logprobs")
    # A last message from the assistant is always continued.
    if body.add_generation_prompt is (body.continue_final_message is True):
        refuse("add_generation_prompt", "true, or false together with continue_final_message")
    schema, place = schema_of(body.json_schema, body.response_format)
    sent = list(enumerate(body.messages))
    return body.request(
        [message.message(f"messages[{index}]") for index, message in in_call_order(sent, _calls, _answered)],
        replace(
            options,
            logprobs=body.top_logprobs or 0 if body.logprobs else None,
            progress=bool(body.return_progress),
        ),
        thinking_limit=body.thinking_budget_tokens,
        schema=schema,
        schema_place=place,
    )


def _calls(sent: tuple[int, OpenAIMessageParam]) -> list[str | None]:
    return [each.id for each in sent[1].tool_calls or ()]


def _answered(sent: tuple[int, OpenAIMessageParam]) -> str | None:
    return sent[1].tool_call_id


class ChatCompletion:
    """Writes one answer."""

    def __init__(self, request: ChatRequest, answer: ChatAnswer, model: SharedModel) -> None:
        self._options, self._answer, self._vocab = request.options, answer, model.engine.vocab
        self._id, self._created = new_id("chatcmpl-"), now()

    async def whole(self) -> dict[str, object]:
        """Return the answer in one object."""
        calls: list[dict[str, object]] = []
        shown: list[ShownToken] = []
        ended: AnswerEnded | None = None
        async for piece in self._answer.pieces():
            match piece:
                case TextPiece(tokens=tokens):
                    shown += tokens
                case CallPiece():
                    calls.append(_call(piece))
                case AnswerEnded():
                    ended = piece
                case _:
                    pass
        assert ended is not None, "every answer ends"
        answer = self._answer.message
        content = None if calls and not answer.text else answer.text
        message: dict[str, object] = {"role": "assistant", "content": content}
        if answer.reasoning:
            message |= _reasoning(answer.reasoning)
        if calls:
            message["tool_calls"] = calls
        choice: dict[str, object] = {"index": 0, "message": message, "finish_reason": ended.ending.value}
        choice["logprobs"] = self._logprobs(shown)
        body = self._head("chat.completion") | {"choices": [choice], "usage": usage_of(ended.usage)}
        return body | {"timings": ended.usage.timings}

    async def stream(self) -> AsyncIterator[bytes]:
        """Yield the answer as server-sent events."""
        yield self._chunk({"role": "assistant", "content": None})
        empty = True
        async for piece in self._answer.pieces():
            match piece:
                case Progress(done, total, cached) if self._options.progress:
                    progress = {"total": total, "cache": cached, "processed": done}
                    yield sse(self._head("chat.completion.chunk") | {"choices": [], "prompt_progress": progress})
                case ReasoningPiece(text):
                    yield self._chunk(_reasoning(text))
                case TextPiece(text, tokens):
                    empty = False
                    yield self._chunk({"content": text}, logprobs=self._logprobs(tokens))
                case CallPiece():
                    empty = False
                    for delta in _call_deltas(piece):
                        yield self._chunk({"tool_calls": [delta]})
                case AnswerEnded(ending, usage):
                    if empty:
                        # Without it, libraries that add up the deltas would get null.
                        yield self._chunk({"content": ""}, logprobs=self._logprobs(()))
                    timings = {} if self._options.usage else {"timings": usage.timings}
                    yield self._chunk({}, ending.value, **timings)
                    if self._options.usage:
                        body = self._head("chat.completion.chunk") | {"choices": [], "usage": usage_of(usage)}
                        yield sse(body | {"timings": usage.timings})
                case _:
                    pass
        yield DONE

    def _head(self, kind: str) -> dict[str, object]:
        own = {"id": self._id, "object": kind, "created": self._created, "model": self._options.model}
        return own | {"system_fingerprint": FINGERPRINT}

    def _chunk(
        self, delta: dict[str, object], finish: str | None = None, logprobs: object = None, **more: object
    ) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": finish}
        return sse(self._head("chat.completion.chunk") | {"choices": [choice]} | more)

    def _logprobs(self, tokens: Sequence[ShownToken]) -> dict[str, object] | None:
        if self._options.logprobs is None:
            return None
        return {"content": [noted(token, self._vocab) for token in tokens]}


def noted(entry: ShownToken, vocab: Vocab) -> dict[str, object]:
    """Return the logprob of a token, and of the most likely ones in its place."""
    logprobs = entry.token.logprobs
    assert logprobs is not None, "the request wants it"
    top = [_token(each, vocab.piece(each), chance) for each, chance in logprobs.top]
    return _token(entry.token.id, entry.shown, logprobs.chosen) | {"top_logprobs": top}


def _token(token: int, piece: bytes, logprob: float) -> dict[str, object]:
    return {"id": token, "token": piece.decode("utf-8", "replace"), "logprob": logprob, "bytes": list(piece)}


def _reasoning(text: str) -> dict[str, object]:
    """Return the reasoning under the name of SGLang and llama.cpp, and under vLLM's."""
    return {"reasoning_content": text, "reasoning": text}


def _call(piece: CallPiece) -> dict[str, object]:
    function = {"name": piece.call.name, "arguments": piece.arguments}
    return {"id": new_id("call_"), "type": "function", "function": function}


def _call_deltas(piece: CallPiece) -> Sequence[dict[str, object]]:
    """Return the call's ID and name, then its arguments, as clients put them together."""
    whole = _call(piece)
    name = {"name": piece.call.name, "arguments": ""}
    first = {"index": piece.index, "id": whole["id"], "type": "function", "function": name}
    return first, {"index": piece.index, "function": {"arguments": piece.arguments}}
