"""One turn: generations and tool rounds, from a message that was just added to the answer or a reason why not.

However a turn ends (by an error, or because iteration stops), the conversation stays complete: the model's turn is
closed and every call in it has a result.
"""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from laguna_engine.chat.messages import AssistantMessage, Malformed, Role, ToolCall
from laguna_engine.events import FinishReason
from laguna_tui.agent.conversation import Conversation
from laguna_tui.agent.conversation_blocks import call_title
from laguna_tui.agent.options import AgentOptions
from laguna_tui.agent.proposed_calls import proposed_calls
from laguna_tui.agent.tools.base.guard import CheckedAnswer, LoopGuard, call_key
from laguna_tui.agent.tools.base.results import ANSWER_ROOM, ToolResult, fitted
from laguna_tui.agent.tools.registry import Toolbox
from laguna_tui.backends.base import MAX_LOOPS_BROKEN, Answer, Options
from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.base.events import (
    AgentEvent,
    AnswerCorrected,
    AnsweredFromIndex,
    CallRejected,
    CheckUnknown,
    Notice,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnEnd,
    TurnFinished,
)
from laguna_tui.base.messages import REJECTED, ChatMessage, Trace
from laguna_tui.base.units import some_of

if TYPE_CHECKING:
    from laguna_tui.agent.project_check import CheckReminder
    from laguna_tui.agent.tool_calls import CallRun

# A task that needs more rounds is off track.
MAX_STEPS = 200
# A model that writes this many unrunnable calls in a row does not recover.
MAX_REJECTED = 3
# A model that writes more calls than this at once is looping.
MAX_CALLS_A_STEP = 8

# A model that keeps filling the context with one answer does not finish.
MAX_FILLED = 2

# Ends after which no further message can go in.
_FINAL = frozenset({TurnEnd.CANCELLED, TurnEnd.CONTEXT_FULL})

_CUT_OFF = "The context was full, so your words were cut off here. Room was made: go on where you stopped."
_NUDGE = "You wrote no answer. Answer now, or call a tool."
_LOOPED = "You repeated the same words and were stopped. Say only what is new, or try something else."
NOT_RUN = "error: the tool did not run, because the turn was stopped"
NOT_RUN_LABEL = "call that was not run"
ENDED_WITHIN = "error: laguna-tui ended while the tool ran; look at what it did before you go on"
_REFUSED = "the call was refused; the answer says why"
_TOO_MANY = f"only {MAX_CALLS_A_STEP} calls are run at once; make this one in the next turn"


