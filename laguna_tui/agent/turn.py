"""One turn: generations and tool rounds, from a message that was just added to the answer or a reason why not.

However a turn ends (also by an error, or because nobody iterates any more), the conversation is left whole: the
model's turn is closed and every call in it has an answer.
"""

import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace

from laguna_engine.chat.messages import AssistantMessage, Malformed, ToolCall
from laguna_engine.config import Request
from laguna_engine.events import FinishReason
from laguna_tui.agent.conversation import Conversation
from laguna_tui.agent.generation import AgentOptions, Generation, TokenEngine
from laguna_tui.agent.loop_guard import LoopGuard
from laguna_tui.agent.messages import call_title
from laguna_tui.agent.tools.base.guard import CheckedAnswer
from laguna_tui.agent.tools.base.results import ANSWER_ROOM, ToolResult, failure, fitted
from laguna_tui.agent.tools.registry import Toolbox
from laguna_tui.base.events import (
    AgentEvent,
    AnswerCorrected,
    CallRejected,
    EditDone,
    EditProposed,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnEnd,
    TurnFinished,
)

# A question about code that needs more rounds than this has gone astray.
MAX_STEPS = 25
# A model that writes this many calls in a row that cannot be run does not recover.
MAX_REJECTED = 3
# A model that writes more calls than this at once is looping.
MAX_CALLS_A_STEP = 8

_NUDGE = "You wrote no answer. Answer now, or call a tool."
_NOT_RUN = "error: the tool did not run, because the turn was stopped"
_REFUSED = "the call was refused; the answer says why"
_TOO_MANY = f"only {MAX_CALLS_A_STEP} calls are run at once; make this one in the next turn"


@dataclass(frozen=True, slots=True)
class TurnParts:
    """What a turn works with. `cancelled` may be set from any thread."""

    engine: TokenEngine
    toolbox: Toolbox
    conversation: Conversation
    options: AgentOptions
    cancelled: Callable[[], bool]


