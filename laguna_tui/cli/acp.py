"""`laguna-tui acp`: the agent in an editor that speaks the Agent Client Protocol."""

import argparse
import json
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence

from laguna_tui import __version__
from laguna_tui.base.errors import UserError
from laguna_tui.base.settings import Settings, load_settings
from laguna_tui.cli.session_options import add_session_options, chosen_settings
from laguna_tui.compose import session_pool

MISSING = "the packages for editors are missing; install them with: pip install 'laguna-tui[acp]'"
_NAME, _TITLE = "laguna-tui", "Laguna"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `acp`."""
    parser.description = (
        "Serve an editor over stdin and stdout, by the Agent Client Protocol: Zed, JetBrains' IDEs, Toad or Harbor. The"
        " editor starts this command; --print shows how to configure it."
    )
    what = f"print an editor's configuration and exit: {', '.join(EDITORS)}"
    parser.add_argument("--print", dest="configured_editor", choices=EDITORS, metavar="EDITOR", help=what)
    add_session_options(parser, nested=True)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serve until stdin ends; returns the exit code.

    Raises:
        UserError: The settings are wrong, or the package is missing.
    """
    chosen = chosen_settings(arguments)
    if arguments.configured_editor is not None:
        flags = Settings().merged(chosen).flags()
        command = shutil.which("laguna-tui") or "laguna-tui"
        entry, where = editor_entry(arguments.configured_editor, command, ["acp", *flags])
        sys.stderr.write(f"# {where}:\n")
        sys.stdout.write(f"{entry}\n")
        return 0
    settings = load_settings().merged(chosen)
    try:
        from laguna_tui.acp.protocol_agent import run_stdio
    except ImportError as error:
        raise UserError(MISSING) from error
    pool = session_pool(settings)
    try:
        run_stdio(pool)
    finally:
        pool.close()
    return 0


def editor_entry(editor: str, command: str, arguments: Sequence[str]) -> tuple[str, str]:
    """Return an editor's configuration, and where it belongs. arguments: of `command`, `acp` first."""
    return EDITORS[editor](command, list(arguments))


def _zed(command: str, arguments: list[str]) -> tuple[str, str]:
    entry = {"agent_servers": {_TITLE: {"type": "custom", "command": command, "args": arguments, "env": {}}}}
    return _json(entry), "add to Zed's settings (command palette: zed: open settings file)"


def _jetbrains(command: str, arguments: list[str]) -> tuple[str, str]:
    entry = {"agent_servers": {_TITLE: {"command": command, "args": arguments, "env": {}}}}
    return _json(entry), "add to ~/.jetbrains/acp.json (AI Chat: Add Custom Agent)"


def _toad(command: str, arguments: list[str]) -> tuple[str, str]:
    return f"toad acp {shlex.quote(shlex.join([command, *arguments]))} --title {_TITLE}", "run this command"


def _harbor(command: str, arguments: list[str]) -> tuple[str, str]:
    entry = {
        "id": _NAME,
        "name": _TITLE,
        "version": __version__,
        "description": "A coding agent with the model inside it: Laguna in its own process, offline.",
        "distribution": {"local": {"cmd": command, "args": arguments}},
    }
    return _json(entry), "save to a file, for harbor's ACP agent"


EDITORS: dict[str, Callable[[str, list[str]], tuple[str, str]]] = {
    "zed": _zed,
    "jetbrains": _jetbrains,
    "toad": _toad,
    "harbor": _harbor,
}


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
