"""A turn as JSON: one object at its end, or one per event.

Texts are exact, and secrets in them are not redacted: the reader is a program of the user.
"""

import json
import math
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import TextIO

from msgspec import structs

from laguna_engine.events import Round, Source
from laguna_tui.base.events import (
    AgentEvent,
    ChangeMade,
    DraftRound,
    PermissionAnswered,
    PermissionAsked,
    TodoItem,
    TurnFinished,
)
from laguna_tui.headless.outcome import TurnOutcome, answer_object, change_object, finish_detail, request_object

_FAILED = "failed"
"""The value of `end` when an error ended the turn."""


def turn_object(outcome: TurnOutcome, model: str, error: Exception | None = None) -> dict[str, object]:
    """Return the turn as an object. model: Its title. error: The exception that ended the turn, if any."""
    return {
        "model": model,
        "answer": "".join(outcome.text),
        "corrected": outcome.corrected,
        "written_by": "model" if outcome.looked_up is None else "index",
        "end": outcome.end.value if error is None else _FAILED,
        "detail": outcome.detail,
        "error": None if error is None else _sentence(error),
        "attached": outcome.attached,
        "notes": outcome.notes,
        "tools": outcome.tools,
        "rejected": outcome.rejected,
        "edits": outcome.edits,
        "permissions": outcome.permissions,
        "denied": outcome.denied,
        "todo": outcome.todo,
        "compactions": outcome.compactions,
        "stats": {**outcome.rates(), "speculation": outcome.speculation()},
        "rounds": [_short(round_) for round_ in outcome.rounds],
    }


def turn_failed(error: Exception) -> dict[str, object]:
    """Return the last line of a stream whose turn an error ended: like `turn_finished`, with `error`."""
    return {"type": _snake(TurnFinished.__name__), "end": _FAILED, "detail": "", "error": _sentence(error)}


def _sentence(error: Exception) -> str:
    return str(error) or type(error).__name__


def stream_writer(out: TextIO) -> Callable[[AgentEvent], None]:
    """Return a function that writes each event to `out`, as a line."""

    def show(event: AgentEvent) -> None:
        write_line(out, event_object(event))

    return show


def event_object(event: AgentEvent) -> dict[str, object]:
    """Return an event as a line of the stream. Its `type` is the name of its class in snake case, and never changes."""
    return {"type": _snake(type(event).__name__), **_fields(event)}


def _fields(event: AgentEvent) -> dict[str, object]:
    match event:
        case TurnFinished(end):
            return {"end": end.value, "detail": finish_detail(event), "error": None}
        case PermissionAsked(call_id, request):
            return {"call_id": call_id, **request_object(request)}
        case PermissionAnswered(call_id, answer, by):
            return {"call_id": call_id, **answer_object(answer), "by": by}
        case ChangeMade(call_id, change):
            return {"call_id": call_id, **change_object(change), "warning": change.warning}
        case DraftRound(round_, accepted_text, instead):
            texts = {"accepted_text": accepted_text, "rejected": round_.rejected, "instead": instead}
            return {**_round(round_), **texts}
        case _:
            return structs.asdict(event)


def _round(round_: Round) -> dict[str, object]:
    """Return a round; times are in milliseconds."""
    times = {"draft": round_.draft_s, "verify": round_.verify_s, "sample": round_.sample_s, "total": round_.total_s}
    return {
        "drafter": round_.drafter.value if round_.drafter else None,
        "drafted": round_.drafted,
        "accepted": round_.accepted,
        "ms": {name: round(seconds * 1000, 3) for name, seconds in times.items()},
        "reason": round_.reason,
    }


def _short(round_: Round) -> list[object]:
    """Return a round as a row: drafter, drafted, accepted, milliseconds."""
    return [
        round_.drafter.value if round_.drafter else None,
        round_.drafted,
        round_.accepted,
        round(round_.total_s * 1000, 3),
    ]


def _plain(value: object) -> object:
    """Return a value as JSON has it: the names of enums, null for a number that is not finite."""
    match value:
        case TodoItem(text, state):
            return {"text": text, "state": state.name.lower()}
        case Enum() | Source():
            return value.value
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {str(key): _plain(each) for key, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case Path():
            return str(value)
        case _ if is_dataclass(value):
            return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
        case _:
            return value


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


def write_line(out: TextIO, value: dict[str, object]) -> None:
    """Write an object as a line."""
    # ASCII JSON escapes control and bidirectional characters, so none reaches a terminal.
    out.write(json.dumps(_plain(value), allow_nan=False) + "\n")
    out.flush()
