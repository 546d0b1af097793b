"""`laguna-tui acp`: the agent in an editor that speaks the Agent Client Protocol."""

import argparse
import shutil
import sys

from laguna_tui.base.errors import UserError
from laguna_tui.base.settings import Settings
from laguna_tui.cli.session_options import add_session_options, chosen_settings

MISSING = "the protocol's package is missing; install it with: pip install 'laguna-tui[acp]'"
EDITORS = ("zed", "jetbrains", "toad", "harbor")


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `acp` to the command line."""
    parser = commands.add_parser(
        "acp",
        help="be the agent of an editor (Agent Client Protocol)",
        description="Serve an editor over stdin and stdout by the Agent Client Protocol: Zed, JetBrains' IDEs, Toad, "
        "Harbor. The editor starts this; --print shows what to tell it.",
    )
    what = f"print the entry for an editor and exit: {', '.join(EDITORS)}"
    parser.add_argument("--print", dest="editor", choices=EDITORS, metavar="EDITOR", help=what)
    add_session_options(parser, nested=True)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serve until stdin ends; returns the exit code.

    Raises:
        UserError: the settings are wrong, or the package is missing.
    """
    from laguna_tui.base.settings import load_settings

    chosen = chosen_settings(arguments)
    if arguments.editor is not None:
        from laguna_tui.acp.editor_entries import editor_entry

        flags = Settings().merged(chosen).flags()
        entry, where = editor_entry(arguments.editor, shutil.which("laguna-tui") or "laguna-tui", ["acp", *flags])
        sys.stderr.write(f"# {where}:\n")
        sys.stdout.write(f"{entry}\n")
        return 0
    settings = load_settings().merged(chosen)
    try:
        from laguna_tui.acp.protocol_agent import run_stdio
    except ImportError as error:
        raise UserError(MISSING) from error
    from laguna_tui.compose import session_pool

    pool = session_pool(settings)
    try:
        run_stdio(pool)
    finally:
        pool.close()
    return 0
