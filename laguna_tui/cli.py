"""The command line: arguments only. Everything heavy is imported after they were understood."""

import argparse
import contextlib
import errno
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from laguna_tui import __version__, compress_command, fit_command, models_command, quantize, repo_command, trust_command
from laguna_tui.arguments import Parser, folder_of
from laguna_tui.bench import command as bench
from laguna_tui.doctor import command as doctor
from laguna_tui.setup_gpu import command as setup_gpu

_FULL = (errno.ENOSPC, errno.EDQUOT)

EXIT_CODES = """\
exit codes of `ask`:
  0  answered
  1  the engine failed while answering
  2  wrong usage or settings
  3  the model could not be opened
  4  no complete answer (context full, token limit, too many steps)
  130 interrupted
"""


_ENDING = ("SIGINT", "SIGTERM", "SIGHUP")
_CLOSED = getattr(signal, "SIGHUP", None)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command given; returns the exit code."""
    _forget_folder()
    with _ending_on_signals() as ended_by:
        _open_streams()
        arguments = command_parser().parse(sys.argv[1:] if argv is None else argv)
        run: Callable[[argparse.Namespace], int] = arguments.run
        try:
            return _guarded(run, arguments)
        except Exception:
            # What a handler raises inside of a callback from C code comes out of it as something else.
            if not ended_by:
                raise
            return 128 + ended_by[0]


@contextlib.contextmanager
def _ending_on_signals() -> Iterator[Sequence[int]]:
    """A TERM, or a terminal that is closed, ends a command as Ctrl-C does: with its children and half files gone.

    The signal's number is in what is yielded once it came. A second one ends the program at once, but a closed terminal
    is reported twice, by the kernel and by the shell.
    """
    came: list[int] = []

    def end(number: int, _: object) -> None:
        came.append(number)
        signal.signal(number, signal.SIG_IGN if number == _CLOSED else signal.SIG_DFL)
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    numbers = [number for name in _ENDING if (number := getattr(signal, name, None)) is not None]
    before = {number: signal.getsignal(number) for number in numbers}
    ours = {number for number, handler in before.items() if handler in (signal.SIG_DFL, signal.default_int_handler)}
    for number in ours:
        signal.signal(number, end)
    try:
        yield came
    finally:
        for number in ours:
            signal.signal(number, before[number])


def _forget_folder() -> None:
    """Take the working folder off the module path, where an empty part of PYTHONPATH puts it, unless the app is there.

    What is imported from now on is Python's and the app's own, whatever the user's modules are called.
    """
    with contextlib.suppress(FileNotFoundError):
        folder = str(Path.cwd())
        if folder != str(Path(__file__).resolve().parents[1]):
            sys.path[:] = [entry for entry in sys.path if entry not in ("", ".", folder)]


def _open_streams() -> None:
    """Standard streams that are closed (`>&-`) lead nowhere: Python has None in their place."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 (until the end)


def _guarded(run: Callable[[argparse.Namespace], int], arguments: argparse.Namespace) -> int:
    try:
        return _ended(run, arguments)
    except BrokenPipeError:
        # The reader went away (`| head`): nothing to say, and the interpreter must not say it either.
        _forget_output()
        return 141
    except OSError as error:
        if error.filename is not None or error.errno not in _FULL:
            raise
        _forget_output()
        sys.stderr.write(f"laguna-tui: {error.strerror}: make room where it writes, and run it again\n")
        return 1


