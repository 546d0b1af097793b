"""`laguna-tui ask`: the agent's events as plain text or JSON.

The answer goes to stdout, everything else to stderr. All text for a terminal passes the sanitizer, without colours; the
only escape sequences are those of the progress line. In a pipe or a file, the answer is what the model wrote.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from enum import Enum

from laguna_tui.base.events import AgentEvent, Choosing
from laguna_tui.base.exit_codes import ExitCode
from laguna_tui.base.progress import ProgressLine
from laguna_tui.headless.json_output import stream_writer, turn_failed, turn_object, write_line
from laguna_tui.headless.outcome import TurnOutcome
from laguna_tui.headless.text_output import end_lines, finish_text, text_writer


class OutputFormat(Enum):
    """The format of stdout."""

    TEXT = "text"
    JSON = "json"
    STREAM_JSON = "stream-json"


def run(
    events: Iterator[AgentEvent],
    form: OutputFormat,
    model: str,
    *,
    stats: bool,
    opened: str = "",
    verbose: bool = False,
) -> ExitCode:
    """Write the events of one turn; returns the exit code.

    Exceptions of `events` are raised again. Before an Exception, the object of `OutputFormat.JSON` or the last line of
    `OutputFormat.STREAM_JSON` is written: files may have been changed.

    Args:
        events: One turn of the agent.
        form: Format of stdout.
        model: Title of the model, for the JSON.
        stats: Also write the measured rates to stderr (text format).
        opened: How the model was opened, written with them.
        verbose: Also write the output of commands to stderr as it comes (text format).
    """
    outcome = TurnOutcome()
    show = _writer(form, verbose=verbose)
    try:
        with ProgressLine() as progress:
            for event in events:
                outcome.add(event)
                _show_progress(progress, event)
                show(event)
    except BaseException as error:
        # The reader of stdout may be gone; the exception says so already.
        with suppress(OSError):
            if form is OutputFormat.TEXT:
                end_lines(outcome)
            if isinstance(error, Exception):
                write_failure(form, model, error, outcome)
        raise
    if form is OutputFormat.JSON:
        write_line(sys.stdout, turn_object(outcome, model))
    if form is OutputFormat.TEXT:
        finish_text(outcome, stats=stats, opened=opened)
    return outcome.exit_code


def write_failure(form: OutputFormat, model: str, error: Exception, outcome: TurnOutcome | None = None) -> None:
    """Write a turn that an error ended as JSON; nothing as text. outcome: None if the turn never began."""
    if form is OutputFormat.JSON:
        write_line(sys.stdout, turn_object(outcome or TurnOutcome(), model, error))
    elif form is OutputFormat.STREAM_JSON:
        write_line(sys.stdout, turn_failed(error))


def _show_progress(line: ProgressLine, event: AgentEvent) -> None:
    """Show the progress of choosing what to keep of files; any other event clears the line."""
    if isinstance(event, Choosing):
        without = "" if event.limit_s is None else "; or --scorer none"
        line.show(f"{event.doing}{event.how_far}{without}")
    else:
        line.clear()


def _writer(form: OutputFormat, *, verbose: bool) -> Callable[[AgentEvent], None]:
    if form is OutputFormat.TEXT:
        return text_writer(sys.stdout, sys.stderr, verbose=verbose)
    # The one object is written when the turn is over.
    return stream_writer(sys.stdout) if form is OutputFormat.STREAM_JSON else lambda event: None
