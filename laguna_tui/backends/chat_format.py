"""Messages in the format of OpenAI-compatible endpoints, and the pieces of their answers. Opens no connection."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from laguna_engine.chat.call_arguments import TOO_DEEP, too_deep
from laguna_engine.chat.messages import (
    AssistantMessage,
    CallFinished,
    Malformed,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolSpec,
)
from laguna_engine.events import FinishReason
from laguna_tui.backends.base import Message, Prompt
from laguna_tui.backends.spelled_calls import SpelledCalls

MAX_CALLS = 64
"""Calls in one answer; the agent runs eight of them at once."""
MAX_ARGUMENT_CHARS = 1 << 22
_SNIPPET = 120


@dataclass(frozen=True, slots=True)
class EndpointRequest:
    """One generation.

    Attributes:
        prompt: What the model reads.
        max_tokens: Token limit of the answer; None for the endpoint's own.
        thinking: Whether the model thinks first; None for the endpoint's default.
    """

    prompt: Prompt
    max_tokens: int | None = None
    thinking: bool | None = None


@dataclass(frozen=True, slots=True)
class EndpointUsage:
    """Token counts by the endpoint.

    Attributes:
        prompt: Those of the prompt.
        generated: Those of the answer, thinking and calls included.
        cached: Those of the prompt that were cached; None if it does not say.
    """

    prompt: int
    generated: int
    cached: int | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """The last event of every generation. usage: None if the endpoint does not count."""

    reason: FinishReason
    usage: EndpointUsage | None = None


ChatEvent = Reasoning | Text | CallFinished | Malformed | Answered


def request_body(request: EndpointRequest, model: str, sampling: Mapping[str, float]) -> dict[str, Any]:
    """Return the body of a streaming request. sampling: overrides the endpoint's, by the names of its API."""
    body: dict[str, Any] = {"model": model, "messages": list(messages_of(request.prompt)), **sampling}
    body |= {"stream": True, "stream_options": {"include_usage": True}}
    if request.prompt.tools:
        body["tools"] = [tool.as_openai() for tool in request.prompt.tools]
    if request.max_tokens is not None:
        body["max_tokens"] = request.max_tokens
    if request.thinking is not None:
        # vLLM, SGLang and llama.cpp pass it to the model's own template.
        body["chat_template_kwargs"] = {"enable_thinking": request.thinking}
    return body


def messages_of(prompt: Prompt) -> Iterator[dict[str, Any]]:
    """Yield the messages; two user messages in a row become one, as many templates require."""
    if prompt.system:
        yield {"role": "system", "content": prompt.system}
    number, pending, waiting = 0, list[str](), list[str]()
    for message in _paired(prompt.messages):
        if message.role is Role.TOOL and pending:
            yield {"role": "tool", "tool_call_id": pending.pop(0), "content": "".join(message.parts)}
        elif message.answer is not None:
            yield from _user_text(waiting)
            # Some templates demand nine letters and digits.
            ids = [f"call{number + index:05}" for index in range(1, len(message.answer.calls) + 1)]
            number, pending, waiting = number + len(ids), list(ids), []
            if any((message.answer.text, message.answer.reasoning, ids)):
                yield _assistant(message.answer, ids)
        else:
            waiting.append("".join(message.parts))
    yield from _user_text(waiting)


def _paired(messages: Sequence[Message]) -> Iterator[Message]:
    """Yield messages with each tool result behind its call; a malformed call's result becomes the user's."""
    pending: list[ToolCall | Malformed] = []
    late: list[Message] = []
    for each in messages:
        if each.role is Role.TOOL:
            # A message stored without its malformed calls still has their results.
            ran = not each.rejected or (bool(pending) and isinstance(pending[0], Malformed))
            if pending and ran and isinstance(pending.pop(0), ToolCall):
                yield each
            else:
                late.append(Message(Role.USER, each.parts))
            continue
        yield from late
        late.clear()
        if each.answer is not None:
            pending = list(each.calls or each.answer.calls)
        yield each
    yield from late


def _user_text(texts: Sequence[str]) -> Iterator[dict[str, Any]]:
    if texts:
        yield {"role": "user", "content": "\n\n".join(texts)}


def _assistant(answer: AssistantMessage, ids: Sequence[str]) -> dict[str, Any]:
    """Return the model's turn. Its thinking goes back under both names: vLLM reads one of them, SGLang the other."""
    # An empty text instead of null, which llama-cpp-python's server rejects.
    made: dict[str, Any] = {"role": "assistant", "content": answer.text}
    if answer.reasoning:
        made |= {"reasoning_content": answer.reasoning, "reasoning": answer.reasoning}
    if ids:
        made["tool_calls"] = [_call(call, each) for call, each in zip(answer.calls, ids, strict=True)]
    return made


def _call(call: ToolCall, call_id: str) -> dict[str, Any]:
    function = {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)}
    return {"id": call_id, "type": "function", "function": function}


# -- answers


class _FunctionPart(msgspec.Struct):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class _CallPart(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _FunctionPart | None = None


class _Delta(msgspec.Struct):
    content: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[_CallPart] | None = None


class _Choice(msgspec.Struct):
    delta: _Delta | None = None
    message: _Delta | None = None
    finish_reason: str | None = None


class _PromptDetails(msgspec.Struct):
    cached_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    prompt_tokens_details: _PromptDetails | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] = []
    usage: _Usage | None = None
    error: Any = None