def _ended(run: Callable[[argparse.Namespace], int], arguments: argparse.Namespace) -> int:
    from laguna_tui.errors import UserError
    from laguna_tui.text import sanitize

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
    """What is still held back for the standard streams goes nowhere, and not into an error at the very end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
            continue
        os.dup2(nowhere, stream.fileno())


def command_parser() -> Parser:
    """The parser of the whole command line: every command is in it."""
    parser = Parser(
        prog="laguna-tui",
        description="A terminal coding assistant with the model inside it. Without a command: the TUI.",
    )
    parser.add_argument("--version", action="version", version=f"laguna-tui {__version__}")
    _session_options(parser)
    parser.set_defaults(run=_tui)
    base: argparse.ArgumentParser = parser
    commands = base.add_subparsers(title="commands", metavar="COMMAND")
    ask = commands.add_parser(
        "ask",
        help="answer one question and exit",
        description="Answer one question about the folder and exit. Without a question it is read from stdin.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    ask.add_argument("question", nargs="*", help="the question; - or nothing reads it from stdin")
    shape = ask.add_mutually_exclusive_group()
    shape.add_argument("--json", dest="form", action="store_const", const="json", help="one JSON object at the end")
    shape.add_argument(
        "--stream-json",
        dest="form",
        action="store_const",
        const="stream-json",
        help="one JSON object per event",
    )
    ask.add_argument("--stats", action="store_true", help="print the measured rates to stderr")
    _session_options(ask, nested=True)
    ask.set_defaults(run=_ask)
    quantize.add_command(commands)
    bench.add_command(commands)
    models_command.add_command(commands)
    fit_command.add_command(commands)
    doctor.add_command(commands)
    repo_command.add_commands(commands)
    compress_command.add_command(commands)
    trust_command.add_command(commands)
    setup_gpu.add_command(commands)
    return parser


def _session_options(parser: argparse.ArgumentParser, *, nested: bool = False) -> None:
    # A sub-command's own default would overwrite what stood before the command's name.
    default = argparse.SUPPRESS if nested else None
    group = parser.add_argument_group("session")

    def add(flag: str, kind: Callable[[str], object], meta: str, text: str) -> None:
        group.add_argument(flag, type=kind, metavar=meta, help=text, default=default)

    add("--folder", Path, "DIR", "the code to ask about (default: the current folder)")
    add("--model", str, "NAME|FILE", "a model of the catalogue, or a GGUF file (default: nano)")
    add("--context", int, "N", "context size in tokens (default: what fits)")
    add("--kv", str, "TYPE", "type of the KV cache: f16, q8_0 or q4_0 (default: what fits)")
    add("--gpu-layers", int, "N", "layers on the GPU, -1 for all (default: what fits)")
    add("--threads", int, "N", "CPU threads, 0 for one per core (default: what the plan says)")
    add("--temperature", float, "T", "0 is greedy")
    add("--top-k", int, "K", "keep the K likeliest tokens, 0 for all")
    add("--top-p", float, "P", "keep the likeliest tokens up to this probability")
    add("--min-p", float, "P", "drop tokens below this share of the likeliest")
    add("--repeat-penalty", float, "R", "above 1 makes repetition less likely")
    add("--seed", int, "N", "the same seed gives the same sampled answer")
    add("--max-tokens", int, "N", "end every generation after so many tokens")
    add("--speculation", str, "MODE", "fast (default), strict (on the CPU: byte for byte the plain answer) or off")
    add(
        "--drafter",
        str,
        "NAME|FILE",
        "a drafter of the catalogue, a GGUF that drafts, or none (default: the recommended drafter that is here)",
    )
    add("--draft-length", int, "N", "draft N tokens every round (default: as many as pay at the moment)")
    add("--adapter", str, "FILE", "a LoRA for the drafter, such as one trained on this repository")
    add(
        "--scorer",
        str,
        "NAME|FILE",
        "what scores a text that is too long: a qwen3 GGUF, or none (default: what is here)",
    )
    add("--pack", int, "N", "begin with N tokens of map and fitting code (default: what the context allows; 0: none)")
    add("--edits", str, "MODE", "ask (default) about each edit of a file, allow all, or never edit")
    add("--theme", str, "NAME", "auto, laguna-dark, laguna-light or any Textual theme")
    group.add_argument(
        "--sample-drafts",
        action=argparse.BooleanOptionalAction,
        help="draw drafts like answers, which pays at high temperatures",
        default=default,
    )
    group.add_argument(
        "--offline",
        action=argparse.BooleanOptionalAction,
        help="open no socket, and offer no download",
        default=default,
    )
    group.add_argument(
        "--thinking",
        action=argparse.BooleanOptionalAction,
        help="let the model think before it answers",
        default=default,
    )


_SETTINGS = (
    "model context kv gpu_layers threads temperature top_k top_p min_p repeat_penalty seed max_tokens speculation"
    " drafter draft_length sample_drafts adapter scorer pack edits offline theme thinking"
).split()


def _tui(arguments: argparse.Namespace) -> int:
    from laguna_tui.supervise import run_supervised

    # Textual draws on stderr, so a redirected one would swallow the screen.
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        sys.stderr.write('laguna-tui: the TUI needs a terminal; for pipes use: laguna-tui ask "QUESTION"\n')
        return 2
    return run_supervised(lambda: _guarded(_tui_here, arguments))


def _tui_here(arguments: argparse.Namespace) -> int:
    from laguna_tui.compose import run_tui
    from laguna_tui.settings import load_settings

    folder = folder_of(arguments.folder)
    return run_tui(load_settings().merged(_chosen(arguments)), folder, named=arguments.folder is not None)


def _ask(arguments: argparse.Namespace) -> int:
    from laguna_tui.compose import run_ask
    from laguna_tui.folder import project_folder
    from laguna_tui.headless import Format
    from laguna_tui.settings import load_settings

    settings = load_settings().merged(_chosen(arguments))
    form = Format(arguments.form or "text")
    return run_ask(settings, project_folder(arguments.folder), _question(arguments), form, stats=arguments.stats)


def _chosen(arguments: argparse.Namespace) -> dict[str, object]:
    return {name: getattr(arguments, name) for name in _SETTINGS}


def _question(arguments: argparse.Namespace) -> str:
    from laguna_tui.errors import UserError

    words = " ".join(arguments.question)
    if words in ("", "-"):
        if sys.stdin.isatty():
            raise UserError('no question given; ask like this: laguna-tui ask "where is main defined?"')
        words = sys.stdin.buffer.read().decode("utf-8", errors="replace")
    if not words.strip():
        raise UserError("the question is empty")
    return words.strip()


if __name__ == "__main__":
    sys.exit(main())
