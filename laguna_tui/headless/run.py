"""`laguna-tui ask`: the agent's events as plain text or JSON.

The answer goes to stdout, everything about it to stderr. Nothing here writes an escape sequence: all text passes
the sanitizer, and colour is not used.
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
    """How an answer is written to stdout."""

    TEXT = "text"
    JSON = "json"
    STREAM_JSON = "stream-json"


def run(events: Iterator[AgentEvent], form: Format, model: str, *, stats: bool, opened: str = "") -> ExitCode:
    """Write the events of one turn in the given format; returns the exit code.

    What `events` raises comes out of here as it is. If it is an Exception, the object of `Format.JSON` or the last
    line of `Format.STREAM_JSON` was written before: edits may have been made.

    Args:
        events: one turn of the agent.
        form: how stdout is written.
        model: the model's title, recorded in JSON.
        stats: also print the measured rates to stderr (text format). opened: how the model is, for the same place.
    """
    outcome = TurnOutcome()
    show = _WRITERS[form](sys.stdout, sys.stderr)
    try:
        for event in events:
            outcome.add(event)
            show(event)
    except BaseException as error:
        # Nobody may read any more, which is what is raised already.
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
