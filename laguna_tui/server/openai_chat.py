"""OpenAI's chat completions: `/v1/chat/completions`."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from laguna_engine.chat.messages import AssistantMessage
from laguna_engine.events import Token
from laguna_engine.llama.vocab import Vocab
from laguna_tui.server.api_error import ApiError
from laguna_tui.server.chat_answer import AnswerEnded, CallPiece, ChatAnswer, Progress, ReasoningPiece, TextPiece
from laguna_tui.server.chat_request import MAX_LOGPROBS, ChatRequest, Said, Speaker, text_of, wanted_of
from laguna_tui.server.json_fields import Fields
from laguna_tui.server.openai_shared import (
    DONE,
    FINGERPRINT,
    call_of,
    choice_of,
    new_id,
    now,
    schema_of,
    sse,
    thinking_of,
    tools_of,
    usage_of,
)
from laguna_tui.session.shared_model import SharedModel

_SPEAKERS = {
    "system": Speaker.SYSTEM,
    "developer": Speaker.SYSTEM,
    "user": Speaker.USER,
    "assistant": Speaker.ASSISTANT,
    "tool": Speaker.TOOL,
    "function": Speaker.TOOL,
}


def parse(fields: Fields, model: SharedModel) -> ChatRequest:
    """A request as the server understands it; ApiError says what is wrong with it."""
    said = messages_of(fields)
    tools = tools_of(fields)
    choice, only = choice_of(fields, tools)
    wanted = wanted_of(
        fields, model.sampling, limits=("max_completion_tokens", "max_tokens", "n_predict"), stops="stop"
    )
    if fields.flag("logprobs"):
        wanted = replace(wanted, logprobs=fields.whole("top_logprobs", 0, MAX_LOGPROBS) or 0)
    elif fields.has("top_logprobs"):
        fields.wrong("top_logprobs", "given together with logprobs")
    schema = fields.inner("json_schema").values if fields.has("json_schema") else schema_of(fields)
    if fields.has("grammar"):
        fields.wrong("grammar", "left out: this server takes JSON schemas, by response_format")
    budget = fields.whole("thinking_budget_tokens", 0)
    return ChatRequest(
        said,
        wanted,
        tools,
        choice,
        only,
        one_call=not fields.flag("parallel_tool_calls", default=True),
        thinking=thinking_of(fields),
        thinking_limit=budget,
        schema=schema,
    )


def messages_of(fields: Fields) -> tuple[Said, ...]:
    """The messages of a chat."""
    messages = fields.objects("messages")
    if not messages:
        fields.wrong("messages", "a list with at least one message")
    return tuple(map(_said, messages))


def _said(message: Fields) -> Said:
    role = message.text("role")
    speaker = _SPEAKERS.get(role)
    if speaker is None:
        message.wrong("role", f"one of {', '.join(_SPEAKERS)}")
    if speaker is not Speaker.ASSISTANT:
        # OpenAI's library has null for the content of a tool that returned nothing.
        if not message.has("content") and not (speaker is Speaker.TOOL and "content" in message.values):
            message.wrong("content", "a string or a list of parts")
        return Said(speaker, text_of(message, "content"))
    calls = tuple(call_of(_function(call)) for call in message.objects("tool_calls"))
    text = text_of(message, "content", ("text", "refusal", "output_text")) or message.text("refusal", "")
    # Null is how OpenAI's library writes an answer without text.
    if not calls and "content" not in message.values:
        raise ApiError(
            400, "An assistant's message must have 'content' or 'tool_calls'.", param=message.place("content")
        )
    reasoning = message.text("reasoning_content", "") or message.text("reasoning", "")
    return Said(speaker, answer=AssistantMessage(text, reasoning, calls))


def _function(call: Fields) -> Fields:
    if not call.has("function"):
        call.wrong("function", "an object with name and arguments")
    return call.inner("function")


class ChatCompletion:
    """Writes one answer."""

    def __init__(self, request: ChatRequest, answer: ChatAnswer, model: SharedModel, fields: Fields) -> None:
        self._request, self._answer, self._vocab = request, answer, model.engine.vocab
        self._id, self._created = new_id("chatcmpl"), now()
        self._model = fields.text("model", model.name)
        self._progress = fields.flag("return_progress")
        self._timings = fields.flag("timings_per_token")

    async def whole(self) -> dict[str, object]:
        """The answer in one object."""
        calls: list[dict[str, object]] = []
        noted: list[Token] = []
        ended: AnswerEnded | None = None
        async for piece in self._answer.pieces():
            match piece:
                case TextPiece(tokens=tokens):
                    noted += tokens
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
        choice["logprobs"] = self._logprobs(noted)
        body = self._head("chat.completion") | {"choices": [choice], "usage": usage_of(ended.usage)}
        return body | {"timings": ended.usage.timings}

    async def stream(self) -> AsyncIterator[bytes]:
        """The answer as server-sent events."""
        yield self._chunk({"role": "assistant", "content": None})
        empty = True
        async for piece in self._answer.pieces():
            match piece:
                case Progress(done, total, cached) if self._progress:
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
                        yield self._chunk({"content": ""})
                    timings = {} if self._request.wanted.usage else {"timings": usage.timings}
                    yield self._chunk({}, ending.value, **timings)
                    if self._request.wanted.usage:
                        body = self._head("chat.completion.chunk") | {"choices": [], "usage": usage_of(usage)}
                        yield sse(body | {"timings": usage.timings})
                case _:
                    pass
        yield DONE

    def _head(self, kind: str) -> dict[str, object]:
        own = {"id": self._id, "object": kind, "created": self._created, "model": self._model}
        return own | {"system_fingerprint": FINGERPRINT}

    def _chunk(
        self, delta: dict[str, object], finish: str | None = None, logprobs: object = None, **more: object
    ) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": finish}
        return sse(self._head("chat.completion.chunk") | {"choices": [choice]} | more)

    def _logprobs(self, tokens: Sequence[Token]) -> dict[str, object] | None:
        if self._request.wanted.logprobs is None:
            return None
        return {"content": [noted(token, self._vocab) for token in tokens]}


def noted(token: Token, vocab: Vocab) -> dict[str, object]:
    """How likely a token was, and the likeliest in its place."""
    assert token.logprobs is not None, "the request wants it"
    own = _token(token.id, token.logprobs.chosen, vocab)
    return own | {"top_logprobs": [_token(each, chance, vocab) for each, chance in token.logprobs.top]}


def _token(token: int, logprob: float, vocab: Vocab) -> dict[str, object]:
    piece = vocab.piece(token)
    return {"id": token, "token": piece.decode("utf-8", "replace"), "logprob": logprob, "bytes": list(piece)}


def _reasoning(text: str) -> dict[str, object]:
    """Under the names of SGLang and llama.cpp, and of vLLM."""
    return {"reasoning_content": text, "reasoning": text}


def _call(piece: CallPiece) -> dict[str, object]:
    function = {"name": piece.call.name, "arguments": piece.arguments}
    return {"id": new_id("call"), "type": "function", "function": function}


def _call_deltas(piece: CallPiece) -> Sequence[dict[str, object]]:
    """The call's name with its ID first, then its arguments, as clients put them together."""
    whole = _call(piece)
    name = {"name": piece.call.name, "arguments": ""}
    first = {"index": piece.index, "id": whole["id"], "type": "function", "function": name}
    return first, {"index": piece.index, "function": {"arguments": piece.arguments}}