class Turn:
    """Runs one turn; use once."""

    def __init__(
        self,
        toolbox: Toolbox,
        conversation: Conversation,
        options: AgentOptions,
        cancelled: Callable[[], bool],
        make_room: Callable[[], Iterator[AgentEvent]] | None = None,
        steer: Callable[[bool], Generator[AgentEvent, None, bool]] | None = None,
    ) -> None:
        """Begin a turn whose message is in the conversation.

        Args:
            toolbox: The model's tools.
            conversation: The conversation.
            options: How answers are generated.
            cancelled: Returns whether the turn is to end; may change on any thread.
            make_room: Makes room in a context that has too little; None for a model that forgets old turns instead.
            steer: Adds what the user sent meanwhile, and returns whether there was anything. Its argument: whether the
                turn ends otherwise, so that nothing more is accepted.
        """
        self._toolbox, self._conversation, self._options = toolbox, conversation, options
        self._cancelled, self._make_room, self._steer = cancelled, make_room, steer
        self._loops = LoopGuard()
        self._guard = toolbox.profile.guard(*conversation.question())
        self._rejected = 0
        self._refused = ""
        self._filled = 0
        self._reminded: set[TurnEnd] = set()
        self._check = _check_reminder(toolbox)
        self._unanswered: list[ToolCall | Malformed] = []
        self._running: list[CallRun] = []
        # Made by the router, which the guard does not hold to the message.
        self._own_calls: tuple[ToolCall, ...] = ()
        self._generation: Answer | None = None

    @property
    def generated(self) -> Sequence[int] | None:
        """The tokens of the running answer; None for none. See `Answer.generated`."""
        return None if self._generation is None else self._generation.generated

    def answer_now(self) -> bool:
        """End the thinking that runs; return whether there was any. Any thread. See `Answer.answer_now`."""
        generation = self._generation
        return generation is not None and generation.answer_now()

    def run(self) -> Iterator[AgentEvent]:
        """Yield everything from the first generation to `TurnFinished`."""
        conversation, end = self._conversation, TurnEnd.TOO_MANY_STEPS
        try:
            routed = yield from self._routed()
            if routed is not None:
                yield TurnFinished(routed)
                return
            for _ in range(self._options.max_steps or MAX_STEPS):
                if self._make_room is not None:
                    yield from self._make_room()
                if self._cancelled():
                    end = TurnEnd.CANCELLED
                    break
                checked = CheckedAnswer(self._guard.expected)
                answer = self._generation = conversation.backend.generate(
                    conversation.prompt(), self._generation_options()
                )
                try:
                    for event in answer:
                        shown = self._shown(event, answer, checked)
                        if checked.over or self._cancelled():
                            answer.cancel()
                        if shown is not None:
                            yield shown
                finally:
                    self._take(answer)
                ended = yield from self._finished(answer, checked)
                if ended is not None:
                    end = ended
                    yield from self._proposed(answer)
                    break
        finally:
            self._answer_the_rest()
        if self._check and self._check.unknown:
            yield CheckUnknown()
        yield from self._toolbox.unreported()
        yield TurnFinished(end)

    def _routed(self) -> Generator[AgentEvent, None, TurnEnd | None]:
        """Begin the turn as the profile's router says; return how it ends there, or None if the model continues."""
        began, conversation = time.perf_counter(), self._conversation
        # Not where the answer has to follow a schema.
        if self._options.schema is not None:
            return None
        question, _ = conversation.question()
        route = self._toolbox.route(question, conversation.earlier_questions, self._cancelled)
        if self._cancelled():
            return TurnEnd.CANCELLED
        if route is None:
            return None
        if route.answer:
            yield from self._answered(route.answer, began)
            return TurnEnd.ANSWERED
        self._own_calls = route.calls
        conversation.correct_turn(AssistantMessage(calls=route.calls))
        self._unanswered = list(route.calls)
        end = yield from self._answer_calls()
        return (yield from self._ended_by_result(end, began))

    def _ended_by_result(self, end: TurnEnd | None, began: float) -> Generator[AgentEvent, None, TurnEnd | None]:
        """Answer with the last result if the model does not write such an answer; return how that ends the turn."""
        if end is None and self._refused:
            self._conversation.add_answer(self._refused)
            yield TextDelta(self._refused)
            return TurnEnd.ANSWERED
        if end is None and self._guard.final and self._guard.expected is not None:
            yield from self._answered(self._guard.expected, began if self._guard.looked_up else None)
            return TurnEnd.ANSWERED
        return end

    def _answered(self, text: str, began: float | None) -> Iterator[AgentEvent]:
        """Show an answer that no model wrote. began: When looking it up began; None if it is not from the index."""
        self._conversation.add_answer(text)
        yield TextDelta(text)
        if began is not None:
            yield AnsweredFromIndex(time.perf_counter() - began)

    def _generation_options(self) -> Options:
        options, toolbox, conversation = self._options, self._toolbox, self._conversation
        constrain = toolbox.profile.constrains(options.constrain)
        guard = None if options.constrain is False else self._guard
        return Options(
            sampling=options.sampling,
            max_tokens=options.max_tokens,
            thinking_budget=options.thinking_limit(conversation.backend.n_ctx),
            drafting=options.drafting,
            sources=conversation.read,
            schema=options.schema,
            rules=(*((toolbox.call_rules,) if constrain else ()), *(guard.rules if guard else ())),
            quotable=guard.quotable if guard else (),
            loops_broken=MAX_LOOPS_BROKEN if toolbox.profile.recovers else 0,
        )

    def _shown(self, event: AgentEvent, answer: Answer, checked: CheckedAnswer) -> AgentEvent | None:
        """Return the event as it is shown; None if it is not."""
        if not isinstance(event, TextDelta):
            return event
        if answer.calls and self._guard.calls_come_last:
            checked.end()
            return None
        text = checked.feed(event.text)
        return TextDelta(text, event.source) if text else None

    def _take(self, answer: Answer) -> None:
        """Add an answer to the conversation, however it ended."""
        self._generation = None
        answer.close()
        self._conversation.record(answer.message)
        self._unanswered = list(answer.calls)

    def _finished(self, answer: Answer, checked: CheckedAnswer) -> Generator[AgentEvent, None, TurnEnd | None]:
        """Answer an answer's calls and add what the user sent meanwhile; return how that ends the turn, or None."""
        end = yield from self._correct(checked, self._end_of(answer, checked))
        reminder = self._reminder(end)
        if end is None or reminder:
            began = time.perf_counter()
            end = yield from self._ended_by_result((yield from self._answer_calls()), began)
        steered = yield from self._steered(end)
        if end is not None and not steered:
            return end
        if reminder and not steered:
            self._conversation.add_reminder(reminder)
        self._conversation.remind()
        return None

    def _proposed(self, answer: Answer) -> Iterator[Notice]:
        """Say that calls were not run which the model wrote as text."""
        written = answer.message.answer
        if written is None or answer.calls or self._options.schema is not None:
            return
        tools = frozenset(tool.name for tool in self._toolbox.profile.tools)
        if calls := list(map(call_title, proposed_calls(written.text, tools))):
            what = "a call" if len(calls) == 1 else "calls"
            yield Notice(
                f"The model wrote {what} as text, and nothing was run: {some_of(calls, 3)}. Ask it to call the tool."
            )

    def _steered(self, end: TurnEnd | None) -> Generator[AgentEvent, None, bool]:
        """Add what the user sent meanwhile if the turn continues or would end; return whether there was any."""
        if self._steer is None or end in _FINAL:
            return False
        self._answer_the_rest()
        steered = yield from self._steer(end is not None)
        if steered:
            # A new question resets what counts against the model.
            self._loops, self._rejected = LoopGuard(), 0
            self._guard = self._toolbox.profile.guard(*self._conversation.question())
            self._reminded.clear()
        return steered

    def _reminder(self, end: TurnEnd | None) -> str:
        """Return the reminder that makes the model continue instead of ending the turn like this; "" lets it end."""
        if end is TurnEnd.ANSWERED:
            return self._check.due() if self._check else ""
        if end is TurnEnd.CONTEXT_FULL and self._make_room is not None:
            self._filled += 1
            return _CUT_OFF if self._filled <= MAX_FILLED else ""
        if end is None or end in self._reminded:
            return ""
        self._reminded.add(end)
        if end is TurnEnd.REPEATING and self._toolbox.profile.recovers:
            return _LOOPED
        return _NUDGE if end is TurnEnd.EMPTY_ANSWER else ""

    def _end_of(self, answer: Answer, checked: CheckedAnswer) -> TurnEnd | None:
        """Return how an answer ends the turn; None if it calls tools, even if it derailed after them."""
        stopped = checked.over and not checked.wrong
        if not self._cancelled() and (stopped or (answer.repeating and any(map(self._meant, answer.calls)))):
            return None
        return _end_of(answer)

    def _correct(self, answer: CheckedAnswer, end: TurnEnd | None) -> Generator[AgentEvent, None, TurnEnd | None]:
        """Show the right answer if the model gave another; return how that ends the turn."""
        ended = end in (TurnEnd.ANSWERED, TurnEnd.EMPTY_ANSWER) or (answer.wrong and not self._cancelled())
        if not ended or answer.corrected is None:
            return end
        self._unanswered.clear()
        self._conversation.correct_turn(AssistantMessage(answer.corrected))
        if rest := answer.correction():
            yield TextDelta(rest)
        yield AnswerCorrected(answer.written)
        return TurnEnd.ANSWERED

    def _answer_calls(self) -> Generator[AgentEvent, None, TurnEnd | None]:
        """Answer the calls in the order written; return how that ends the turn, or None to continue."""
        done = 0
        while self._unanswered and not self._cancelled():
            written = self._unanswered[0]
            call = self._meant(written)
            if isinstance(written, Malformed) and call is None:
                yield self._reject(written)
                done += 1
            elif call is not None:
                if call != written and not done and len(self._unanswered) == 1:
                    self._conversation.correct_turn(AssistantMessage(calls=(call,)))
                calls = self._side_by_side(call, most=max(MAX_CALLS_A_STEP - done, 1))
                yield from self._run(calls, too_many=done >= MAX_CALLS_A_STEP)
                done += len(calls)
        if self._cancelled():
            return TurnEnd.CANCELLED
        if self._loops.gave_up:
            return TurnEnd.SAME_CALL
        return TurnEnd.MALFORMED_CALL if self._rejected >= MAX_REJECTED else None

    def _side_by_side(self, first: ToolCall, most: int) -> list[ToolCall]:
        """Return the first unanswered call, and those behind it that may run at the same time."""
        calls = [first]
        for written in self._unanswered[1:most]:
            call = None if isinstance(written, Malformed) else self._meant(written)
            # Whether a call may run depends on the result of the same call before it.
            known = call is None or call_key(call) in map(call_key, calls)
            if call is None or known or not all(map(self._toolbox.is_read_only, (first.name, call.name))):
                break
            calls.append(call)
        return calls

    def _meant(self, call: ToolCall | Malformed) -> ToolCall | None:
        """Return the call as it is run; None if it cannot be."""
        return self._guard.repaired(call) if isinstance(call, Malformed) else self._guard.resolved(call)

    def _reject(self, call: Malformed) -> CallRejected:
        self._rejected += 1
        self._answer(f"error: {call.problem}", REJECTED)
        return CallRejected(call.raw, call.problem)

    def _run(self, calls: Sequence[ToolCall], *, too_many: bool) -> Iterator[AgentEvent]:
        # Imported late: most questions need no tool.
        from laguna_tui.agent.tool_calls import CallRun, ToolCallRunner

        runs = [
            CallRun(call, self._conversation.next_call_id(), self._refusal_reason(call, too_many)) for call in calls
        ]
        for each in runs:
            yield ToolStarted(each.call_id, each.call.name, each.call.arguments)
        self._rejected = 0
        self._running = runs
        with closing(ToolCallRunner(self._toolbox, self._objection, self._cancelled).run(runs)) as events:
            for event in events:
                yield self._finish() if isinstance(event, CallRun) else event

    def _refusal_reason(self, call: ToolCall, too_many: bool) -> str:
        """Return why a call is not run, a sentence for the model; empty if it is."""
        if too_many:
            return _TOO_MANY
        if call in self._own_calls:
            return ""
        return self._loops.objection(call) or self._refusal(self._guard.refusal(call))

    def _objection(self, call: ToolCall, proposal: ChangeProposal) -> str:
        """Return why a change is neither asked about nor made, a sentence for the model; empty if it may be."""
        return self._refusal(self._guard.objection(call, proposal))

    def _finish(self) -> ToolFinished:
        """Add the result of the first call that ran; raise what ended it otherwise."""
        run = self._running[0]
        result = run.result.result()
        if not run.objection:
            if self._check:
                self._check.note(run.call, result, changed=run.changed)
            result = self._fitted(result)
            self._loops.record(run.call, result.output, edited=run.changed)
        self._guard.take(run.call, result)
        self._answer(result.output, call_title(run.call))
        del self._running[0]
        return ToolFinished(
            run.call_id, run.call.name, result.output, result.ok, run.seconds, result.full_output, result.shown
        )

    def _refusal(self, sentence: str) -> str:
        """Make a sentence the turn's answer, and return what the tool says of a call that is refused for it."""
        self._refused = sentence or self._refused
        return _REFUSED if sentence else ""

    def _fitted(self, result: ToolResult) -> ToolResult:
        """Return a result cut to the room there is."""
        toolbox, conversation = self._toolbox, self._conversation
        conversation.remember(result.excerpt)
        room = conversation.backend.n_ctx - conversation.size - ANSWER_ROOM
        output = fitted(result.output, conversation.result_size, room)
        if output == result.output:
            return result
        full_output = result.full_output or toolbox.keep(result.output)
        return ToolResult(output, result.ok, full_output=full_output, shown=result.shown)

    def _answer(self, text: str, label: str) -> None:
        self._conversation.add_result(text, label)
        self._unanswered.pop(0)

    def _answer_the_rest(self) -> None:
        """Answer the remaining calls: with their results, if they ran."""
        while self._running and self._running[0].answered:
            self._finish()
        while self._unanswered:
            self._answer(NOT_RUN, NOT_RUN_LABEL)


