"""The command line: parses the arguments, then imports the module of the command."""

import argparse
import contextlib
import errno
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_engine.errors import EngineError
from laguna_tui import __version__
from laguna_tui.base.errors import UserError
from laguna_tui.base.exit_codes import ExitCode
from laguna_tui.base.text import sanitize
from laguna_tui.cli.arguments import SuggestingParser, commands_of, folder_of

if TYPE_CHECKING:
    from laguna_tui.base.app_report import AppReport, Start

COMMANDS = {
    "ask": "answer one question and exit",
    "sessions": "list, search, rename, copy, delete and export saved sessions",
    "models": "list, download, verify and remove models",
    "fit": "show whether a model runs on this machine, and how",
    "index": "index the code in a folder",
    "search": "find the code that a few words describe",
    "map": "show the most important definitions in a folder",
    "compress": "shorten files to what a question needs",
    "permissions": "list and add rules for what the model may do",
    "trust": "let a folder's AGENTS.md instruct the model",
    "mcp": "list MCP servers and their tools, or trust a folder's",
    "serve": "serve the model to other programs over HTTP",
    "acp": "run as the agent of an editor (Agent Client Protocol)",
    "setup": "use this machine's graphics card",
    "doctor": "check this machine and say what to do",
    "selfcheck": "compare what this machine computes with what it should",
    "bench": "measure what speculative decoding gains here",
    "eval": "measure how many tasks a model solves",
    "quantize-drafter": "make a drafter's file smaller",
    "keys": "show the keys in effect, and what is wrong in keys.toml",
    "completions": "print shell completions",
    "help": "show a page of the manual",
}
"""The summary of each command. Its module has its name, and is imported only where the command is given."""

_WITHOUT_SETTINGS = ("index", "search", "map")
"""They answer in less time than it takes to declare an option for each setting."""
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
_ENDING = ("SIGINT", "SIGTERM", "SIGHUP")
_HANGUP = getattr(signal, "SIGHUP", None)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the given command; returns the exit code."""
    _remove_working_folder_from_path()
    _remove_stale_size()
    with _ending_on_signals() as ended_by:
        _open_closed_streams()
        given = list(sys.argv[1:] if argv is None else argv)
        parser = command_parser(given)
        words, message = split_message(parser, given)
        arguments = parser.parse(words)
        arguments.first_message = message
        if message and arguments.run is not _tui:
            parser.error('a message opens the TUI and takes no command; for one answer: laguna-tui ask "QUESTION"')
        try:
            return _guarded(arguments.run, arguments, UserError, EngineError)
        except Exception:
            # An exception raised by a signal handler inside a callback from C code comes out as another one.
            if not ended_by:
                raise
            return 128 + ended_by[0]


class _ShowVersion(argparse.Action):
    """Prints the version, then what the installed llama.cpp is, which may not load."""

    def __call__(self, parser: argparse.ArgumentParser, *given: object) -> None:
        from laguna_engine.native.build_info import describe_build
        from laguna_tui.cli.console import say

        say([f"laguna-tui {__version__}"])
        try:
            say([f"llama.cpp: {describe_build()}"])
        except EngineError as error:
            parser.exit(1, f"{sanitize(str(error))}\n")
        parser.exit()


def command_parser(words: Sequence[str] | None = None) -> SuggestingParser:
    """Return the parser of a command line, which declares the arguments of the commands in it only.

    words: The command line; None for the arguments of all commands.
    """
    parser = SuggestingParser(
        prog="laguna-tui",
        usage="%(prog)s [OPTIONS] [COMMAND | TEXT]",
        description="A terminal coding assistant with the model inside it. Without a command, it opens the TUI."
        ' Text that contains a space or follows -- is its first message: laguna-tui "what does this do?"',
    )
    parser.add_argument(
        "--version", action=_ShowVersion, nargs=0, help="show the versions of the app and of llama.cpp, and exit"
    )
    parser.set_defaults(run=_tui)
    if words and words[0] in _WITHOUT_SETTINGS:
        parser.set_defaults(folder=None)
    else:
        from laguna_tui.cli.session_options import add_session_options

        add_session_options(parser)
    base: argparse.ArgumentParser = parser
    commands = base.add_subparsers(title="commands", metavar="COMMAND", prog=parser.prog)
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary)
        if words is None or name in words:
            import_module(f"laguna_tui.cli.{name.replace('-', '_')}").add_arguments(command)
    return parser


def split_message(parser: argparse.ArgumentParser, words: Sequence[str]) -> tuple[list[str], str]:
    """Take the first message for the TUI out of the words: one that contains a blank, or follows `--`.

    A word without a blank is a command, or a misspelt one.

    Returns:
        The other words, and the message; empty if there is none.
    """
    options, commands = parser._option_string_actions, commands_of(parser)
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            return list(words[:at]), " ".join(words[at + 1 :])
        if not word.startswith("-"):
            is_message = word not in commands and any(map(str.isspace, word.strip()))
            return ([*words[:at], *words[at + 1 :]], word) if is_message else (list(words), "")
        action = options.get(word)
        value = words[at + 1 : at + 2]
        # An option whose value is optional takes whatever is not an option.
        takes_value = action is not None and (
            action.nargs is None or (action.nargs == "?" and not "".join(value).startswith("-"))
        )
        at += 2 if takes_value else 1
    return list(words), ""


@contextlib.contextmanager
def _ending_on_signals() -> Iterator[Sequence[int]]:
    """Let SIGTERM and a closed terminal end a command as Ctrl-C does: children and partial files are cleaned up.

    Yields the signals received. A second one ends the program at once, except that a closed terminal is reported
    twice, by the kernel and by the shell.
    """
    received: list[int] = []

    def end(number: int, _: object) -> None:
        received.append(number)
        signal.signal(number, signal.SIG_IGN if number == _HANGUP else signal.SIG_DFL)
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    numbers = [number for name in _ENDING if (number := getattr(signal, name, None)) is not None]
    before = {number: signal.getsignal(number) for number in numbers}
    ours = {number for number, handler in before.items() if handler in (signal.SIG_DFL, signal.default_int_handler)}
    for number in ours:
        signal.signal(number, end)
    try:
        yield received
    finally:
        for number in ours:
            signal.signal(number, before[number])


def _remove_working_folder_from_path() -> None:
    """Remove the working folder from the module path, where an empty entry of PYTHONPATH puts it.

    Later imports then find only Python's and the app's modules, whatever the user's files are called. It stays if the
    app is in it.
    """
    with contextlib.suppress(FileNotFoundError):
        folder = str(Path.cwd())
        if folder != str(Path(__file__).resolve().parents[2]):
            sys.path[:] = [entry for entry in sys.path if entry not in ("", ".", folder)]


def _remove_stale_size() -> None:
    """Remove COLUMNS and LINES from the environment if a terminal reports its size.

    They may describe another terminal (`docker exec -e COLUMNS`), and they don't follow when this one is resized.
    """
    for stream in range(3):
        with contextlib.suppress(OSError):
            if all(os.get_terminal_size(stream)):
                os.environ.pop("COLUMNS", None)
                os.environ.pop("LINES", None)


def _open_closed_streams() -> None:
    """Replace closed standard streams (`>&-`), which are None in Python, by the null device."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 (until the end)


