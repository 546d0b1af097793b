"""The outcome of a turn: its answer, tools, changes, permissions, rates and exit code."""

import json
from dataclasses import dataclass, field

from laguna_engine.events import DrafterFailed, Round
from laguna_engine.speculate.metrics import SpeculationMetrics
from laguna_tui.agent.permissions.rules import SHELL
from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.base.events import (
    AgentEvent,
    AnswerCorrected,
    AnsweredFromIndex,
    Attached,
    CallRejected,
    ChangeMade,
    Compacted,
    DraftRound,
    Notice,
    PermissionAnswered,
    PermissionAsked,
    PermissionDecided,
    StepFinished,
    TextDelta,
    TodoChanged,
    ToolFinished,
    ToolStarted,
    TurnEnd,
    TurnFinished,
    TurnStarted,
)
from laguna_tui.base.exit_codes import ExitCode
from laguna_tui.base.permission_request import CallProposal, CommandProposal, PermissionAnswer, PermissionRequest
from laguna_tui.base.turn_figures import TurnFigures
from laguna_tui.base.units import plural

_ADVICE = {
    TurnEnd.CONTEXT_FULL: "Ask about less, or use a larger --context.",
    TurnEnd.MESSAGE_TOO_LONG: "Shorten it, or use a larger --context.",
    TurnEnd.MAX_TOKENS: "Raise --max-tokens.",
    TurnEnd.TOO_MANY_STEPS: "Raise --max-steps.",
    TurnEnd.TIMED_OUT: "Raise --timeout.",
}
"""What to do on the command line."""


@dataclass(slots=True)
class TurnOutcome:
    """The outcome of one turn, collected from its events.

    Attributes:
        text: Pieces of the answer.
        attached: Titles of what was attached to the question.
        notes: Sentences about attachments, drafters and anything else the user should know.
        corrected: The corrected answer, if it was replaced.
        looked_up: That no model wrote the answer, if the index gave it.
        tools: Each call with its result; for a command, also the exit code.
        rejected: Calls that could not be run, and why.
        edits: Changes that were made.
        permissions: What the user was asked, and what was decided without asking, in order.
        flags: For each action denied because nobody could be asked, the flag that allows it; empty for none.
        todo: The model's current list of steps.
        compactions: How the context was compacted.
        figures: The figures of its generations.
        rounds: Draft rounds.
        metrics: Statistics over the rounds.
        end: How the turn ended.
        detail: Why, and what to do about it.
        remote: Whether a remote model answers, about which less is known.
        context_used: Tokens.
        context_size: Tokens.
    """

    text: list[str] = field(default_factory=list)
    attached: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    corrected: str | None = None
    looked_up: AnsweredFromIndex | None = None
    tools: list[dict[str, object]] = field(default_factory=list)
    rejected: list[dict[str, object]] = field(default_factory=list)
    edits: list[dict[str, object]] = field(default_factory=list)
    permissions: list[dict[str, object]] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    todo: list[dict[str, object]] = field(default_factory=list)
    compactions: list[dict[str, object]] = field(default_factory=list)
    figures: TurnFigures = field(default_factory=TurnFigures)
    rounds: list[Round] = field(default_factory=list)
    metrics: SpeculationMetrics = field(default_factory=SpeculationMetrics)
    end: TurnEnd = TurnEnd.EMPTY_ANSWER
    detail: str = ""
    remote: bool = False
    context_used: int = 0
    context_size: int = 0

    def add(self, event: AgentEvent) -> None:  # noqa: C901 (a case for each event)
        """Add one event."""
        match event:
            case TurnStarted(cached=cached):
                self.remote = cached is None
            case Attached(titles, notes):
                self.attached, self.notes = list(titles), [*self.notes, *notes]
            case DrafterFailed():
                self.notes.append(event.sentence)
            case Notice(text):
                self.notes.append(text)
            case TextDelta(text):
                self.text.append(text)
            case AnswerCorrected(text):
                self.corrected = text
            case AnsweredFromIndex():
                self.looked_up = event
            case ToolStarted(call_id, name, arguments):
                self.tools.append({"id": call_id, "name": name, "arguments": arguments})
            case ToolFinished():
                self._finish_tool(event)
            case ChangeMade(call_id, change):
                self.edits.append({"call_id": call_id, **change_object(change)})
            case TodoChanged(items):
                self.todo = [{"text": item.text, "state": item.state.name.lower()} for item in items]
            case Compacted(before, after, shortened, replaced, recomputed):
                counts = {"shortened": shortened, "replaced": replaced, "recomputed": recomputed}
                self.compactions.append({"before": before, "after": after, **counts})
            case CallRejected(raw, problem):
                self.rejected.append({"raw": raw, "problem": problem})
            case PermissionAsked(call_id, request):
                self.permissions.append({"call_id": call_id, "asked": True, **request_object(request)})
            case PermissionAnswered(call_id, answer, by):
                of_call = (each for each in reversed(self.permissions) if each["call_id"] == call_id and each["asked"])
                next(of_call, {}).update(allowed=answer.allowed, by=by, **answer_object(answer))
            case PermissionDecided(call_id, tool, allowed, why, rule, flag):
                decided = {"tool": tool, "allowed": allowed, "why": why, "rule": rule or None, "flag": flag}
                self.permissions.append({"call_id": call_id, "asked": False, **decided})
                self.flags += [] if flag is None else [flag]
            case DraftRound(round_):
                self.rounds.append(round_)
                self.metrics.add(round_)
            case StepFinished(context_used=used, context_size=size):
                self.figures.steps.append(event)
                self.context_used, self.context_size = used, size
            case TurnFinished(end):
                self.end, self.detail = end, finish_detail(event)
            case _:
                pass

    def _finish_tool(self, event: ToolFinished) -> None:
        result = {"output": event.output, "ok": event.ok, "seconds": round(event.seconds, 6)}
        if (exit_code := exit_code_of(event)) is not None:
            result["exit_code"] = exit_code
        if event.full_output is not None:
            result["full_output"] = event.full_output
        next(tool for tool in reversed(self.tools) if tool["id"] == event.call_id).update(result)

    @property
    def denied(self) -> str:
        """A sentence about what was denied because nobody could be asked, and how to allow it; empty if nothing was."""
        if not self.flags:
            return ""
        count = len(self.flags)
        known = " ".join(dict.fromkeys(filter(None, self.flags)))
        todo = f"To allow it, add: {known}" if known else "Run it in a terminal to be asked."
        what = f"{count} {plural(count, 'action was', 'actions were')}"
        return f"{what} not permitted, because nobody could be asked. {todo}"

    @property
    def exit_code(self) -> ExitCode:
        """The exit code; 0 only if there is an answer and nothing was denied because nobody could be asked."""
        if self.end is TurnEnd.ANSWERED:
            return ExitCode.DENIED if self.flags else ExitCode.ANSWERED
        return ExitCode.INTERRUPTED if self.end is TurnEnd.CANCELLED else ExitCode.UNFINISHED

    def rates(self) -> dict[str, object]:
        """Return token counts and rates over all steps (tokens per second; None if unknown)."""
        figures, steps = self.figures, [step.stats for step in self.figures.steps]
        return {
            "prefilled_tokens": figures.read,
            "cached_tokens": None if figures.cached is None else sum(step.cached_tokens for step in steps),
            "generated_tokens": figures.written,
            "constrained_tokens": sum(step.constrained for step in steps),
            "constraints_dropped": sum(step.dropped for step in steps),
            "prefill_tokens_per_second": _rounded(figures.prefill_rate, 1),
            "decode_tokens_per_second": _rounded(figures.decode_rate, 1),
            "context_used": self.context_used,
            "context_size": self.context_size,
        }

    def speculation(self) -> dict[str, object] | None:
        """Return the statistics of speculation over all steps, with shares from 0 to 1; None without any rounds."""
        summary = self.metrics.summary()
        if not summary.rounds:
            return None
        return {
            "rounds": summary.rounds,
            "tokens_per_round": _rounded(summary.tokens_per_round),
            "drafted": summary.together.drafted,
            "accepted": summary.together.accepted,
            "acceptance": _rounded(summary.together.acceptance),
            "acceptance_by_position": [round(share, 3) for share in summary.together.by_position],
            "shares": {source.value: round(share, 3) for source, share in summary.shares.items()},
        }


