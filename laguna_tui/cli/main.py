"""The command line: parses the arguments, and imports heavy modules only after that."""

import argparse
import contextlib
import errno
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_tui import __version__
from laguna_tui.cli import index
from laguna_tui.cli.arguments import SuggestingParser, commands_of, folder_of

if TYPE_CHECKING:
    from laguna_tui.base.app_report import AppReport, Start

_PROGRAM = "laguna-tui"
_SEARCHING = [[name] for name in index.COMMANDS]
_FULL = (errno.ENOSPC, errno.EDQUOT)
_ENDING = ("SIGINT", "SIGTERM", "SIGHUP")
_CLOSED = getattr(signal, "SIGHUP", None)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the given command; returns the exit code."""
    _forget_folder()
    _forget_size()
    with _ending_on_signals() as ended_by:
        _open_streams()
        given = list(sys.argv[1:] if argv is None else argv)
        parser = searching_parser() if given[:1] in _SEARCHING else command_parser()
        words, question = without_question(parser, given)
        arguments = parser.parse(words)
        arguments.first_message = question
        if question and arguments.run is not _tui:
            parser.error('a message goes to the TUI, without a command; for one answer: laguna-tui ask "QUESTION"')
        run: Callable[[argparse.Namespace], int] = arguments.run
        try:
            return _guarded(run, arguments)
        except Exception:
            # An exception raised by a signal handler inside a callback from C code comes out as another one.
            if not ended_by:
                raise
            return 128 + ended_by[0]


@contextlib.contextmanager
def _ending_on_signals() -> Iterator[Sequence[int]]:
    """Let SIGTERM, or closing the terminal, end a command as Ctrl-C does: children and partial files are cleaned up.

    Yields the list of received signals. A second signal ends the program at once, except that a closed terminal is
    reported twice, by the kernel and by the shell.
    """
    received: list[int] = []

    def end(number: int, _: object) -> None:
        received.append(number)
        signal.signal(number, signal.SIG_IGN if number == _CLOSED else signal.SIG_DFL)
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


def _forget_folder() -> None:
    """Remove the working folder from the module path, where an empty part of PYTHONPATH puts it.

    Later imports then find only Python's and the app's modules, whatever the user's are called. It stays if the app is
    in it.
    """
    with contextlib.suppress(FileNotFoundError):
        folder = str(Path.cwd())
        if folder != str(Path(__file__).resolve().parents[2]):
            sys.path[:] = [entry for entry in sys.path if entry not in ("", ".", folder)]


def _forget_size() -> None:
    """Remove COLUMNS and LINES from the environment if a terminal says how large it is.

    They may describe another terminal (`docker exec -e COLUMNS`) and never change when this one does.
    """
    for stream in range(3):
        with contextlib.suppress(OSError):
            if all(os.get_terminal_size(stream)):
                os.environ.pop("COLUMNS", None)
                os.environ.pop("LINES", None)


def _open_streams() -> None:
    """Replace closed standard streams (`>&-`), which are None in Python, by the null device."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 (until the end)


def _guarded(run: Callable[[argparse.Namespace], int], arguments: argparse.Namespace) -> int:
    try:
        return _ended(run, arguments)
    except BrokenPipeError:
        # The reader is gone (`| head`): there is nothing to report, and the interpreter must not report it either.
        _forget_output()
        return 141
    except OSError as error:
        if error.filename is not None or error.errno not in _FULL:
            raise
        _forget_output()
        sys.stderr.write(f"laguna-tui: {error.strerror}: make room where it writes, and run it again\n")
        return 1


def _ended(run: Callable[[argparse.Namespace], int], arguments: argparse.Namespace) -> int:
    from laguna_tui.base.errors import UserError
    from laguna_tui.base.text import sanitize

    try:
        code = run(arguments)
        sys.stdout.flush()
        return code
    except UserError as error:
        sys.stderr.write(f"laguna-tui: {sanitize(str(error))}\n")
        return 2
    except KeyboardInterrupt:
        return 130


def _forget_output() -> None:
    """Discard buffered output, so that it raises no error when the interpreter exits."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
            continue
        os.dup2(nowhere, stream.fileno())


def searching_parser() -> SuggestingParser:
    """Return the parser of a command line that begins with one of the commands of the index.

    They answer in less time than it takes to declare all others with their settings.
    """
    parser = SuggestingParser(prog=_PROGRAM)
    parser.set_defaults(folder=None)
    base: argparse.ArgumentParser = parser
    index.add_commands(base.add_subparsers(metavar="COMMAND"))
    return parser


def command_parser() -> SuggestingParser:
    """Return the parser of the whole command line, with every command."""
    from laguna_tui.cli import (
        acp,
        ask,
        bench,
        completions,
        compress,
        doctor,
        fit,
        mcp,
        models,
        permissions,
        quantize_drafter,
        selfcheck,
        serve,
        sessions,
        setup_gpu,
        trust,
    )
    from laguna_tui.cli import (
        eval as eval_command,
    )
    from laguna_tui.cli import (
        help as help_pages,
    )
    from laguna_tui.cli.session_options import add_session_options

    parser = SuggestingParser(
        prog=_PROGRAM,
        description="A terminal coding assistant with the model inside it. Without a command: the TUI."
        ' A text with a blank in it, or behind --, is its first message: laguna-tui "what does this do?"',
    )
    parser.add_argument("--version", action="version", version=f"laguna-tui {__version__}")
    add_session_options(parser)
    parser.set_defaults(run=_tui)
    base: argparse.ArgumentParser = parser
    commands = base.add_subparsers(title="commands", metavar="COMMAND")
    ask.add_command(commands)
    sessions.add_command(commands)
    quantize_drafter.add_command(commands)
    bench.add_command(commands)
    eval_command.add_command(commands)
    models.add_command(commands)
    fit.add_command(commands)
    doctor.add_command(commands)
    selfcheck.add_command(commands)
    completions.add_command(commands)
    help_pages.add_command(commands)
    index.add_commands(commands)
    compress.add_command(commands)
    trust.add_command(commands)
    mcp.add_command(commands)
    permissions.add_command(commands)
    setup_gpu.add_command(commands)
    serve.add_command(commands)
    acp.add_command(commands)
    return parser


def without_question(parser: argparse.ArgumentParser, words: Sequence[str]) -> tuple[list[str], str]:
    """Take a first message for the TUI out of the words: one that has a blank in it, or stands behind `--`.

    Without a blank a word is a command, or a misspelt one.

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
        # An option whose value may be missing takes what is no option.
        takes = action is not None and (
            action.nargs is None or (action.nargs == "?" and not "".join(value).startswith("-"))
        )
        at += 2 if takes else 1
    return list(words), ""


def _tui(arguments: argparse.Namespace) -> int:
    from laguna_tui.supervise import run_supervised

    # Textual draws on stderr, so a redirected one would swallow the screen.
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        sys.stderr.write('laguna-tui: the TUI needs a terminal; for pipes use: laguna-tui ask "QUESTION"\n')
        return 2
    return run_supervised(lambda start, report: _guarded(partial(_tui_here, start, report), arguments))


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


if __name__ == "__main__":
    sys.exit(main())
