"""Runs calls of tools on worker threads, and connects those with the thread that iterates the turn.

Events travel to that thread through a queue. So do questions: it yields PermissionAsked, calls the approver, and hands
the answer back. However the iteration ends, no worker is left running.
"""

import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from queue import SimpleQueue

from laguna_engine.chat.messages import ToolCall
from laguna_tui.agent.permissions.modes import Effect, Verdict
from laguna_tui.agent.tool_run import PermissionDenied, ToolRun
from laguna_tui.agent.tools.base.results import ToolResult, failure
from laguna_tui.agent.tools.registry import Toolbox
from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.base.events import (
    ChangeMade,
    Notice,
    PermissionAnswered,
    PermissionAsked,
    PermissionDecided,
    ToolEvent,
)
from laguna_tui.base.permission_request import Decision, PermissionAnswer, PermissionRequest

SIDE_BY_SIDE = 4
"""Most calls that run at the same time. More would only wait for the same disk."""
# How often a call that waits for permission checks whether its turn is over.
_POLL_S = 0.1

_STOPPED = "the turn was stopped before this was allowed"
_BY_USER = "user"
_YES = PermissionAnswer(Decision.YES)


@dataclass(slots=True, eq=False)
class CallRun:
    """One call, from its start to its result.

    Attributes:
        call: As it is run.
        call_id: Its number.
        objection: Why it is not run, a sentence for the model; empty if it is.
        result: What the tool answered; done once the call has ended.
        seconds: How long it took, without the time in which the user was asked.
        changed: Whether it changed a file, as a tool or by a command.
        ended: Whether all that it emitted was passed on.
    """

    call: ToolCall
    call_id: int
    objection: str = ""
    result: "Future[ToolResult]" = field(default_factory=Future)
    seconds: float = 0.0
    changed: bool = False
    ended: bool = False

    def note_change(self) -> None:
        """Record that it changed a file. Any thread."""
        self.changed = True

    @property
    def answered(self) -> bool:
        """Whether there is a result."""
        return self.result.done() and self.result.exception() is None


@dataclass(frozen=True, slots=True)
class _Question:
    """A request on its way to the user. reply: Takes the answer."""

    run: CallRun
    request: PermissionRequest
    reply: "Future[PermissionAnswer]"


class ToolCallRunner:
    """Runs calls that stand side by side in a turn; use once."""

    def __init__(
        self,
        toolbox: Toolbox,
        objection: Callable[[ToolCall, ChangeProposal], str],
        cancelled: Callable[[], bool],
    ) -> None:
        """Prepare; nothing runs yet.

        Args:
            objection: Why a change is neither asked about nor made, a sentence for the model; empty if it may be.
            cancelled: Returns whether the turn is being stopped. Any thread.
        """
        self._toolbox = toolbox
        self._objection = objection
        self._cancelled = cancelled
        self._over = False
        self._queue: SimpleQueue[ToolEvent | _Question | CallRun] = SimpleQueue()

    def run(self, calls: Sequence[CallRun]) -> Generator[ToolEvent | CallRun, None, None]:
        """Run calls at the same time; yield what they emit, and each once it and all before it have ended.

        Closing it waits until all of them have ended.
        """
        pool = ThreadPoolExecutor(min(SIDE_BY_SIDE, len(calls)), "tool")
        waiting = list(calls)
        try:
            for each in calls:
                pool.submit(self._work, each)
            while waiting:
                match self._queue.get():
                    case _Question() as question:
                        yield from self._answered(question)
                    case CallRun() as ended:
                        ended.ended = True
                        while waiting and waiting[0].ended:
                            yield waiting.pop(0)
                    case event:
                        yield event
        finally:
            self._over = True
            pool.shutdown()

    def _answered(self, question: _Question) -> Generator[ToolEvent, None, None]:
        """Ask the user; the call continues with the answer."""
        approver = self._toolbox.permissions.approver
        begun = time.perf_counter()
        yield PermissionAsked(question.run.call_id, question.request)
        answer = PermissionAnswer(Decision.NO)
        if approver is not None:
            answer = approver(question.request, self._stopped)
        yield PermissionAnswered(question.run.call_id, answer, _BY_USER)
        question.run.seconds -= time.perf_counter() - begun
        question.reply.set_result(answer)

    def _work(self, run: CallRun) -> None:
        """Run one call on a worker thread."""
        begun = time.perf_counter()
        try:
            run.result.set_result(self._result(run))
        except BaseException as error:
            # Raised by whoever takes the result.
            run.result.set_exception(error)
        run.seconds += time.perf_counter() - begun
        self._queue.put(run)

    def _result(self, run: CallRun) -> ToolResult:
        if run.objection:
            return failure(run.objection)
        if self._stopped():
            return failure(_STOPPED)
        context = ToolRun(
            self._toolbox.workspace,
            run.call_id,
            emit=lambda event: self._emit(run, event),
            ask=lambda request: self._ask(run, request),
            cancelled=self._stopped,
            readable=self._toolbox.permissions.permissions.readable,
            note_change=run.note_change,
        )
        return self._toolbox.run(run.call.name, run.call.arguments, context)

    def _stopped(self) -> bool:
        return self._over or self._cancelled()

    def _emit(self, run: CallRun, event: ToolEvent) -> None:
        run.changed |= isinstance(event, ChangeMade)
        self._queue.put(event)

    def _report(self, run: CallRun, request: PermissionRequest, verdict: Verdict) -> None:
        """Report a decision made without the user."""
        allowed = verdict.effect is Effect.ALLOW
        # Only for the call itself, not for what the app adds to it, such as a linter after an edit.
        flag = verdict.flag if request.tool == run.call.name else None
        self._queue.put(PermissionDecided(run.call_id, request.tool, allowed, verdict.why, verdict.rule, flag))
        if allowed and verdict.rule:
            self._queue.put(PermissionAnswered(run.call_id, _YES, verdict.rule))

    def _ask(self, run: CallRun, request: PermissionRequest) -> PermissionAnswer:
        """Return permission for a request; raise PermissionDenied without."""
        proposal = request.proposal
        if isinstance(proposal, ChangeProposal) and (objection := self._objection(run.call, proposal)):
            raise PermissionDenied(objection)
        gate = self._toolbox.permissions
        question = gate.question(request, lambda verdict: self._report(run, request, verdict))
        if question is None:
            return _YES
        reply: Future[PermissionAnswer] = Future()
        self._queue.put(_Question(run, question, reply))
        while not reply.done() and not self._over:
            with suppress(TimeoutError):
                reply.result(_POLL_S)
        if not reply.done():
            raise PermissionDenied(_STOPPED)
        answer = reply.result()
        if notice := gate.take(question, answer):
            self._queue.put(Notice(notice))
        return answer
