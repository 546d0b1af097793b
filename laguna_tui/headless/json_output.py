"""A turn as JSON: one object at its end, or one per event."""

import json
from collections.abc import Callable
from dataclasses import asdict
from enum import Enum
from typing import TextIO

from laguna_engine.events import Round, Source
from laguna_tui.base.events import (
    AgentEvent,
    ChangeMade,
    DraftRound,
    PermissionAnswered,
    PermissionAsked,
    TurnFinished,
)
from laguna_tui.base.permission_request import CallProposal, CommandProposal, PermissionRequest
from laguna_tui.headless.outcome import TurnOutcome, change_object, finish_detail

# The value of `end` when an error ended the turn.
_FAILED = "failed"


def turn_object(outcome: TurnOutcome, model: str, error: Exception | None = None) -> dict[str, object]:
    """Return the turn as an object. model: its title. error: the exception that ended the turn, if any."""
    return {
        "model": model,
        "answer": "".join(outcome.text),
        "corrected": outcome.corrected,
        "end": outcome.end.value if error is None else _FAILED,
        "detail": outcome.detail,
        "error": None if error is None else _sentence(error),
        "attached": outcome.attached,
        "notes": outcome.notes,
        "tools": outcome.tools,
        "edits": outcome.edits,
        "stats": {**outcome.rates(), "speculation": outcome.speculation()},
        "rounds": [_short(round_) for round_ in outcome.rounds],
    }


def turn_failed(error: Exception) -> dict[str, object]:
    """The last line of a stream whose turn an error ended: as `turn_finished`, with `error`."""
    return {"type": _snake(TurnFinished.__name__), "end": _FAILED, "detail": "", "error": _sentence(error)}


def _sentence(error: Exception) -> str:
    return str(error) or type(error).__name__


def json_writer(out: TextIO, log: TextIO) -> Callable[[AgentEvent], None]:
    """Return a writer that ignores events: `turn_object` is written once the turn is over."""
    return lambda event: None


def stream_writer(out: TextIO, log: TextIO) -> Callable[[AgentEvent], None]:
    """Return a writer of one line to `out` per event."""

    def show(event: AgentEvent) -> None:
        write_line(out, {"type": _snake(type(event).__name__), **_fields(event)})

    return show


def _fields(event: AgentEvent) -> dict[str, object]:
    match event:
        case TurnFinished(end):
            return {"end": end.value, "detail": finish_detail(event), "error": None}
        case PermissionAsked(call_id, request):
            return {"call_id": call_id, **_request(request)}
        case PermissionAnswered(call_id, answer, by):
            said = {"decision": answer.decision.value, "message": answer.message, "edited": answer.edited is not None}
            return {"call_id": call_id, **said, "by": by}
        case ChangeMade(call_id, change):
            return {"call_id": call_id, **change_object(change), "warning": change.warning}
        case DraftRound(round_, stood, instead):
            return {**_round(round_), "stood": stood, "rejected": round_.rejected, "instead": instead}
        case _:
            return {key: _plain(getattr(event, key), value) for key, value in asdict(event).items()}


def _request(request: PermissionRequest) -> dict[str, object]:
    """What is asked about: the fields of a change, a command or a call, and why."""
    about = {"tool": request.tool, "why": request.why, "sandbox": request.sandbox, "rule": request.rule}
    match request.proposal:
        case CommandProposal(command, folder, timeout_s, background):
            shown = {"command": command, "folder": str(folder), "timeout_s": timeout_s, "background": background}
            return {**about, **shown}
        case CallProposal(summary, details):
            return {**about, "summary": summary, "details": details}
        case change:
            return {**about, **change_object(change), "warning": change.warning}


def _round(round_: Round) -> dict[str, object]:
    """A round; times in milliseconds."""
    times = {"draft": round_.draft_s, "verify": round_.verify_s, "sample": round_.sample_s, "total": round_.total_s}
    return {
        "drafter": round_.drafter.value if round_.drafter else None,
        "drafted": round_.drafted,
        "accepted": round_.accepted,
        "ms": {name: round(seconds * 1000, 3) for name, seconds in times.items()},
        "reason": round_.reason,
    }


def _short(round_: Round) -> list[object]:
    """A round as a row: drafter, drafted, accepted, milliseconds."""
    return [
        round_.drafter.value if round_.drafter else None,
        round_.drafted,
        round_.accepted,
        round(round_.total_s * 1000, 3),
    ]


def _plain(value: object, as_dict: object) -> object:
    """A field's value for JSON: names for what has one, else what `asdict` made of it."""
    return value.value if isinstance(value, Enum | Source) else as_dict


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


def write_line(out: TextIO, value: dict[str, object]) -> None:
    """Write an object on a line of its own."""
    # ASCII JSON escapes every control and bidirectional character, so that none reaches a terminal.
    out.write(json.dumps(value) + "\n")
    out.flush()
