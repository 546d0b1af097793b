"""`laguna-tui ask`: one question, answered on stdout."""

import argparse
import sys

from laguna_tui.cli.session_options import add_session_options, chosen_settings

EXIT_CODES = """\
exit codes of `ask`:
  0  answered
  1  the engine failed while answering
  2  wrong usage or settings
  3  the model could not be opened
  4  no complete answer (context full, token limit, too many steps)
  130 interrupted
"""


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `ask` to the command line."""
    parser = commands.add_parser(
        "ask",
        help="answer one question and exit",
        description="Answer one question about the folder and exit. Without a question it is read from stdin.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("question", nargs="*", help="the question; read from stdin without one, or with -")
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
    for flag, does in (("--allow", "do without asking"), ("--deny", "never do")):
        what = f"what to {does}, such as edit(src/**) or shell(pytest); may be given several times"
        parser.add_argument(flag, action="append", default=[], metavar="RULE", help=what)
    add_session_options(parser, nested=True)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Answer the question; returns the exit code.

    Raises:
        UserError: There is no question, or the settings name a model that does not exist.
    """
    from laguna_tui.base.settings import load_settings
    from laguna_tui.cli.arguments import project_folder
    from laguna_tui.compose import run_ask
    from laguna_tui.headless.run import Format

    settings = load_settings().merged(chosen_settings(arguments))
    form = Format(arguments.form or "text")
    return run_ask(
        settings,
        project_folder(arguments.folder),
        _question(arguments),
        form,
        stats=arguments.stats,
        allow=arguments.allow,
        deny=arguments.deny,
    )


def _question(arguments: argparse.Namespace) -> str:
    from laguna_tui.base.errors import UserError

    words = " ".join(arguments.question)
    if words in ("", "-"):
        if sys.stdin.isatty():
            raise UserError('no question given; ask like this: laguna-tui ask "where is main defined?"')
        words = sys.stdin.buffer.read().decode("utf-8", errors="replace")
    if not words.strip():
        raise UserError("the question is empty")
    return words.strip()