_DECODER = msgspec.json.Decoder(_Chunk)


class GarbageError(ValueError):
    """What arrived is not part of an answer; the message quotes its beginning."""


class ReportedError(ValueError):
    """The endpoint reports an error inside a stream.

    Attributes:

        error: As received.
    """

    def __init__(self, error: Any) -> None:
        super().__init__("the endpoint reports an error")
        self.error = error


class _OpenCall:
    """A call whose pieces are still arriving."""

    def __init__(self) -> None:
        self.name = ""
        self.id = ""
        self.arguments: list[str] = []
        self.chars = 0
        self.given: dict[str, Any] | None = None

    def take(self, part: _CallPart) -> None:
        self.id = part.id or self.id
        if part.function is None:
            return
        self.name = self.name or (part.function.name or "")
        match part.function.arguments:
            case str(text):
                self.chars += len(text)
                if self.chars > MAX_ARGUMENT_CHARS:
                    raise GarbageError("a tool call without end")
                self.arguments.append(text)
            case dict(given):
                self.given = given

    def finished(self) -> CallFinished | Malformed:
        written = "".join(self.arguments)
        raw = f"{self.name} {written}".strip()
        if not self.name.strip():
            return Malformed(raw, "The tool call names no tool; make the whole call again.")
        try:
            arguments = self.given if self.given is not None else json.loads(written) if written.strip() else {}
        except (ValueError, RecursionError) as error:
            return Malformed(raw, f"The arguments of `{self.name}` are not valid JSON ({error}); make the call again.")
        if not isinstance(arguments, dict):
            return Malformed(raw, f"The arguments of `{self.name}` must be a JSON object; make the call again.")
        # They would be in every later request, which could not be encoded.
        if too_deep(arguments):
            return Malformed(raw, TOO_DEEP.format(name=self.name))
        return CallFinished(ToolCall(self.name.strip(), arguments))


_REASONS: Mapping[str, FinishReason] = {"length": FinishReason.MAX_TOKENS}


class AnswerReader:
    """Reads an answer piece by piece.

    Attributes:
        usage: Token counts; None until the endpoint reports them, or if it does not.
        ended: Why the answer ended; None until it has.
        begun: Whether any of it arrived.
    """

    def __init__(self, tools: Sequence[ToolSpec] = ()) -> None:
        """tools: The tools offered, whose calls may also come as text."""
        self.usage: EndpointUsage | None = None
        self.ended: FinishReason | None = None
        self.begun = False
        self._calls: list[_OpenCall] = []
        self._by_index: dict[int, _OpenCall] = {}
        self._spelled = SpelledCalls(tools)

    def take(self, data: bytes) -> Iterator[Reasoning | Text]:
        """Yield the text in one piece of JSON.

        Raises:
            GarbageError: It is not part of an answer.
            ReportedError: It is an error.
        """
        try:
            chunk = _DECODER.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise GarbageError(data[:_SNIPPET].decode("utf-8", "replace")) from error
        self.begun = True
        if chunk.error:
            raise ReportedError(chunk.error)
        if chunk.usage is not None:
            details = chunk.usage.prompt_tokens_details
            cached = details.cached_tokens if details is not None else None
            self.usage = EndpointUsage(max(0, chunk.usage.prompt_tokens), max(0, chunk.usage.completion_tokens), cached)
        for choice in chunk.choices[:1]:
            delta = choice.delta or choice.message
            if delta is not None:
                yield from self._delta(delta)
            if choice.finish_reason:
                self.ended = _REASONS.get(choice.finish_reason, FinishReason.STOP_TOKEN)

    def _delta(self, delta: _Delta) -> Iterator[Reasoning | Text]:
        # Some endpoints send it under both names.
        if thought := delta.reasoning_content or delta.reasoning:
            yield Reasoning(thought)
        if delta.content:
            yield from self._spelled.take(delta.content)
        for part in delta.tool_calls or ():
            self._open(part).take(part)

    def _open(self, part: _CallPart) -> _OpenCall:
        """Return the call that a piece belongs to: by index; without one, a piece with a name begins another call."""
        names_one = part.function is not None and bool(part.function.name)
        if part.index is not None:
            found = self._by_index.get(part.index)
            # Some endpoints give all calls of an answer the index 0 and different ids.
            if found is not None and not (names_one and part.id and found.id and part.id != found.id):
                return found
        elif self._calls and not names_one:
            return self._calls[-1]
        if len(self._calls) >= MAX_CALLS:
            raise GarbageError("more tool calls than an answer can have")
        self._calls.append(_OpenCall())
        if part.index is not None:
            self._by_index[part.index] = self._calls[-1]
        return self._calls[-1]

    def finish(self) -> Iterator[Text]:
        """Return the text that was held back, once nothing more comes."""
        return self._spelled.finish()

    def calls(self) -> list[CallFinished | Malformed]:
        """Return the calls of an answer that has ended; incomplete ones of a cut-off answer are left out."""
        finished = [*self._spelled.found, *(call.finished() for call in self._calls)]
        cut = self.ended is FinishReason.MAX_TOKENS
        return [each for each in finished if not (cut and isinstance(each, Malformed))]
