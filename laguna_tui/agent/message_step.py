"""One generation by a remote model; `generation.py` is its counterpart for a model in this process.

It sees no tokens: what is drafted, cached and drawn is known to the endpoint alone, so none of it is reported.
"""

import time
from collections.abc import Callable, Iterator
from typing import Protocol

from laguna_engine.chat.messages import CallFinished, Malformed, ParserEvent, Reasoning, Text, ToolCall
from laguna_engine.chat.transcript import Role
from laguna_engine.config import Request
from laguna_engine.events import FinishReason, Source, Stats
from laguna_tui.agent.conversation import Conversation
from laguna_tui.agent.generation import DecodeRateMeter, TokenEngine
from laguna_tui.agent.rendering import GenerationRecord, assistant_message, calls_of, user_texts
from laguna_tui.agent.token_loop import find_loop
from laguna_tui.backends.base import Answered, ChatEvent, ChatRequest, Message, MessageBackend
from laguna_tui.base.events import AgentEvent, Notice, Rate, ReasoningDelta, StepFinished, TextDelta
from laguna_tui.base.messages import REJECTED

Backend = TokenEngine | MessageBackend
"""Who generates."""

_AS_TEXT = ("<tool_call>", "<think>")
_NOT_PARSED = (
    "The endpoint sends {tag} as text, so it does not read this model's format; start it with the parsers for it: "
    "laguna-tui help remote"
)


class Step(Protocol):
    """One generation, as a turn goes through it; the members are `Generation`'s."""

    generated: list[int]
    calls: list[ToolCall | Malformed]
    answered: bool
    looping: bool
    reason: FinishReason

    def run(self, request: Request, cancelled: Callable[[], bool]) -> Iterator[AgentEvent]:
        """Generate, and yield what there is to show."""
        ...

    def record(self, request: Request) -> GenerationRecord:
        """What was made of the request."""
        ...


class MessageStep:
    """A `Step` of a model behind messages; use once."""

    def __init__(
        self, backend: MessageBackend, conversation: Conversation, last: Message | None = None, limit: int | None = None
    ) -> None:
        """Prepare; nothing is sent yet.

        Args:
            last: an instruction after the conversation that is not added to it; the model neither thinks nor calls.
            limit: token limit of the answer; None for no limit of its own.
        """
        self.generated: list[int] = []
        self.calls: list[ToolCall | Malformed] = []
        self.answered = False
        self.looping = False
        self.reason = FinishReason.CANCELLED
        self._backend, self._conversation = backend, conversation
        self._last, self._limit = last, limit
        self._heard: list[ParserEvent] = []
        self._meter = DecodeRateMeter()
        self._begun = self._first = 0.0
        self._pieces: list[int] = []
        self._text = ""

    def run(self, request: Request, cancelled: Callable[[], bool]) -> Iterator[AgentEvent]:
        """Generate, and yield what there is to show. RemoteError where the endpoint fails; what came is recorded."""
        self._begun = time.monotonic()
        asked = chat_request(self._conversation, self._last, self._limit)
        try:
            for event in self._backend.chat(asked):
                yield from self._events(event, len(request.tokens))
                if self.looping or cancelled():
                    self._backend.cancel()
                    return
        finally:
            self._backend.cancel()

    def record(self, request: Request) -> GenerationRecord:
        """What was said, complete or partial. It has no tokens."""
        calls = tuple(calls_of(self._heard))
        return GenerationRecord(request.tokens, (), request.sampling, assistant_message(self._heard), calls)

    def _events(self, event: ChatEvent, prompt: int) -> Iterator[AgentEvent]:
        self._first = self._first or time.monotonic()
        match event:
            case Reasoning(text):
                self._heard.append(event)
                yield ReasoningDelta(text, Source.TARGET)
                yield from self._counted(text, prompt)
            case Text(text):
                self._heard.append(event)
                self.answered = self.answered or bool(text.strip())
                yield TextDelta(text, Source.TARGET)
                yield from self._noticed(text)
                yield from self._counted(text, prompt)
            case CallFinished(call):
                self._heard.append(event)
                self.calls.append(call)
            case Malformed():
                self._heard.append(event)
                self.calls.append(event)
            case Answered():
                self.reason = event.reason
                yield self._finished(event, prompt)

    def _counted(self, text: str, prompt: int) -> Iterator[AgentEvent]:
        """Count the estimated tokens of this text, and stop a model that is in a loop."""
        for piece in self._backend.vocab.tokenize(text, special=False):
            self._pieces.append(piece)
            self.looping = self.looping or find_loop(self._pieces) is not None
            rate = self._meter.count(time.monotonic())
            if rate is not None:
                yield Rate(self._meter.tokens, rate, prompt + self._meter.tokens)

    def _noticed(self, text: str) -> Iterator[AgentEvent]:
        """Report once that a tag of the model's format came as text."""
        before, self._text = self._text, (self._text + text)[-2 * max(map(len, _AS_TEXT)) :]
        tag = next((tag for tag in _AS_TEXT if tag in before + text and tag not in before), "")
        if tag and not self.calls and self._last is None:
            yield Notice(_NOT_PARSED.format(tag=tag))

    def _finished(self, event: Answered, prompt: int) -> StepFinished:
        usage, now = event.usage, time.monotonic()
        tokens = (usage.prompt, usage.generated) if usage is not None else (prompt, self._meter.tokens)
        cached = usage.cached if usage is not None else None
        # When the endpoint began to read, nobody knows here: there is no rate of that.
        stats = Stats(tokens[0], min(cached or 0, tokens[0]), 0.0, tokens[1], now - self._first)
        return StepFinished(stats, sum(tokens), self._backend.n_ctx, cache_known=cached is not None)


def chat_request(conversation: Conversation, last: Message | None = None, limit: int | None = None) -> ChatRequest:
    """The request for the next part of a conversation. last, limit: as for `MessageStep`."""
    messages = list(_messages(conversation))
    profile = conversation.profile
    if last is not None:
        return ChatRequest(profile.system_prompt, [*messages, last], profile.specs, limit, thinking=False)
    return ChatRequest(profile.system_prompt, messages, profile.specs, limit)


def _messages(conversation: Conversation) -> Iterator[Message]:
    """What was said, each answer of a tool behind its call; the answer to a call that cannot be run is the user's."""
    pending: list[ToolCall | Malformed] = []
    late: list[Message] = []
    for each in conversation.items():
        if each.role is Role.TOOL:
            # Retold for another model, a call that cannot be run is text, and only its answer is left.
            ran = each.label != REJECTED or (bool(pending) and isinstance(pending[0], Malformed))
            if pending and ran and isinstance(pending.pop(0), ToolCall):
                yield Message(Role.TOOL, each.given)
            else:
                late.append(Message(Role.USER, each.given))
            continue
        yield from late
        late.clear()
        if each.answer is not None:
            pending = list(each.written_calls)
            yield Message(Role.ASSISTANT, answer=each.answer)
        else:
            yield Message(Role.USER, "".join(user_texts(each, conversation.profile)))
    yield from late
