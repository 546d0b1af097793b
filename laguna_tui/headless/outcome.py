"""The outcome of a turn: its answer, tools, edits, rates and exit code."""

from dataclasses import dataclass, field
from enum import IntEnum

from laguna_engine.events import DrafterFailed, Round, Stats
from laguna_engine.speculate.metrics import SpeculationMetrics
from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.base.events import (
    AgentEvent,
    AnswerCorrected,
    Attached,
    ChangeMade,
    DraftRound,
    StepFinished,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnEnd,
    TurnFinished,
)

# Remedies on the command line.
_ADVICE = {
    TurnEnd.CONTEXT_FULL: "Ask about less, or with a larger --context.",
    TurnEnd.MESSAGE_TOO_LONG: "Ask with less of it, or with a larger --context.",
    TurnEnd.MAX_TOKENS: "Raise --max-tokens.",
}


class ExitCode(IntEnum):
    """Exit codes of `laguna-tui`; 128 + n after signal n."""

    ANSWERED = 0
    FAILED = 1
    USAGE = 2
    MODEL = 3
    UNFINISHED = 4
    INTERRUPTED = 130


@dataclass(slots=True)
class TurnOutcome:
    """The outcome of one turn, collected from its events.

    Attributes:
        text: Pieces of the answer.
        attached: Titles of what was attached to the question.
        notes: Sentences about attachments and drafters.
        corrected: The corrected answer, if it was replaced.
        tools: Each call with its result.
        edits: Changes that were made.
        steps: Engine statistics of each step.
        rounds: Draft rounds.
        metrics: Statistics over the rounds.
        end: How the turn ended.
        detail: Why, and what to do about it.
        context_used: Tokens.
        context_size: Tokens.
    """

    text: list[str] = field(default_factory=list)
    attached: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    corrected: str | None = None
    tools: list[dict[str, object]] = field(default_factory=list)
    edits: list[dict[str, object]] = field(default_factory=list)
    steps: list[Stats] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    metrics: SpeculationMetrics = field(default_factory=SpeculationMetrics)
    end: TurnEnd = TurnEnd.EMPTY_ANSWER
    detail: str = ""
    context_used: int = 0
    context_size: int = 0

    def add(self, event: AgentEvent) -> None:
        """Add one event."""
        match event:
            case Attached() | DrafterFailed():
                self._add_notes(event)
            case TextDelta(text):
                self.text.append(text)
            case AnswerCorrected(text):
                self.corrected = text
            case ToolStarted(call_id, name, arguments):
                self.tools.append({"id": call_id, "name": name, "arguments": arguments})
            case ToolFinished():
                self._finish_tool(event)
            case ChangeMade(_, change):
                self.edits.append(change_object(change))
            case DraftRound(round_):
                self.rounds.append(round_)
                self.metrics.add(round_)
            case StepFinished(stats, used, size):
                self.steps.append(stats)
                self.context_used, self.context_size = used, size
            case TurnFinished(end):
                self.end, self.detail = end, finish_detail(event)
            case _:
                pass

    def _add_notes(self, event: Attached | DrafterFailed) -> None:
        if isinstance(event, Attached):
            self.attached, self.notes = list(event.titles), list(event.notes)
        else:
            self.notes.append(event.sentence)

    def _finish_tool(self, event: ToolFinished) -> None:
        result = {"output": event.output, "ok": event.ok, "seconds": round(event.seconds, 6)}
        next(tool for tool in reversed(self.tools) if tool["id"] == event.call_id).update(result)

    @property
    def exit_code(self) -> ExitCode:
        """0 only for an answer; an interrupted or unfinished turn has its own code."""
        if self.end is TurnEnd.ANSWERED:
            return ExitCode.ANSWERED
        return ExitCode.INTERRUPTED if self.end is TurnEnd.CANCELLED else ExitCode.UNFINISHED

    def rates(self) -> dict[str, object]:
        """Return token counts and rates over all steps (tokens per second, None if not measured)."""
        new = sum(step.prompt_tokens - step.cached_tokens for step in self.steps)
        decoded = sum(max(step.generated_tokens - 1, 0) for step in self.steps)
        prefill_s = sum(step.prefill_s for step in self.steps)
        decode_s = sum(step.decode_s for step in self.steps)
        return {
            "prefilled_tokens": new,
            "cached_tokens": sum(step.cached_tokens for step in self.steps),
            "generated_tokens": sum(step.generated_tokens for step in self.steps),
            "prefill_tokens_per_second": round(new / prefill_s, 1) if new and prefill_s else None,
            "decode_tokens_per_second": round(decoded / decode_s, 1) if decoded and decode_s else None,
            "context_used": self.context_used,
            "context_size": self.context_size,
        }

    def speculation(self) -> dict[str, object] | None:
        """Return the statistics of speculation over all steps; shares are of 1. None without any rounds."""
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


def change_object(change: ChangeProposal) -> dict[str, object]:
    """A change of a file, for JSON."""
    return {
        "kind": change.kind.value,
        "path": change.path,
        "target": change.target or None,
        "places": change.places,
        "diff": change.diff,
    }


def finish_detail(event: TurnFinished) -> str:
    """Return why a turn ended, and what to do about it on the command line; empty for an answer."""
    return " ".join(filter(None, (event.sentence, _ADVICE.get(event.end))))


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
