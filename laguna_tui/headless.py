"""`laguna-tui ask`: the agent's events as plain text or JSON, for pipes, scripts and CI.

The answer goes to stdout, everything about it to stderr. Nothing here writes an escape sequence: all text passes
the sanitizer, and colour is not used.
"""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from enum import Enum, IntEnum
from typing import TextIO

from laguna_engine.events import DrafterFailed, Round, Stats
from laguna_engine.speculate.tally import Tally
from laguna_tui.asking import diff_lines
from laguna_tui.events import (
    AgentEvent,
    AnswerCorrected,
    Attached,
    CallRejected,
    DraftRound,
    EditDone,
    EditProposed,
    StepFinished,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnEnd,
    TurnFinished,
)
from laguna_tui.shares import shares
from laguna_tui.text import Pieces, sanitize_line

# Of an argument of a tool, so much is written to stderr: an edit's texts are long, and shown as a diff.
_VALUE_CHARS = 60
# In the place of a `TurnEnd`, when the turn was ended by an error.
_FAILED = "failed"

# What to do about it on the command line.
_ADVICE = {
    TurnEnd.CONTEXT_FULL: "Ask about less, or with a larger --context.",
    TurnEnd.MESSAGE_TOO_LONG: "Ask with less of it, or with a larger --context.",
    TurnEnd.MAX_TOKENS: "Raise --max-tokens.",
}


_WITHOUT = "If it happens again, use --speculation off."


class ExitCode(IntEnum):
    """What `laguna-tui` exits with; 128 + n after signal n."""

    ANSWERED = 0
    FAILED = 1
    USAGE = 2
    MODEL = 3
    UNFINISHED = 4
    INTERRUPTED = 130


class Format(Enum):
    """How an answer is written to stdout."""

    TEXT = "text"
    JSON = "json"
    STREAM_JSON = "stream-json"


@dataclass(slots=True)
class Outcome:
    """What is known of one answered question when its turn is over."""

    text: list[str] = field(default_factory=list)
    attached: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    corrected: str | None = None
    tools: list[dict[str, object]] = field(default_factory=list)
    proposed: list[EditProposed] = field(default_factory=list)
    edits: list[dict[str, object]] = field(default_factory=list)
    steps: list[Stats] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    end: TurnEnd = TurnEnd.EMPTY_ANSWER
    detail: str = ""
    context_used: int = 0
    context_size: int = 0

    def add(self, event: AgentEvent) -> None:
        """Take one event into account."""
        match event:
            case Attached() | DrafterFailed():
                self._add_notes(event)
            case TextDelta(text):
                self.text.append(text)
            case AnswerCorrected(said):
                self.corrected = said
            case ToolStarted(call_id, name, arguments):
                self.tools.append({"id": call_id, "name": name, "arguments": arguments})
            case ToolFinished(call_id, _, output, ok, seconds):
                self.tools[-1] |= {"output": output, "ok": ok, "seconds": round(seconds, 6)}
            case EditProposed() | EditDone():
                self._add_edit(event)
            case DraftRound(spun):
                self.rounds.append(spun)
                self.tally.add(spun)
            case StepFinished(stats, used, size):
                self.steps.append(stats)
                self.context_used, self.context_size = used, size
            case TurnFinished(end):
                self.end, self.detail = end, _told(event)
            case _:
                pass

    def _add_notes(self, event: Attached | DrafterFailed) -> None:
        if isinstance(event, Attached):
            self.attached, self.notes = list(event.titles), list(event.notes)
        else:
            self.notes.append(event.sentence)

    def _add_edit(self, event: EditProposed | EditDone) -> None:
        if isinstance(event, EditProposed):
            self.proposed.append(event)
        else:
            diff = self.proposed[-1].proposal.diff
            self.edits.append({"path": event.path, "places": event.places, "diff": diff})

    @property
    def exit_code(self) -> ExitCode:
        """0 only for an answer; an interrupted or unfinished turn says so."""
        if self.end is TurnEnd.ANSWERED:
            return ExitCode.ANSWERED
        return ExitCode.INTERRUPTED if self.end is TurnEnd.CANCELLED else ExitCode.UNFINISHED

    def rates(self) -> dict[str, object]:
        """Token counts and measured rates over all steps of the turn (tokens per second, None if unmeasured)."""
        new = sum(step.prompt_tokens - step.cached_tokens for step in self.steps)
        later = sum(max(step.generated_tokens - 1, 0) for step in self.steps)
        prefill_s = sum(step.prefill_s for step in self.steps)
        decode_s = sum(step.decode_s for step in self.steps)
        return {
            "prefilled_tokens": new,
            "cached_tokens": sum(step.cached_tokens for step in self.steps),
            "generated_tokens": sum(step.generated_tokens for step in self.steps),
            "prefill_tokens_per_second": round(new / prefill_s, 1) if new and prefill_s else None,
            "decode_tokens_per_second": round(later / decode_s, 1) if later and decode_s else None,
            "context_used": self.context_used,
            "context_size": self.context_size,
        }

    def speculation(self) -> dict[str, object] | None:
        """What speculation brought over all steps of the turn; shares are of 1. None when nothing was told of it."""
        told = self.tally.summary()
        if not told.rounds:
            return None
        return {
            "rounds": told.rounds,
            "tokens_per_round": _rounded(told.tokens_per_round),
            "drafted": told.together.drafted,
            "accepted": told.together.accepted,
            "acceptance": _rounded(told.together.acceptance),
            "acceptance_by_position": [round(share, 3) for share in told.together.by_position],
            "shares": {source.value: round(share, 3) for source, share in shares(told).items()},
        }


