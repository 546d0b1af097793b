"""What generates: messages in, events out. `local` renders messages as tokens for the engine, `remote` sends them."""

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Protocol

from laguna_engine.chat.messages import (
    AssistantMessage,
    CallFinished,
    Malformed,
    ParserEvent,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolSpec,
)
from laguna_engine.config import DRAFTING, GREEDY, Drafting, Sampling
from laguna_engine.events import FinishReason, Source
from laguna_tui.base.events import AgentEvent, Rate, ReasoningDelta, TextDelta
from laguna_tui.base.messages import Trace

if TYPE_CHECKING:
    from laguna_engine.chat.call_constraint import ValueRules
    from laguna_engine.constrain.json_schema import JsonSchema

MAX_LOOPS_BROKEN = 2
"""A model that still loops after this many bans, each on another stretch, has nothing left to say."""
RATE_INTERVAL_S = 0.1
"""How often the decoding rate is reported: as often as a number on a screen can be read."""
RATE_WINDOW_S = 2.0
"""What the rate is measured over: one slow round does not make it jump, and it still follows a change."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Message:
    """One message of a prompt. The same object is rendered once, for all prompts that contain it.

    Attributes:
        role: A tool's result belongs to the first call before it that has none yet.
        parts: A user's opening, attachments and words, or a tool's text, as they are in the prompt now.
        answer: The model's; None for others. A call that cannot be run is part of its text.
        calls: An answer's calls in the order written, runnable or not.
        trace: How an answer was generated; its own backend continues from the same tokens.
        rejected: Whether a tool's text answers a call that could not be run.
    """

    role: Role
    parts: tuple[str, ...] = ()
    answer: AssistantMessage | None = None
    calls: tuple[ToolCall | Malformed, ...] = ()
    trace: Trace | None = None
    rejected: bool = False


@dataclass(frozen=True, slots=True)
class Prompt:
    """Everything a model reads before it answers.

    Attributes:
        system: The system prompt.
        tools: The tools offered, in the order the model reads them.
        messages: Oldest first.
        thinking: Whether the model thinks before it answers.
        day: When the conversation began: the date that a chat template shows, on later days too, because another one
            would change what was read before. None for today.
    """

    system: str
    tools: tuple[ToolSpec, ...] = ()
    messages: tuple[Message, ...] = ()
    thinking: bool = False
    day: date | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """How an answer is generated.

    Attributes:
        sampling: How tokens are sampled; a remote model has its own.
        max_tokens: Token limit of the answer; None for none.
        thinking_budget: Token limit of its thinking; None for none.
        drafting: How it is drafted.
        sources: Texts to copy drafts from, the latest last.
        schema: What the answer must be as JSON; None for any text.
        rules: Known values of call arguments (paths that exist, text that a file has); each holds every call.
        quotable: Texts that quotations in the answer must come from; empty for any.
        loops_broken: How often it continues after the model began to repeat itself; 0 stops it the first time.
        aside: Whether it is written beside the conversation: the model does not think, and a replay verifies the
            answer before it.
    """

    sampling: Sampling = GREEDY
    max_tokens: int | None = None
    thinking_budget: int | None = None
    drafting: Drafting = DRAFTING
    sources: tuple[str, ...] = ()
    schema: "JsonSchema | None" = None
    rules: "tuple[ValueRules, ...]" = ()
    quotable: tuple[str, ...] = ()
    loops_broken: int = MAX_LOOPS_BROKEN
    aside: bool = False


@dataclass(frozen=True, slots=True)
class PromptCost:
    """The cost of a prompt now.

    Attributes:
        sizes: Tokens of the system prompt with the tools, then of the parts of each message.
        new: Tokens to read, those that open the answer included.
        cached: Tokens in the KV cache; None if unknown.
        seconds: Until they are read; None before anything was measured.
        fits: Whether the prompt and one more token fit into the context.
        rewrites: How the chat template changes earlier messages, which are then read again; empty if it does not.
    """

    sizes: tuple[tuple[int, ...], ...]
    new: int
    cached: int | None
    seconds: float | None
    fits: bool
    rewrites: str = ""

    @property
    def size(self) -> int:
        """Tokens of the prompt, without those that open the answer."""
        return sum(map(sum, self.sizes))

    @property
    def total(self) -> int:
        """Tokens of the whole prompt, those that open the answer included."""
        return self.new + (self.cached or 0)


class DecodeRateMeter:
    """Counts tokens and reports the decoding rate of the last moments."""

    def __init__(self) -> None:
        self.tokens = 0
        self._samples: deque[tuple[float, int]] = deque()

    def count(self, now: float) -> float | None:
        """Count a token; return tokens per second if it is time to report them, else None."""
        self.tokens += 1
        if not self._samples:
            self._samples.append((now, self.tokens))
            return None
        if now - self._samples[-1][0] < RATE_INTERVAL_S:
            return None
        while len(self._samples) > 1 and now - self._samples[0][0] > RATE_WINDOW_S:
            self._samples.popleft()
        since, tokens = self._samples[0]
        self._samples.append((now, self.tokens))
        return (self.tokens - tokens) / (now - since)


class Answer(ABC, Iterator[AgentEvent]):
    """One generation: iterate for its events. It may be closed at any time; `message` is what came until then.

    Attributes:
        reason: Why it ended; CANCELLED until it has.
        repeating: Whether it was stopped because the model repeated itself.
        calls: The calls so far, in the order written, runnable or not.
    """

    def __init__(self) -> None:
        self.reason = FinishReason.CANCELLED
        self.repeating = False
        self.calls: list[ToolCall | Malformed] = []
        self._events: list[ParserEvent] = []
        self._pending: deque[AgentEvent] = deque()
        self._meter = DecodeRateMeter()

    def __next__(self) -> AgentEvent:
        """Wait for the next event; raises EngineError if the generation fails."""
        while not self._pending:
            self._advance()
        return self._pending.popleft()

    @property
    def has_text(self) -> bool:
        """Whether any text was written."""
        return any(isinstance(each, Text) and each.text.strip() for each in self._events)

    @property
    def message(self) -> Message:
        return answer_message(self._events, self._trace)

    @property
    def generated(self) -> Sequence[int] | None:
        """The tokens so far, which grow, and shrink when a loop is removed; None for a remote model."""
        return None

    @property
    def _trace(self) -> Trace | None:
        return None

    @abstractmethod
    def cancel(self) -> None:
        """End it soon; the events up to its end can still be read. Any thread."""

    def answer_now(self) -> bool:
        """End the thinking, so that the answer begins; return False where there is none or it cannot be. Any thread."""
        return False

    def close(self) -> None:
        """End it now, and read no more."""
        self.cancel()
        self._pending.clear()

    @abstractmethod
    def _advance(self) -> None:
        """Wait for what comes next, and put its events into `_pending`.

        Raises:
            StopIteration: Nothing more comes.
        """

    def _show(self, event: ParserEvent) -> None:
        """Put what a front end shows of the model's output into `_pending`, and its calls into `calls`."""
        match event:
            case Text(text):
                self._pending.extend(TextDelta(*part) for part in self._attributed(text))
            case Reasoning(text):
                self._pending.extend(ReasoningDelta(*part) for part in self._attributed(text))
            case CallFinished(call):
                self.calls.append(call)
            case Malformed():
                self.calls.append(event)
            case _:
                pass

    def _attributed(self, text: str) -> Iterable[tuple[str, Source]]:
        """Split a text by what proposed its parts."""
        return ((text, Source.TARGET),)

    def _count_token(self, context_used: int, *, in_call: bool = False) -> None:
        """Count a token, perhaps of a call, and report the decoding rate about ten times a second."""
        rate = self._meter.count(time.monotonic())
        if rate is not None:
            self._pending.append(Rate(self._meter.tokens, rate, context_used, in_call))


