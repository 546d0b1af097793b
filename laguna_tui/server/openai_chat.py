"""OpenAI's chat completions: `/v1/chat/completions`."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from laguna_engine.chat.messages import AssistantMessage
from laguna_engine.llama.vocab import Vocab
from laguna_tui.server.api_error import ApiError
from laguna_tui.server.chat_answer import AnswerEnded, CallPiece, ChatAnswer, Progress, ReasoningPiece, TextPiece
from laguna_tui.server.chat_request import ChatRequest, Content, Limit, Logprobs, Said, Speaker, Stops, text_of
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

_SPEAKERS = {
    "system": Speaker.SYSTEM,
    "developer": Speaker.SYSTEM,
    "user": Speaker.USER,
    "assistant": Speaker.ASSISTANT,
    "tool": Speaker.TOOL,
    "function": Speaker.TOOL,
}


class Call(Struct):
    """A call that an assistant made."""

    function: CallBody


class Message(Struct, kw_only=True):
    """A message of a chat."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Content | UnsetType = UNSET
    tool_calls: list[Call] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None

    def said(self, place: str) -> Said:
        """Return what it says; ApiError if it says nothing. place: of the message in the request."""
        speaker, content, where = _SPEAKERS[self.role], self.content, f"{place}.content"
        # OpenAI's library has null for an answer without text, and for a tool that returned nothing.
        if content is None and speaker in (Speaker.SYSTEM, Speaker.USER):
            content = UNSET
        if speaker is not Speaker.ASSISTANT:
            if content is UNSET:
                refuse(where, "a string or a list of parts")
            return Said(speaker, text_of(content, where))
        if content is UNSET and not self.tool_calls:
            raise ApiError(400, "An assistant's message must have 'content' or 'tool_calls'.", param=where)
        text = text_of(None if content is UNSET else content, where, ("text", "refusal", "output_text"))
        calls = tuple(
            call_of(each.function.name, each.function.arguments, f"{place}.tool_calls[{index}].function.arguments")
            for index, each in enumerate(self.tool_calls or ())
        )
        thoughts = self.reasoning_content or self.reasoning or ""
        return Said(speaker, answer=AssistantMessage(text or self.refusal or "", thoughts, calls))


class ChatBody(ToolsBody, kw_only=True):
    """A request."""

    messages: Annotated[list[Message], Meta(min_length=1)]
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
    """Return the chat to answer; ApiError says what is wrong with it."""
    limits = (body.max_completion_tokens, body.max_tokens, body.n_predict)
    wanted = body.wanted(model, next((each for each in limits if each is not None), None), body.stop)
    if body.top_logprobs is not None and not body.logprobs:
        refuse("top_logprobs", "given together with logprobs")
    # A last message of the assistant's is continued in any case.
    if body.add_generation_prompt is (body.continue_final_message is True):
        refuse("add_generation_prompt", "true, or false together with continue_final_message")
    schema, place = schema_of(body.json_schema, body.response_format)
    return body.request(
        [message.said(f"messages[{index}]") for index, message in enumerate(body.messages)],
        replace(
            wanted,
            logprobs=body.top_logprobs or 0 if body.logprobs else None,
            progress=bool(body.return_progress),
        ),
        thinking_limit=body.thinking_budget_tokens,
        schema=schema,
        schema_place=place,
    )


class ChatCompletion:
    """Writes one answer."""

    def __init__(self, request: ChatRequest, answer: ChatAnswer, model: SharedModel) -> None:
        self._wanted, self._answer, self._vocab = request.wanted, answer, model.engine.vocab
        self._id, self._created = new_id("chatcmpl-"), now()

    async def whole(self) -> dict[str, object]:
        """The answer in one object."""
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
        said = self._answer.said
        message: dict[str, object] = {"role": "assistant", "content": None if calls and not said.text else said.text}
        if said.reasoning:
            message |= _reasoning(said.reasoning)
        if calls:
            message["tool_calls"] = calls
        choice: dict[str, object] = {"index": 0, "message": message, "finish_reason": ended.ending.value}
        choice["logprobs"] = self._logprobs(shown)
        body = self._head("chat.completion") | {"choices": [choice], "usage": usage_of(ended.usage)}
        return body | {"timings": ended.usage.timings}

    async def stream(self) -> AsyncIterator[bytes]:
        """The answer as server-sent events."""
        yield self._chunk({"role": "assistant", "content": None})
        empty = True
        async for piece in self._answer.pieces():
            match piece:
                case Progress(done, total, cached) if self._wanted.progress:
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
                        # Else libraries that add up the deltas would have null.
                        yield self._chunk({"content": ""}, logprobs=self._logprobs(()))
                    timings = {} if self._wanted.usage else {"timings": usage.timings}
                    yield self._chunk({}, ending.value, **timings)
                    if self._wanted.usage:
                        body = self._head("chat.completion.chunk") | {"choices": [], "usage": usage_of(usage)}
                        yield sse(body | {"timings": usage.timings})
                case _:
                    pass
        yield DONE

    def _head(self, kind: str) -> dict[str, object]:
        own = {"id": self._id, "object": kind, "created": self._created, "model": self._wanted.model}
        return own | {"system_fingerprint": FINGERPRINT}

    def _chunk(
        self, delta: dict[str, object], finish: str | None = None, logprobs: object = None, **more: object
    ) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": finish}
        return sse(self._head("chat.completion.chunk") | {"choices": [choice]} | more)

    def _logprobs(self, tokens: Sequence[ShownToken]) -> dict[str, object] | None:
        if self._wanted.logprobs is None:
            return None
        return {"content": [noted(token, self._vocab) for token in tokens]}


def noted(entry: ShownToken, vocab: Vocab) -> dict[str, object]:
    """How likely a token was, and the likeliest in its place."""
    logprobs = entry.token.logprobs
    assert logprobs is not None, "the request wants it"
    top = [_token(each, vocab.piece(each), chance) for each, chance in logprobs.top]
    return _token(entry.token.id, entry.shown, logprobs.chosen) | {"top_logprobs": top}


def _token(token: int, piece: bytes, logprob: float) -> dict[str, object]:
    return {"id": token, "token": piece.decode("utf-8", "replace"), "logprob": logprob, "bytes": list(piece)}


def _reasoning(text: str) -> dict[str, object]:
    """Under the names of SGLang and llama.cpp, and of vLLM."""
    return {"reasoning_content": text, "reasoning": text}


def _call(piece: CallPiece) -> dict[str, object]:
    function = {"name": piece.call.name, "arguments": piece.arguments}
    return {"id": new_id("call_"), "type": "function", "function": function}


def _call_deltas(piece: CallPiece) -> Sequence[dict[str, object]]:
    """The call's name with its ID first, then its arguments, as clients put them together."""
    whole = _call(piece)
    name = {"name": piece.call.name, "arguments": ""}
    first = {"index": piece.index, "id": whole["id"], "type": "function", "function": name}
    return first, {"index": piece.index, "function": {"arguments": piece.arguments}}
