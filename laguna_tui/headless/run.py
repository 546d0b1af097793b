"""`laguna-tui ask`: the agent's events as plain text or JSON.

The answer goes to stdout, everything else to stderr. No escape sequences are written: all text passes the sanitizer,
and colours are not used.
"""

import sys
from collections.abc import Iterator
from contextlib import suppress
from enum import Enum

from laguna_tui.base.events import AgentEvent
from laguna_tui.headless.json_output import json_writer, stream_writer, turn_failed, turn_object, write_line
from laguna_tui.headless.outcome import ExitCode, TurnOutcome
from laguna_tui.headless.text_output import end_lines, finish_text, text_writer


class Format(Enum):
    """Format of stdout."""

    TEXT = "text"
    JSON = "json"
    STREAM_JSON = "stream-json"


def run(events: Iterator[AgentEvent], form: Format, model: str, *, stats: bool, opened: str = "") -> ExitCode:
    """Write the events of one turn; returns the exit code.

    Exceptions of `events` are passed on. For an Exception the object of `Format.JSON`, or the last line of
    `Format.STREAM_JSON`, is written first: edits may have been made.

    Args:
        events: One turn of the agent.
        form: Format of stdout.
        model: Title of the model, for the JSON.
        stats: Also write the measured rates to stderr (text format).
        opened: How the model is opened, written with them.
    """
    outcome = TurnOutcome()
    show = _WRITERS[form](sys.stdout, sys.stderr)
    try:
        for event in events:
            outcome.add(event)
            show(event)
    except BaseException as error:
        # The reader of stdout may be gone, which the exception already says.
        with suppress(OSError):
            if form is Format.TEXT:
                end_lines(outcome)
            if isinstance(error, Exception) and form is not Format.TEXT:
                whole = form is Format.JSON
                write_line(sys.stdout, turn_object(outcome, model, error) if whole else turn_failed(error))
        raise
    if form is Format.JSON:
        write_line(sys.stdout, turn_object(outcome, model))
    if form is Format.TEXT:
        finish_text(outcome, stats=stats, opened=opened)
    return outcome.exit_code


_WRITERS = {Format.TEXT: text_writer, Format.JSON: json_writer, Format.STREAM_JSON: stream_writer}