class Backend(Protocol):
    """Answers prompts.

    Its methods raise EngineError once it is closed.
    """

    @property
    def n_ctx(self) -> int:
        """Tokens of context."""
        ...

    def generate(self, prompt: Prompt, options: Options) -> Answer:
        """Begin an answer; it is generated while it is iterated over."""
        ...

    def cancel(self) -> None:
        """End what runs soon; harmless when nothing does. Any thread, and a signal handler."""
        ...

    def cost(self, prompt: Prompt) -> PromptCost:
        """Return what a prompt would cost now. Any thread; nothing is read or sent."""
        ...

    def count(self, text: str) -> int:
        """Return how many tokens a text has. Any thread."""
        ...

    def sizes(self, prompt: Prompt) -> tuple[tuple[int, ...], ...]:
        """Return the tokens of the system prompt with the tools, then of the parts of each message. Any thread."""
        ...

    def prefill_seconds(self, tokens: int) -> float | None:
        """Return the estimated time to read this many new tokens; None if unknown. Any thread."""
        ...

    def rendered(self, prompt: Prompt) -> tuple[tuple[str, ...], ...]:
        """Return the text of the system prompt with the tools, then of the parts of each message."""
        ...

    def prefetch(self, prompt: Prompt, options: Options) -> Iterator[object]:
        """Read all but the last part of the last message, while iterated over; `cancel` loses nothing.

        Raises:
            EngineError: It fails.
        """
        ...

    def recovered(self, prompt: Prompt, trace: Trace) -> Message:
        """Return the answer that was being generated when the app was killed, as far as `trace` has it."""
        ...


def answer_message(events: Iterable[ParserEvent], trace: Trace | None = None) -> Message:
    """Return the message that the events of an answer make up."""
    text, reasoning = list[str](), list[str]()
    calls = list[ToolCall | Malformed]()
    for event in events:
        match event:
            case Reasoning(part):
                reasoning.append(part)
            case Text(part):
                text.append(part)
            case CallFinished(call):
                calls.append(call)
            case Malformed(raw=raw):
                text.append(raw)
                calls.append(event)
            case _:
                pass
    runnable = tuple(call for call in calls if isinstance(call, ToolCall))
    answer = AssistantMessage("".join(text), "".join(reasoning), runnable)
    return Message(Role.ASSISTANT, answer=answer, calls=tuple(calls), trace=trace)
