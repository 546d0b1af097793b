"""`laguna-tui ask`: one question, answered on stdout."""

import argparse
import json
import os
import select
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_tui.base.exit_codes import ExitCode
from laguna_tui.cli.arguments import number_above_zero
from laguna_tui.cli.session_options import (
    add_session_options,
    chosen_session,
    chosen_settings,
    forked,
    given_settings,
    kept_sessions,
)

if TYPE_CHECKING:
    from laguna_engine.constrain.json_schema import JsonSchema
    from laguna_tui.compose import AskOptions
    from laguna_tui.headless.time_limit import TimeLimit

EXIT_CODES = "exit codes of `ask`:\n" + "".join(f"  {code:<2} {code.meaning}\n" for code in ExitCode)
# A pipe that nobody writes to is mostly one that a script left open.
_PATIENCE_S = 3.0
_WAITING = "laguna-tui: waiting for the end of stdin, which goes along with the question; for none: < /dev/null\n"
# More than fits into any context, by far.
_PIPED_BYTES = 4 << 20
_TOO_LONG = "laguna-tui: of the piped text only the first {limit:,} bytes are read\n"
_READ_BYTES = 1 << 16
_SCHEMA_BYTES = 1 << 20
_STDIN_OPEN = "The time limit was reached before stdin ended (for none: < /dev/null), so nothing was asked."
_NOT_OPENED = "The time limit was reached before the model was open, so nothing was asked."
# A week.
_LONGEST_S = 7 * 24 * 3600


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `ask` to the command line."""
    parser = commands.add_parser(
        "ask",
        help="answer one question and exit",
        description="Answer one question about the folder and exit. Piped input is sent along with the question, "
        "or is the question if there is none.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("question", nargs="*", help="the question; read from stdin if omitted or -")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--json", dest="form", action="store_const", const="json", help="one JSON object at the end")
    shape.add_argument(
        "--stream-json",
        dest="form",
        action="store_const",
        const="stream-json",
        help="one JSON object per event",
    )
    parser.add_argument("--stats", action="store_true", help="print the measured rates to stderr")
    parser.add_argument("--verbose", action="store_true", help="print command output to stderr as it comes")
    parser.add_argument(
        "--timeout",
        type=number_above_zero("a number of seconds", _LONGEST_S),
        metavar="SECONDS",
        help="stop after this long, counted from the start (default: no limit)",
    )
    parser.add_argument(
        "--schema",
        type=Path,
        metavar="FILE",
        help="answer with JSON that this JSON schema accepts, on stdout as the model writes it",
    )
    for flag, does in (("--allow", "allow without asking"), ("--deny", "never allow")):
        what = f"what to {does}, such as edit(src/**) or shell(pytest); may be given several times"
        parser.add_argument(flag, action="append", default=[], metavar="RULE", help=what)
    add_session_options(parser, nested=True)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Answer the question; returns the exit code.

    Raises:
        UserError: There is no question, the settings name a model that does not exist, a rule is none, or the session
            cannot be resumed.
    """
    from laguna_tui.base.events import TurnEnd, TurnFinished
    from laguna_tui.base.settings import load_settings
    from laguna_tui.compose import run_ask
    from laguna_tui.headless import run as headless
    from laguna_tui.headless.time_limit import TimeLimit, TimeLimitReached

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


def _options(arguments: argparse.Namespace, limit: "TimeLimit", session: str, piped: str) -> "AskOptions":
    from laguna_tui.compose import AskOptions

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
    """The constraint of the schema in a file.

    Raises:
        UserError: It cannot be read, or is no schema that can be held.
    """
    from laguna_engine.constrain.json_schema import JsonSchema
    from laguna_engine.errors import RequestError
    from laguna_tui.base.errors import UserError
    from laguna_tui.base.named_file import read_named_text

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
    """The folder that is asked about, and the session to resume; empty for none."""
    from laguna_tui.cli.arguments import folder_of, project_folder

    if arguments.resume and arguments.folder is None:
        found = kept_sessions().find(arguments.resume, folder_of(None))
        return found.folder, forked(arguments, found.id, found.folder)
    folder = project_folder(arguments.folder)
    return folder, chosen_session(arguments, folder) or ""


def _question(given: list[str]) -> tuple[str, str]:
    """The question, and the text that was piped in along with it."""
    from laguna_tui.base.errors import UserError

    words = " ".join(given)
    if words in ("", "-"):
        if sys.stdin.isatty():
            raise UserError('no question given; ask like this: laguna-tui ask "where is main defined?"')
        words, piped = _decoded(sys.stdin.buffer.read(_PIPED_BYTES + 1)), ""
    elif words.strip():
        piped = _piped()
    if not words.strip():
        raise UserError("the question is empty")
    return words.strip(), piped


def _piped() -> str:
    """The text on stdin, if it is a pipe or a file. Raises UserError if it is not text."""
    from laguna_tui.base.text import sanitize

    try:
        descriptor = sys.stdin.fileno()
        kind = os.fstat(descriptor).st_mode
    except (OSError, ValueError):  # closed, or replaced by something that is no file
        return ""
    if not (stat.S_ISFIFO(kind) or stat.S_ISREG(kind) or stat.S_ISSOCK(kind)):
        return ""
    if not select.select([descriptor], [], [], _PATIENCE_S)[0]:
        sys.stderr.write(_WAITING)
        sys.stderr.flush()
    data = bytearray()
    while len(data) <= _PIPED_BYTES and (piece := os.read(descriptor, _READ_BYTES)):
        data += piece
    return sanitize(_decoded(data)).strip("\n")


def _decoded(data: bytes | bytearray) -> str:
    """The text that was read from stdin, up to the limit. Raises UserError if it is not text."""
    from laguna_tui.base.errors import UserError

    if b"\0" in data:
        raise UserError("stdin is not text; pipe text in, or take it away: < /dev/null")
    if len(data) > _PIPED_BYTES:
        sys.stderr.write(_TOO_LONG.format(limit=_PIPED_BYTES))
    return data[:_PIPED_BYTES].decode("utf-8", errors="replace")
