"""A turn as JSON: one object at its end, or one for every event."""

import json
from collections.abc import Callable
from dataclasses import asdict
from enum import Enum
from typing import TextIO

from laguna_engine.events import Round, Source
from laguna_tui.base.events import AgentEvent, DraftRound, EditProposed, TurnFinished
from laguna_tui.headless.outcome import TurnOutcome, finish_detail

# In the place of a `TurnEnd`, when the turn was ended by an error.
_FAILED = "failed"


def turn_object(outcome: TurnOutcome, model: str, error: Exception | None = None) -> dict[str, object]:
    """The turn. model: its title. error: what ended the turn before its time, so that nothing is known of its end."""
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
        "rounds": [_short(spun) for spun in outcome.rounds],
    }


def turn_failed(error: Exception) -> dict[str, object]:
    """The last line of a stream whose turn an error ended: as `turn_finished`, with `error`."""
    return {"type": _snake(TurnFinished.__name__), "end": _FAILED, "detail": "", "error": _sentence(error)}


def _sentence(error: Exception) -> str:
    return str(error) or type(error).__name__


def json_writer(out: TextIO, log: TextIO) -> Callable[[AgentEvent], None]:
    """Shows no event: `turn_object` is written once the turn is over."""
    return lambda event: None


def stream_writer(out: TextIO, log: TextIO) -> Callable[[AgentEvent], None]:
    """Writes each event to `out` as a line."""

    def show(event: AgentEvent) -> None:
        write_line(out, {"type": _snake(type(event).__name__), **_fields(event)})

    return show


def _fields(event: AgentEvent) -> dict[str, object]:
    match event:
        case TurnFinished(end):
            return {"end": end.value, "detail": finish_detail(event), "error": None}
        case EditProposed(proposal, asks):
            told = {name: getattr(proposal, name) for name in ("path", "places", "diff", "warning")}
            return {**told, "asks": asks}
        case DraftRound(spun, stood, instead):
            return {**_round(spun), "stood": stood, "rejected": spun.rejected, "instead": instead}
        case _:
            return {key: _plain(getattr(event, key), value) for key, value in asdict(event).items()}


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


def _plain(value: object, as_dict: object) -> object:
    """A field's value for JSON: names for what has one, else what `asdict` made of it."""
    return value.value if isinstance(value, Enum | Source) else as_dict


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


def write_line(out: TextIO, value: dict[str, object]) -> None:
    """Write an object on a line of its own."""
    # ASCII JSON escapes every control and bidi character, so that a terminal cannot be reached through it.
    out.write(json.dumps(value) + "\n")
    out.flush()
