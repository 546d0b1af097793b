"""One generation of the model: the engine's events become the agent's, and what was said is kept for the transcript.

Deals in tokens and events. Changes no transcript: the loop appends `generated` once the step is over.
"""

import time
from collections.abc import Callable, Iterator, Sequence

from laguna_engine.chat.messages import ToolCall
from laguna_engine.chat.parsed import CallFinished, Malformed, ParserEvent, Reasoning, Text
from laguna_engine.chat.toolcalls import StreamParser
from laguna_engine.events import DrafterFailed, Event, Finished, FinishReason, Prefill, Round, Token
from laguna_engine.request import Request
from laguna_tui.agent.loopguard import is_loop
from laguna_tui.agent.ports import Engine
from laguna_tui.agent.rate import RateMeter
from laguna_tui.agent.rounds import RoundTeller
from laguna_tui.agent.trail import Trail
from laguna_tui.events import AgentEvent, DraftRound, Rate, ReasoningDelta, StepFinished, TextDelta


class Step:
    """Runs one request.

    Attributes:
        generated: the tokens of the turn so far, complete whenever iteration pauses.
        calls: tool calls in the order written, runnable or not.
        answered: whether any text of an answer was written.
        looping: whether it was stopped for repeating itself.
        reason: why the generation ended; CANCELLED until it has.
        drafted: of every round, how many tokens were drafted and how many of them accepted.
        seed: what its draws began with, once it has ended; None when nothing was drawn.
    """

    def __init__(self, engine: Engine, parser: StreamParser, piece: Callable[[int], bytes]) -> None:
        self.generated: list[int] = []
        self.calls: list[ToolCall | Malformed] = []
        self.answered = False
        self.looping = False
        self.reason = FinishReason.CANCELLED
        self.drafted: list[tuple[int, int]] = []
        self.seed: int | None = None
        self._engine = engine
        self._parser = parser
        self._piece = piece
        self._meter = RateMeter()
        self._trail = Trail()
        self._rounds = RoundTeller()
        self._prompt = 0

    def run(self, request: Request, cancelled: Callable[[], bool]) -> Iterator[AgentEvent]:
        """Generate, and yield what there is to show. Ends early, but in order, once `cancelled` says so."""
        self._prompt = len(request.tokens)
        try:
            for event in self._engine.generate(request):
                if cancelled():
                    self._engine.cancel()
                yield from self._events(event)
        finally:
            # Harmless after the end; needed when nobody iterates any more.
            self._engine.cancel()

    def _events(self, event: Event) -> Iterator[AgentEvent]:
        match event:
            case Prefill() | DrafterFailed():
                yield event
            case Round(drafted=drafted, accepted=accepted):
                self.drafted.append((drafted, accepted))
                yield from _told(self._rounds.begin(event))
            case Token():
                yield from self._token(event)
                yield from _told(self._rounds.take(event))
            case Finished():
                yield from self._finished(event)
            case _:
                pass

    def _token(self, token: Token) -> Iterator[AgentEvent]:
        if self._parser.ended:
            # The turn ended in a way that only the parser sees; nothing after it belongs to the conversation.
            self._engine.cancel()
            return
        self.generated.append(token.id)
        self.looping = self.looping or is_loop(self.generated)
        if self.looping:
            self._engine.cancel()
            return
        self._trail.lay(token.text, token.source)
        yield from self._said(self._parser.feed(token.id, self._piece(token.id)))
        speed = self._meter.count(time.monotonic())
        if speed is not None:
            yield Rate(self._meter.tokens, speed, self._prompt + len(self.generated))

    def _finished(self, event: Finished) -> Iterator[AgentEvent]:
        self.seed = event.stats.seed
        self.reason = FinishReason.STOP_TOKEN if self._parser.ended else event.reason
        whole = self.reason in (FinishReason.STOP_TOKEN, FinishReason.STOP_TEXT)
        last = self._parser.finish()
        # A call that was cut off by a limit or by the user is nobody's mistake; one that goes round in a loop is.
        yield from self._said(
            last if whole or self.looping else [each for each in last if not isinstance(each, Malformed)]
        )
        yield from _told(self._rounds.finish())
        yield StepFinished(event.stats, self._prompt + len(self.generated), self._engine.n_ctx)

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


def _told(told: DraftRound | None) -> Iterator[DraftRound]:
    if told is not None:
        yield told