def run(events: Iterator[AgentEvent], form: Format, model: str, *, stats: bool, opened: str = "") -> ExitCode:
    """Write the events of one turn in the given format; returns the exit code.

    What `events` raises comes out of here as it is. If it is an Exception, the object of `Format.JSON` was written
    before: edits may have been made.

    Args:
        events: one turn of the agent.
        form: how stdout is written.
        model: the model's title, recorded in JSON.
        stats: also print the measured rates to stderr (text format). opened: how the model is, for the same place.
    """
    outcome = Outcome()
    show = _WRITERS[form](sys.stdout, sys.stderr)
    try:
        for event in events:
            outcome.add(event)
            show(event)
    except BaseException as error:
        # Nobody may read any more, which is what is raised already.
        with suppress(OSError):
            if form is Format.TEXT:
                _end_lines(outcome)
            if form is Format.JSON and isinstance(error, Exception):
                _line(sys.stdout, _summary(outcome, model, error))
        raise
    if form is Format.JSON:
        _line(sys.stdout, _summary(outcome, model))
    if form is Format.TEXT:
        _finish_text(outcome, stats=stats, opened=opened)
    return outcome.exit_code


def _summary(outcome: Outcome, model: str, error: Exception | None = None) -> dict[str, object]:
    """error: what ended the turn before its time, so that nothing is known of its end."""
    return {
        "model": model,
        "answer": "".join(outcome.text),
        "corrected": outcome.corrected,
        "end": outcome.end.value if error is None else _FAILED,
        "detail": outcome.detail,
        "error": None if error is None else str(error) or type(error).__name__,
        "attached": outcome.attached,
        "notes": outcome.notes,
        "tools": outcome.tools,
        "edits": outcome.edits,
        "stats": {**outcome.rates(), "speculation": outcome.speculation()},
        "rounds": [_short(spun) for spun in outcome.rounds],
    }


def _finish_text(outcome: Outcome, *, stats: bool, opened: str) -> None:
    _end_lines(outcome)
    if outcome.corrected is not None:
        sys.stderr.write(f"· {AnswerCorrected(outcome.corrected).sentence}\n")
    if outcome.detail:
        sys.stderr.write(f"laguna-tui: {sanitize_line(outcome.detail)}\n")
    if stats:
        sys.stderr.write(_stats_line(outcome.rates()) + "\n")
        sys.stderr.write(_speculation_line(outcome) + "\n")
        if opened:
            sys.stderr.write(f"opened with {sanitize_line(opened)}\n")


def _end_lines(outcome: Outcome) -> None:
    """What comes next on the terminal, a sentence or the shell's prompt, begins a line."""
    if outcome.tools and "output" not in outcome.tools[-1]:
        sys.stderr.write("\n")
    if outcome.text and not outcome.text[-1].endswith("\n"):
        sys.stdout.write("\n")
    sys.stdout.flush()


def _stats_line(rates: dict[str, object]) -> str:
    def rate(key: str) -> str:
        value = rates[key]
        return f"{value:,.0f} tok/s" if isinstance(value, float) else "not measured"

    return (
        f"prefill {rates['prefilled_tokens']:,} tokens at {rate('prefill_tokens_per_second')}"
        f" ({rates['cached_tokens']:,} reused) · decode {rates['generated_tokens']:,} tokens at"
        f" {rate('decode_tokens_per_second')} · context {rates['context_used']:,} of {rates['context_size']:,}"
    )


