"""`laguna-tui serve`: the model for other programs, over HTTP."""

import argparse
import sys
from pathlib import Path

from laguna_tui.base.errors import UserError
from laguna_tui.base.settings import load_settings
from laguna_tui.cli.arguments import number, whole_number
from laguna_tui.cli.session_options import add_session_options, chosen_settings
from laguna_tui.compose import NO_SERVER, run_serve

_EXAMPLE = """\
Any program that speaks OpenAI's or Anthropic's API can use it, for example:
  OPENAI_BASE_URL=http://127.0.0.1:8093/v1 OPENAI_API_KEY=TOKEN aider --model openai/nano
  ANTHROPIC_BASE_URL=http://127.0.0.1:8093 ANTHROPIC_API_KEY=TOKEN claude
"""
_MOST_GIGABYTES = 1_000_000
_MOST_WAITING = 10_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `serve`."""
    parser.description = (
        "Open the model and serve it to other programs, in the shape of OpenAI's and Anthropic's APIs, until Ctrl-C."
        " Only programs on this machine that send the printed token are answered."
    )
    parser.epilog = _EXAMPLE
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="where to listen (default: %(default)s)")
    port = whole_number(0, 65_535)
    parser.add_argument("--port", type=port, default=8093, help="0 for any free port (default: %(default)s)")
    parser.add_argument("--expose", action="store_true", help="serve other machines too; needs --host and --token-file")
    token = "file with the token that clients send (default: a new token each time)"
    parser.add_argument("--token-file", type=Path, metavar="FILE", help=token)
    name = "another name of this server, as clients write it; may be given several times"
    parser.add_argument("--allow-host", action="append", default=[], metavar="NAME", help=name)
    page = "a web page that may send requests, such as http://localhost:3000; may be given several times"
    parser.add_argument("--allow-origin", action="append", default=[], metavar="ORIGIN", help=page)
    held = "memory for conversations that take turns, in GB (default: %(default)s)"
    parser.add_argument("--held", type=number(_MOST_GIGABYTES, zero=True), default=4.0, metavar="GB", help=held)
    waiting = "maximum number of waiting requests (default: %(default)s)"
    parser.add_argument("--waiting", type=whole_number(1, _MOST_WAITING), default=128, metavar="N", help=waiting)
    add_session_options(parser, nested=True)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serve until Ctrl-C; returns the exit code.

    Raises:
        UserError: The settings name no model, the address is not available, or others could use it without --expose.
    """
    try:
        from laguna_tui.server.http_server import ServerOptions
    except ImportError as error:
        raise UserError(NO_SERVER) from error
    options = ServerOptions(
        host=arguments.host,
        port=arguments.port,
        expose=arguments.expose,
        token_file=arguments.token_file,
        allow_hosts=tuple(arguments.allow_host),
        allow_origins=tuple(arguments.allow_origin),
        held_bytes=int(arguments.held * 1e9),
        waiting=arguments.waiting,
    )
    settings = load_settings().merged(chosen_settings(arguments))

    def say(line: str) -> None:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()

    return run_serve(settings, options, say)