def _check_reminder(toolbox: Toolbox) -> "CheckReminder | None":
    """Return what reminds a model of the project's check; None for a model without commands."""
    if not toolbox.runs_commands:
        return None
    # Imported late: models without commands do not need it.
    from laguna_tui.agent.project_check import CheckReminder, find_check

    return CheckReminder(lambda: find_check(toolbox.workspace, toolbox.permissions.permissions.check))


def _end_of(answer: Answer) -> TurnEnd | None:
    """Return how an answer ends the turn; None if it calls tools."""
    match answer.reason:
        case _ if answer.repeating:
            return TurnEnd.REPEATING
        case FinishReason.CANCELLED:
            return TurnEnd.CANCELLED
        case FinishReason.CONTEXT_FULL:
            return TurnEnd.CONTEXT_FULL
        case FinishReason.MAX_TOKENS:
            return TurnEnd.MAX_TOKENS
        case _ if answer.calls:
            return None
        case _:
            return TurnEnd.ANSWERED if answer.has_text else TurnEnd.EMPTY_ANSWER


def end_interrupted(conversation: Conversation, trace: Trace | None, running: int) -> None:
    """Complete a conversation whose last turn did not end, because the app was killed.

    Args:
        conversation: As it was last recorded.
        trace: What the model had generated of what is not in the conversation yet; None for nothing.
        running: How many of the calls without a result had begun.
    """
    if trace is not None:
        conversation.record(conversation.backend.recovered(conversation.prompt(), trace))
    for number in range(_unanswered(conversation.items())):
        conversation.add_result(ENDED_WITHIN if number < running else NOT_RUN, NOT_RUN_LABEL)
    conversation.forget_old_turns()


def _unanswered(said: Sequence[ChatMessage]) -> int:
    """Return how many calls at the end have no result."""
    for back, each in enumerate(reversed(said)):
        if each.role is Role.ASSISTANT:
            return len(each.written_calls) - back
    return 0