class Turn:
    """Runs one turn; use once."""

    def __init__(self, parts: TurnParts) -> None:
        self._parts = parts
        self._conversation = parts.conversation
        self._loops = LoopGuard()
        self._guard = parts.toolbox.guard(*parts.conversation.asked())
        self._rejected = 0
        self._refused = ""
        self._nudged = False
        self._unanswered: list[ToolCall | Malformed] = []
        self._made: list[EditDone] = []
        self._waited = 0.0

    def run(self) -> Iterator[AgentEvent]:
        """Everything from the first generation to `TurnFinished`."""
        try:
            end = yield from self._steps()
        finally:
            self._answer_the_rest()
        yield TurnFinished(end)

    def _steps(self) -> Generator[AgentEvent, None, TurnEnd]:
        for _ in range(MAX_STEPS):
            end = yield from self._step()
            if end is TurnEnd.EMPTY_ANSWER and not self._nudged:
                self._nudged = True
                self._conversation.add_reminder(_NUDGE)
            elif end is not None:
                return end
            end = yield from self._answer_calls()
            if end is not None:
                return end
            if self._refused:
                self._conversation.add_answer(self._refused)
                yield TextDelta(self._refused)
                return TurnEnd.ANSWERED
        return TurnEnd.TOO_MANY_STEPS

    def _step(self) -> Generator[AgentEvent, None, TurnEnd | None]:
        """One generation; how it ends the turn, or None when there are calls to answer."""
        if self._parts.cancelled():
            return TurnEnd.CANCELLED
        parser = self._conversation.open_turn()
        step = Generation(self._parts.engine, parser, self._conversation.piece)
        answer = CheckedAnswer(self._guard.expected)
        request = self._request()
        try:
            for event in step.run(request, lambda: answer.over or self._parts.cancelled()):
                if not isinstance(event, TextDelta):
                    yield event
                elif step.calls and self._guard.calls_come_last:
                    answer.end()
                elif text := answer.feed(event.text):
                    yield replace(event, text=text)
        finally:
            self._conversation.record(step.record(request))
            self._unanswered = list(step.calls)
        return (yield from self._correct(answer, self._end_of(step, answer)))

    def _end_of(self, step: Generation, answer: CheckedAnswer) -> TurnEnd | None:
        """How a generation ends the turn; None when it asks for tools, if only before it lost its way."""
        stopped = answer.over and not answer.wrong
        if not self._parts.cancelled() and (stopped or (step.looping and any(map(self._meant, step.calls)))):
            return None
        return _end_of(step)

    def _correct(self, answer: CheckedAnswer, end: TurnEnd | None) -> Generator[AgentEvent, None, TurnEnd | None]:
        """Say what is right where the model said something else; how that ends the turn."""
        ended = end in (TurnEnd.ANSWERED, TurnEnd.EMPTY_ANSWER) or (answer.wrong and not self._parts.cancelled())
        if not ended or answer.corrected is None:
            return end
        self._unanswered.clear()
        self._conversation.correct_turn(AssistantMessage(answer.corrected))
        if rest := answer.correction():
            yield TextDelta(rest)
        yield AnswerCorrected(answer.said)
        return TurnEnd.ANSWERED

    def _request(self) -> Request:
        options = self._parts.options
        return Request(
            self._conversation.tokens,
            sampling=options.sampling,
            stop_tokens=self._conversation.stop_tokens,
            max_tokens=options.max_tokens,
            drafting=replace(options.drafting, files=self._conversation.files.tokens),
        )

    def _answer_calls(self) -> Generator[AgentEvent, None, TurnEnd | None]:
        """Answer the calls in the order they were written; how that ends the turn, or None to go on."""
        done = 0
        while self._unanswered and not self._parts.cancelled():
            written = self._unanswered[0]
            call = self._meant(written)
            if isinstance(written, Malformed) and call is None:
                yield self._reject(written)
            elif call is not None:
                if call != written and not done and len(self._unanswered) == 1:
                    self._conversation.correct_turn(AssistantMessage(calls=(call,)))
                yield from self._run(call, too_many=done >= MAX_CALLS_A_STEP)
            done += 1
        if self._parts.cancelled():
            return TurnEnd.CANCELLED
        return TurnEnd.MALFORMED_CALL if self._rejected >= MAX_REJECTED else None

    def _meant(self, call: ToolCall | Malformed) -> ToolCall | None:
        """The call as it is run; None where it cannot be."""
        return self._guard.mended(call) if isinstance(call, Malformed) else self._guard.resolved(call)

    def _reject(self, call: Malformed) -> CallRejected:
        self._rejected += 1
        self._answer(f"error: {call.problem}", "rejected call")
        return CallRejected(call.raw, call.problem)

    def _run(self, call: ToolCall, *, too_many: bool) -> Iterator[AgentEvent]:
        call_id = self._conversation.next_call_id()
        yield ToolStarted(call_id, call.name, call.arguments)
        self._rejected = 0
        begun = time.perf_counter()
        self._waited = 0.0
        self._made.clear()
        objection = _TOO_MANY if too_many else self._loops.objection(call) or self._refusal(self._guard.refusal(call))
        result = failure(objection) if objection else (yield from self._result(call))
        if not objection:
            self._loops.record(call, result.output, edited=bool(self._made))
        self._guard.take(call, result)
        self._answer(result.output, call_title(call))
        # Not told before: whoever stops listening here must not leave a conversation that knows nothing of the edit.
        yield from self._made
        seconds = time.perf_counter() - begun - self._waited
        yield ToolFinished(call_id, call.name, result.output, result.ok, seconds, result.full_output)

    def _refusal(self, sentence: str) -> str:
        """What the tool says of a call that is not let through; why it is not is then the answer."""
        self._refused = sentence or self._refused
        return _REFUSED if sentence else ""

    def _result(self, call: ToolCall) -> Generator[AgentEvent, None, ToolResult]:
        """What the tool says, cut to the room there is."""
        toolbox, conversation = self._parts.toolbox, self._conversation
        result = yield from self._told(call, toolbox.steps(call.name, call.arguments, self._parts.cancelled))
        conversation.remember(result.excerpt)
        room = self._parts.engine.n_ctx - len(conversation.tokens) - ANSWER_ROOM
        output = fitted(result.output, conversation.result_size, room)
        if output == result.output:
            return result
        return ToolResult(output, result.ok, result.full_output or toolbox.keep(result.output))

    def _told(
        self, call: ToolCall, steps: Generator[EditProposed | EditDone, None, ToolResult]
    ) -> Generator[AgentEvent, None, ToolResult]:
        """What a tool tells while it works; what it has made is put aside, and time that the user takes is counted."""
        asked = False
        while True:
            begun = time.perf_counter()
            try:
                event = next(steps)
            except StopIteration as stop:
                result: ToolResult = stop.value
                return result
            finally:
                self._waited += asked * (time.perf_counter() - begun)
            if isinstance(event, EditDone):
                asked = False
                self._made.append(event)
                continue
            if objection := self._refusal(self._guard.objection(call, event.proposal)):
                steps.close()
                return failure(objection)
            asked = event.asks
            yield event

    def _answer(self, text: str, label: str) -> None:
        self._conversation.add_result(text, label)
        self._unanswered.pop(0)

    def _answer_the_rest(self) -> None:
        while self._unanswered:
            self._answer(_NOT_RUN, "call that was not run")


def _end_of(step: Generation) -> TurnEnd | None:
    """How a generation ends the turn; None when it asks for tools."""
    match step.reason:
        case _ if step.looping:
            return TurnEnd.REPEATING
        case FinishReason.CANCELLED:
            return TurnEnd.CANCELLED
        case FinishReason.CONTEXT_FULL:
            return TurnEnd.CONTEXT_FULL
        case FinishReason.MAX_TOKENS:
            return TurnEnd.MAX_TOKENS
        case _ if step.calls:
            return None
        case _:
            return TurnEnd.ANSWERED if step.answered else TurnEnd.EMPTY_ANSWER
