"""`laguna-tui ask`: one question, answered on stdout."""

import argparse
import json
import os
import select
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_engine.errors import RequestError
from laguna_tui.base.errors import UserError
from laguna_tui.base.events import TurnEnd, TurnFinished
from laguna_tui.base.exit_codes import ExitCode
from laguna_tui.base.named_file import read_named_text
from laguna_tui.base.settings import load_settings
from laguna_tui.base.text import sanitize
from laguna_tui.cli.arguments import folder_of, number, project_folder
from laguna_tui.cli.console import warn
from laguna_tui.cli.session_options import (
    add_session_options,
    chosen_session,
    chosen_settings,
    forked,
    given_settings,
    saved_sessions,
)
from laguna_tui.compose import AskOptions, run_ask
from laguna_tui.headless import run as headless
from laguna_tui.headless.time_limit import TimeLimit, TimeLimitReached

if TYPE_CHECKING:
    from laguna_engine.constrain.json_schema import JsonSchema

EXIT_CODES = "exit codes of `ask`:\n" + "".join(f"  {code:<3} {code.meaning}\n" for code in ExitCode)
_STDIN_WAIT_S = 3.0
"""A pipe that nobody writes to for so long is mostly one that a script left open."""
_WAITING = "waiting for the end of stdin, which is sent along with the question; to send nothing: < /dev/null"
_PIPED_BYTES = 4 << 20
"""More than fits into any context, by far."""
_TOO_LONG = "only the first {limit:,} bytes of stdin are used"
_READ_BYTES = 1 << 16
_SCHEMA_BYTES = 1 << 20
_STDIN_OPEN = "The time limit was reached before stdin ended (to send nothing: < /dev/null), so nothing was asked."
_NOT_OPENED = "The time limit was reached before the model was open, so nothing was asked."
_LONGEST_S = 7 * 24 * 3600
"""A week."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `ask`."""
    parser.description = (
        "Answer one question about the folder and exit. Text piped in is sent along with the question, or is the"
        " question if there is none."
    )
    parser.epilog = EXIT_CODES
    parser.add_argument("question", nargs="*", help="the question; read from stdin if missing or -")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument(
        "--json", dest="form", action="store_const", const="json", help="print one JSON object at the end"
    )
    shape.add_argument(
        "--stream-json",
        dest="form",
        action="store_const",
        const="stream-json",
        help="print one JSON object per event",
    )
    parser.add_argument("--stats", action="store_true", help="print the measured rates to stderr")
    parser.add_argument("--verbose", action="store_true", help="print the output of commands to stderr as it comes")
    parser.add_argument(
        "--timeout",
        type=number(_LONGEST_S),
        metavar="SECONDS",
        help="stop after so many seconds, counted from the start (default: no limit)",
    )
    parser.add_argument(
        "--schema",
        type=Path,
        metavar="FILE",
        help="answer with JSON that this JSON schema accepts",
    )
    for flag, does in (("--allow", "allow without asking"), ("--deny", "never allow")):
        what = f"what to {does}, such as edit(src/**) or shell(pytest); may be given several times"
        parser.add_argument(flag, action="append", default=[], metavar="RULE", help=what)
    add_session_options(parser, nested=True)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Answer the question; returns the exit code.

    Raises:
        UserError: There is no question, a setting or a rule is wrong, or the session cannot be resumed.
    """
    form = headless.OutputFormat(arguments.form or "text")
    with TimeLimit(arguments.timeout) as limit:
        late = _STDIN_OPEN
        try:
            settings = load_settings().merged(chosen_settings(arguments))
            folder, session = _folder_and_session(arguments)
            question, piped = _question(arguments.question)
            late = _NOT_OPENED
            return run_ask(settings, folder, question, form, _options(arguments, limit, session, piped))
        except TimeLimitReached:
            ended = TurnFinished(TurnEnd.TIMED_OUT, late)
            return headless.run(iter((ended,)), form, arguments.model or "", stats=False)


def _options(arguments: argparse.Namespace, limit: TimeLimit, session: str, piped: str) -> AskOptions:
    return AskOptions(
        stats=arguments.stats,
        verbose=arguments.verbose,
        allow=tuple(arguments.allow),
        deny=tuple(arguments.deny),
        limit=limit,
        piped=piped,
        resume=session,
        given=given_settings(arguments),
        schema=_schema(arguments.schema) if arguments.schema else None,
    )


def _schema(path: Path) -> "JsonSchema":
    """Return the constraint of the schema in a file.

    Raises:
        UserError: It cannot be read, or is not a schema that can be enforced.
    """
    # Not imported at the top: it takes as long as all of `ask` before the model is opened.
    from laguna_engine.constrain.json_schema import JsonSchema

    text = read_named_text("--schema", path, _SCHEMA_BYTES, "give a file with a JSON schema")
    try:
        return JsonSchema.checked(json.loads(text))
    except ValueError as error:
        raise UserError(f"--schema {path} is not JSON ({error}); give a JSON schema") from error
    except RecursionError as error:
        raise UserError(f"--schema {path} is nested too deeply; give a simpler JSON schema") from error
    except RequestError as error:
        raise UserError(f"--schema {path}: {error}") from error


def _folder_and_session(arguments: argparse.Namespace) -> tuple[Path, str]:
    """Return the folder to ask about, and the session to resume; empty for none."""
    if arguments.resume and arguments.folder is None:
        found = saved_sessions().find(arguments.resume, folder_of(None))
        return found.folder, forked(arguments, found.id, found.folder)
    folder = project_folder(arguments.folder)
    return folder, chosen_session(arguments, folder) or ""


def _question(given: list[str]) -> tuple[str, str]:
    """Return the question, and the text that was piped in along with it."""
    words = " ".join(given)
    if words in ("", "-"):
        if sys.stdin.isatty():
            raise UserError('there is no question; ask like this: laguna-tui ask "where is main defined?"')
        words, piped = _decoded(sys.stdin.buffer.read(_PIPED_BYTES + 1)), ""
    elif words.strip():
        piped = _piped()
    if not words.strip():
        raise UserError("the question is empty")
    return words.strip(), piped


def _piped() -> str:
    """Return the text on stdin, if it is a pipe or a file. Raises UserError if it is not text."""
    try:
        descriptor = sys.stdin.fileno()
        kind = os.fstat(descriptor).st_mode
    except (OSError, ValueError):  # closed, or replaced by something that is not a file
        return ""
    if not (stat.S_ISFIFO(kind) or stat.S_ISREG(kind) or stat.S_ISSOCK(kind)):
        return ""
    if not select.select([descriptor], [], [], _STDIN_WAIT_S)[0]:
        warn(_WAITING)
        sys.stderr.flush()
    data = bytearray()
    while len(data) <= _PIPED_BYTES and (piece := os.read(descriptor, _READ_BYTES)):
        data += piece
    return sanitize(_decoded(data)).strip("\n")


def _decoded(data: bytes | bytearray) -> str:
    """Return the text that was read from stdin, up to the limit. Raises UserError if it is not text."""
    if b"\0" in data:
        raise UserError("stdin is not text; pipe text in, or nothing: < /dev/null")
    if len(data) > _PIPED_BYTES:
        warn(_TOO_LONG.format(limit=_PIPED_BYTES))
    return data[:_PIPED_BYTES].decode("utf-8", errors="replace")