def _guarded(
    run: Callable[[argparse.Namespace], int], arguments: argparse.Namespace, *expected: type[Exception]
) -> int:
    """Run a command; returns its exit code. Errors of the `expected` types are shown as a sentence."""
    try:
        try:
            code = int(run(arguments))
            sys.stdout.flush()
            return code
        except expected as error:
            sys.stderr.write(f"laguna-tui: {sanitize(str(error))}\n")
            return ExitCode.USAGE.value
        except KeyboardInterrupt:
            return ExitCode.INTERRUPTED.value
    except BrokenPipeError:
        # The reader is gone (`| head`): there is nothing to report, and the interpreter must not report it either.
        _discard_output()
        return 128 + signal.SIGPIPE
    except OSError as error:
        if error.filename is not None or error.errno not in _DISK_FULL:
            raise
        _discard_output()
        sys.stderr.write(f"laguna-tui: {error.strerror}; free some space and try again\n")
        return ExitCode.FAILED


def _discard_output() -> None:
    """Discard buffered output, so that it raises no error when the interpreter exits."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
            continue
        os.dup2(nowhere, stream.fileno())


def _tui(arguments: argparse.Namespace) -> int:
    # Not imported at the top: commands are faster without the TUI's parent process and settings.
    from laguna_tui.supervise import run_supervised

    if _is_plain(arguments):
        return _plain_here(arguments)
    # Textual draws on stderr, so a redirected one would swallow the screen.
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        sys.stderr.write(
            'laguna-tui: the TUI needs a terminal; in a pipe, use: laguna-tui ask "QUESTION", or laguna-tui --plain\n'
        )
        return ExitCode.USAGE
    return run_supervised(lambda start, report: _guarded(partial(_tui_here, start, report), arguments, UserError))


def _is_plain(arguments: argparse.Namespace) -> bool:
    """Return whether the chat is of plain lines: because the user wants it, or the terminal can show nothing else."""
    from laguna_tui.base.settings import load_settings
    from laguna_tui.cli.session_options import chosen_settings

    dumb = sys.stdin.isatty() and os.environ.get("TERM") == "dumb"
    return load_settings().merged(chosen_settings(arguments)).plain or dumb


def _plain_here(arguments: argparse.Namespace) -> int:
    from laguna_tui.base.settings import load_settings
    from laguna_tui.cli.session_options import chosen_session, chosen_settings, given_settings
    from laguna_tui.compose import run_plain

    folder = folder_of(arguments.folder)
    return run_plain(
        load_settings().merged(chosen_settings(arguments)),
        folder,
        named=arguments.folder is not None,
        question=arguments.first_message,
        resume=chosen_session(arguments, folder),
        given=given_settings(arguments),
    )


def _tui_here(start: "Start", report: "AppReport", arguments: argparse.Namespace) -> int:
    from laguna_tui.base.settings import load_settings
    from laguna_tui.cli.session_options import chosen_session, chosen_settings, given_settings
    from laguna_tui.compose import run_tui

    if start.folder:
        os.chdir(start.folder)
    folder = folder_of(Path(start.folder) if start.folder else arguments.folder)
    return run_tui(
        load_settings().merged(chosen_settings(arguments)),
        folder,
        named=bool(start.folder) or arguments.folder is not None,
        question="" if start.session else arguments.first_message,
        resume=start.session or chosen_session(arguments, folder),
        given=frozenset() if start.session else given_settings(arguments),
        report=report,
    )
