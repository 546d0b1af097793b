"""One generation of the model: the engine's events become the agent's, and its tokens are kept for the transcript.

Deals in tokens and events. Changes no transcript: the conversation records the generation once it is over.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from laguna_engine.chat.messages import CallFinished, Malformed, ParserEvent, Reasoning, Text, ToolCall
from laguna_engine.chat.parser import StreamParser
from laguna_engine.config import DRAFTING, GREEDY, Drafting, Request, Sampling
from laguna_engine.constrain.base import ConstraintSpec, Continued
from laguna_engine.events import (
    CONSTRAINED,
    ConstraintFailed,
    DrafterFailed,
    Event,
    Finished,
    FinishReason,
    Prefill,
    Round,
    Source,
    Token,
)
from laguna_engine.sequence import Preview
from laguna_tui.agent.rendering import GenerationRecord, assistant_message, calls_of
from laguna_tui.agent.token_loop import Loop, find_loop
from laguna_tui.base.events import AgentEvent, DraftRound, Notice, Rate, ReasoningDelta, StepFinished, TextDelta

# Longer thinking was seen to go round in circles and to end no more, from about 10,000 tokens on.
_THINKING_BUDGET = 8192
# In a small context a thinking leaves room for its answer, and for the turns after it.
_THINKING_SHARE = 1 / 4


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """How answers are generated. `max_tokens` is per generation; None means until the context is full.

    `drafting` is how they are drafted; the files to copy from are added to it. `thinking_budget` is the most tokens of
    thinking in one generation, 0 for no limit; None means 8,192, and at most a quarter of the context. `max_steps` is
    how many generations a turn has at most; None means as many as are let through. `constraints` hold every answer.
    `constrain` is whether tool calls are held to what can run; None means as the model's profile wants.
    """

    sampling: Sampling = GREEDY
    thinking: bool = False
    max_tokens: int | None = None
    drafting: Drafting = DRAFTING
    thinking_budget: int | None = None
    max_steps: int | None = None
    constraints: tuple[ConstraintSpec, ...] = ()
    constrain: bool | None = None

    def thinking_limit(self, n_ctx: int) -> int | None:
        """Limit of thinking tokens in a context of `n_ctx`; None for no limit, or for a model that does not think."""
        if not self.thinking or self.thinking_budget == 0:
            return None
        return self.thinking_budget or min(_THINKING_BUDGET, int(n_ctx * _THINKING_SHARE))


class TokenEngine(Protocol):
    """Continues tokens. Faces and errors are those of `laguna_engine.engine.Engine`."""

    @property
    def n_ctx(self) -> int:
        """How many tokens the context holds."""
        ...

    def generate(self, request: Request) -> Iterator[Event]:
        """Events of one generation, ending with `Finished`."""
        ...

    def cancel(self) -> None:
        """End the running generation soon; harmless when none runs. Any thread."""
        ...

    def preview(self, tokens: Sequence[int]) -> Preview:
        """What a prompt would cost, and whether it fits."""
        ...


# A quarter of a small context, and never more than a long answer takes.
_RESERVE_SHARE, _RESERVE_MOST = 1 / 4, 8192


def answer_reserve(n_ctx: int) -> int:
    """Tokens of a context that must be free before the model generates."""
    return min(_RESERVE_MOST, int(n_ctx * _RESERVE_SHARE))


# As often as a number on a screen can be read.
INTERVAL_S = 0.1
# Long enough that one slow round does not make the number jump, short enough to follow a change.
WINDOW_S = 2.0


class DecodeRateMeter:
    """Counts tokens and reports the decoding rate from time to time."""

    def __init__(self) -> None:
        self.tokens = 0
        self._samples: deque[tuple[float, int]] = deque()

    def count(self, now: float) -> float | None:
        """Count one token; returns tokens per second if it is time to report them, else None."""
        self.tokens += 1
        if not self._samples:
            self._samples.append((now, self.tokens))
            return None
        if now - self._samples[-1][0] < INTERVAL_S:
            return None
        while len(self._samples) > 1 and now - self._samples[0][0] > WINDOW_S:
            self._samples.popleft()
        since, tokens = self._samples[0]
        self._samples.append((now, self.tokens))
        return (self.tokens - tokens) / (now - since)


class RoundReporter:
    """Holds a round back until its tokens have arrived. Text outside the answer (tool calls) counts as well."""

    def __init__(self) -> None:
        self._round: Round | None = None
        self._texts: list[str] = []

    def begin(self, new: Round) -> DraftRound | None:
        """A round begins; returns the one before it if unreported (it may commit fewer tokens at the very end)."""
        told = self.finish()
        self._round = new
        return told

    def take(self, token: Token) -> DraftRound | None:
        """A token of the round; returns the round if it was the last one."""
        if self._round is None:
            return None
        self._texts.append(token.text)
        return self.finish() if len(self._texts) > self._round.accepted else None

    def finish(self) -> DraftRound | None:
        """The round that is not reported yet, if there is one."""
        told, texts = self._round, self._texts
        self._round, self._texts = None, []
        if told is None:
            return None
        return DraftRound(told, "".join(texts[: told.accepted]), "".join(texts[told.accepted :]))


# How far ahead on the trail the next character is looked for: more than any tag that is left out.
_REACH = 32


class Attribution:
    """Which drafter proposed the text that the parser has not emitted yet."""

    def __init__(self) -> None:
        self._text = ""
        self._sources: list[Source] = []
        self._last = Source.TARGET

    def lay(self, text: str, source: Source) -> None:
        """A token with this text went into the parser."""
        self._text += text
        self._sources.extend([source] * len(text))
        self._last = source

    def clear(self) -> None:
        """The parser emitted what went in so far as something other than text."""
        self._text, self._sources = "", []

    def parts(self, text: str) -> list[tuple[str, Source]]:
        """A text that the parser emitted, split where the drafter changes."""
        if self._text == text and len(set(self._sources)) == 1:
            self.clear()
            return [(text, self._last)]
        parts: list[tuple[str, Source]] = []
        at = 0
        for letter in text:
            found = self._text.find(letter, at, at + _REACH)
            at = found + 1 if found >= 0 else at
            source = self._sources[found] if found >= 0 else self._last
            if parts and parts[-1][1] == source:
                parts[-1] = (parts[-1][0] + letter, source)
            else:
                parts.append((letter, source))
        self._text, self._sources = self._text[at:], self._sources[at:]
        return parts


# A model that loops after so many bans, each on another stretch, has nothing left to say.
MAX_LOOPS_BROKEN = 2
_LOOP_BROKEN = "The model began to repeat itself. The repetition was removed, and it continues."


class Generation:
    """Runs one request, and resumes it if the model falls into a loop.

    The repetition is then removed but for its first round, and the stretch is banned from starting again.

    Attributes:
        generated: the tokens of the turn so far, complete whenever iteration pauses.
        calls: tool calls in the order written, runnable or not.
        answered: whether any text of an answer was written.
        looping: whether it was stopped for repeating itself; the repetition is not part of `generated`.
        reason: why the generation ended; CANCELLED until it has.
        drafted: of every round, how many tokens were drafted and how many of them accepted.
        seed: of its sampling, once it has ended; None if nothing was sampled.
    """

    def __init__(
        self,
        engine: TokenEngine,
        open_parser: Callable[[], StreamParser],
        piece: Callable[[int], bytes],
        loops_broken: int = MAX_LOOPS_BROKEN,
    ) -> None:
        """Prepare; nothing is generated yet.

        Args:
            engine: what continues the tokens.
            open_parser: makes a parser for the turn.
            piece: the bytes of a token.
            loops_broken: how often it continues after a loop; 0 stops at the first.
        """
        self.generated: list[int] = []
        self.calls: list[ToolCall | Malformed] = []
        self.answered = False
        self.looping = False
        self.reason = FinishReason.CANCELLED
        self.drafted: list[tuple[int, int]] = []
        self.seed: int | None = None
        self._engine = engine
        self._open_parser = open_parser
        self._parser = open_parser()
        self._piece = piece
        self._loops_left = loops_broken
        self._loop: Loop | None = None
        self._begun = 0
        self._meter = DecodeRateMeter()
        self._trail = Attribution()
        self._rounds = RoundReporter()
        self._prompt = 0
        self._heard: list[ParserEvent] = []
        self._parsed = False
        self._request: Request | None = None

    def record(self, request: Request) -> GenerationRecord:
        """The generation, complete or partial; nothing more is accepted afterwards."""
        if not self._parsed:
            self._finish_parsing()
        request = self._request or request
        return GenerationRecord(
            request.tokens,
            tuple(self.generated[self._begun :]),
            request.sampling if self.seed is None else replace(request.sampling, seed=self.seed),
            assistant_message(self._heard),
            tuple(calls_of(self._heard)),
            tuple(self.drafted),
            tuple(self.generated[: self._begun]),
            request.thinking_budget,
            request.no_repeat,
            request.constraints,
        )

    def run(self, request: Request, cancelled: Callable[[], bool]) -> Iterator[AgentEvent]:
        """Generate, and yield the events. Ends early, but in order, once `cancelled` returns true."""
        self._prompt = len(request.tokens)
        asked = request
        try:
            while True:
                self._request = request
                for event in self._engine.generate(request):
                    if cancelled():
                        self._engine.cancel()
                    yield from self._events(event)
                if self._loop is None or self.looping or cancelled():
                    return
                self._loops_left -= 1
                yield Notice(_LOOP_BROKEN)
                request = self._after_loop(asked, (*request.no_repeat, self._loop.stretch))
        finally:
            # Harmless after the end; needed when nobody iterates any more.
            self._engine.cancel()

    def _after_loop(self, asked: Request, no_repeat: tuple[tuple[int, ...], ...]) -> Request:
        """How the turn continues after a loop was removed."""
        self._loop = None
        self._begun = len(self.generated)
        self.drafted.clear()
        return replace(
            asked,
            tokens=[*asked.tokens, *self.generated],
            sampling=asked.sampling if self.seed is None else replace(asked.sampling, seed=self.seed),
            max_tokens=None if asked.max_tokens is None else max(1, asked.max_tokens - self._begun),
            no_repeat=no_repeat,
            constraints=tuple(Continued(each, self._begun) for each in asked.constraints),
        )

    def _take_back(self, loop: Loop) -> None:
        """Parse the turn again, up to the end of the loop's first round. What was shown of the rest stays shown."""
        del self.generated[loop.ends :]
        self._parser, self._trail = self._open_parser(), Attribution()
        self._heard = [event for token in self.generated for event in self._parser.feed(token, self._piece(token))]
        self.calls = list(calls_of(self._heard))

    def _events(self, event: Event) -> Iterator[AgentEvent]:
        match event:
            case Prefill() | DrafterFailed():
                yield event
            case ConstraintFailed():
                yield Notice(event.sentence)
            case Round(drafted=drafted, accepted=accepted):
                self.drafted.append((drafted, accepted))
                yield from _reported(self._rounds.begin(event))
            case Token():
                yield from self._token(event)
                yield from _reported(self._rounds.take(event))
            case Finished():
                yield from self._finished(event)
            case _:
                pass

    def _token(self, token: Token) -> Iterator[AgentEvent]:
        if self._parser.ended:
            # The turn ended in a way that only the parser sees; nothing after it belongs to the conversation.
            self._engine.cancel()
            return
        if self._loop is not None:
            return
        self.generated.append(token.id)
        self._loop = find_loop(self.generated)
        if self._loop is not None:
            self.looping = not self._loops_left
            self._engine.cancel()
            self._take_back(self._loop)
            return
        held = token.constrained and token.source == Source.TARGET
        self._trail.lay(token.text, CONSTRAINED if held else token.source)
        events = self._parser.feed(token.id, self._piece(token.id))
        self._heard += events
        yield from self._said(events)
        speed = self._meter.count(time.monotonic())
        if speed is not None:
            yield Rate(self._meter.tokens, speed, self._prompt + len(self.generated))

    def _finished(self, event: Finished) -> Iterator[AgentEvent]:
        self.seed = event.stats.seed
        if self._loop is not None and not self.looping:
            yield from self._reported_step(event)
            return
        self.reason = FinishReason.STOP_TOKEN if self._parser.ended else event.reason
        whole = self.reason in (FinishReason.STOP_TOKEN, FinishReason.STOP_TEXT)
        last = self._finish_parsing()
        # A call that was cut off by a limit or by the user is nobody's mistake; one that goes round in a loop is.
        yield from self._said(
            last if whole or self.looping else [each for each in last if not isinstance(each, Malformed)]
        )
        yield from self._reported_step(event)

    def _reported_step(self, event: Finished) -> Iterator[AgentEvent]:
        yield from _reported(self._rounds.finish())
        yield StepFinished(event.stats, self._prompt + len(self.generated), self._engine.n_ctx)

    def _finish_parsing(self) -> Sequence[ParserEvent]:
        """What the parser held back."""
        self._parsed = True
        last = self._parser.finish()
        self._heard += last
        return last

    def _said(self, events: Sequence[ParserEvent]) -> Iterator[AgentEvent]:
        for event in events:
            match event:
                case Reasoning(text):
                    yield from (ReasoningDelta(*part) for part in self._trail.parts(text))
                case Text(text):
                    self.answered = self.answered or bool(text.strip())
                    yield from (TextDelta(*part) for part in self._trail.parts(text))
                case CallFinished(call):
                    self.calls.append(call)
                    self._trail.clear()
                case Malformed():
                    self.calls.append(event)
                    self._trail.clear()
                case _:
                    self._trail.clear()


def _reported(told: DraftRound | None) -> Iterator[DraftRound]:
    if told is not None:
        yield told