def _speculation_line(outcome: Outcome) -> str:
    told = outcome.tally.summary()
    if not told.together.drafted:
        why = f" ({sanitize_line(told.reason)})" if told.reason else ""
        return f"speculation: nothing was drafted{why}"
    each = sorted(shares(told).items(), key=lambda pair: -pair[1])
    return (
        f"speculation {told.tokens_per_round:.2f} tokens a round in {told.rounds:,} rounds"
        f" · {told.together.acceptance:.0%} of {told.together.drafted:,} drafted tokens stood"
        f" · {', '.join(f'{source.value} {share:.0%}' for source, share in each)}"
    )


def _text_writer(out: TextIO, log: TextIO) -> Callable[[AgentEvent], None]:
    answer = Pieces()

    def show(event: AgentEvent) -> None:
        match event:
            case Attached(titles, notes):
                for line in [*([f"with {', '.join(titles)}"] if titles else []), *notes]:
                    log.write(f"· {sanitize_line(line)}\n")
            case TextDelta(text):
                out.write(answer.sanitize(text))
                out.flush()
            case ToolStarted(_, name, arguments):
                shown = ", ".join(f"{key}={_brief(repr(value))}" for key, value in arguments.items())
                log.write(f"· {sanitize_line(f'{name}({shown})')}")
                log.flush()
            case EditProposed(proposal, asks=False):
                log.write("\n" + "".join(f"{line}\n" for line in diff_lines(proposal)))
            case ToolFinished(_, _, output, ok, seconds):
                lines = output.count("\n") + 1
                said = f"{lines} line{'s'[: lines > 1]}" if ok else f"failed, {sanitize_line(output)}"
                log.write(f"  {said}, {seconds:.2f} s\n")
            case DrafterFailed():
                log.write(f"· {sanitize_line(event.sentence)} {_WITHOUT}\n")
            case CallRejected(_, problem):
                log.write(f"· call rejected: {sanitize_line(problem)}\n")
            case _:
                pass

    return show


def _json_writer(out: TextIO, log: TextIO) -> Callable[[AgentEvent], None]:
    return lambda event: None


def _stream_writer(out: TextIO, log: TextIO) -> Callable[[AgentEvent], None]:
    def show(event: AgentEvent) -> None:
        _line(out, {"type": _snake(type(event).__name__), **_fields(event)})

    return show


def _fields(event: AgentEvent) -> dict[str, object]:
    match event:
        case TurnFinished(end):
            return {"end": end.value, "detail": _told(event)}
        case EditProposed(proposal, asks):
            told = {name: getattr(proposal, name) for name in ("path", "places", "diff", "warning")}
            return {**told, "asks": asks}
        case DraftRound(spun, stood, instead):
            return {**_round(spun), "stood": stood, "rejected": spun.rejected, "instead": instead}
        case _:
            return _plain(asdict(event))


def _told(event: TurnFinished) -> str:
    return " ".join(filter(None, (event.sentence, _ADVICE.get(event.end))))


def _brief(text: str) -> str:
    return text if len(text) <= _VALUE_CHARS else f"{text[:_VALUE_CHARS]}…"


def _round(spun: Round) -> dict[str, object]:
    """A round; times in milliseconds."""
    times = {"draft": spun.draft_s, "verify": spun.verify_s, "sample": spun.sample_s, "total": spun.total_s}
    return {
        "drafter": spun.drafter.value if spun.drafter else None,
        "drafted": spun.drafted,
        "accepted": spun.accepted,
        "ms": {name: round(seconds * 1000, 3) for name, seconds in times.items()},
        "reason": spun.reason,
    }


def _short(spun: Round) -> list[object]:
    """A round as a row: drafter, drafted, accepted, milliseconds."""
    return [
        spun.drafter.value if spun.drafter else None,
        spun.drafted,
        spun.accepted,
        round(spun.total_s * 1000, 3),
    ]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _plain(values: dict[str, object]) -> dict[str, object]:
    return {key: value.value if isinstance(value, Enum) else value for key, value in values.items()}


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


def _line(out: TextIO, value: dict[str, object]) -> None:
    # ASCII JSON escapes every control and bidi character, so that a terminal cannot be reached through it.
    out.write(json.dumps(value) + "\n")
    out.flush()


_WRITERS = {Format.TEXT: _text_writer, Format.JSON: _json_writer, Format.STREAM_JSON: _stream_writer}