def exit_code_of(event: ToolFinished) -> int | None:
    """Return the exit code of a command that ended; None for other tools."""
    if event.name != SHELL:
        return None
    try:
        answer = json.loads(event.output)
    except ValueError:
        return None
    code = answer.get("exit_code") if isinstance(answer, dict) else None
    return code if isinstance(code, int) else None


def request_object(request: PermissionRequest) -> dict[str, object]:
    """Return a request for JSON: the fields of a change, a command or a call, and why it needs permission."""
    about = {"tool": request.tool, "why": request.why, "sandbox": request.sandbox, "rule": request.rule}
    match request.proposal:
        case CommandProposal(command, folder, timeout_s, background):
            shown = {"command": command, "folder": str(folder), "timeout_s": timeout_s, "background": background}
            return {**about, **shown}
        case CallProposal(summary, details):
            return {**about, "summary": summary, "details": details}
        case change:
            return {**about, **change_object(change), "warning": change.warning}


def answer_object(answer: PermissionAnswer) -> dict[str, object]:
    """Return the user's answer for JSON."""
    return {
        "decision": answer.decision.value,
        "message": answer.message,
        "edited": answer.edited is not None,
        "hunks": answer.hunks,
    }


def change_object(change: ChangeProposal) -> dict[str, object]:
    """Return a change of a file for JSON."""
    return {
        "kind": change.kind.value,
        "path": change.path,
        "target": change.target or None,
        "places": change.places,
        "diff": change.diff,
    }


def finish_detail(event: TurnFinished) -> str:
    """Return why a turn ended, and what to do on the command line; empty if it was answered."""
    return " ".join(filter(None, (event.sentence, _ADVICE.get(event.end))))


def _rounded(value: float | None, digits: int = 3) -> float | None:
    return None if value is None else round(value, digits)
