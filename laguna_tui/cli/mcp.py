"""`laguna-tui mcp`: the MCP servers of a folder, what each offers, and trust in a folder's own file of servers."""

import argparse
from pathlib import Path

from laguna_tui.agent.tools.mcp.mcp_config import trust_servers
from laguna_tui.agent.tools.mcp.mcp_tools import McpTools, overview_text
from laguna_tui.base.paths import rules_path, state_dir
from laguna_tui.base.review_text import review_line
from laguna_tui.base.settings import Settings
from laguna_tui.base.text import sanitize, sanitize_line
from laguna_tui.cli.arguments import working_folder
from laguna_tui.cli.console import say, warn
from laguna_tui.context.trust import Trust
from laguna_tui.sandbox.runner import CommandRunner
from laguna_tui.session.permissions import PermissionSettings

_EPILOG = """\
Your own servers are in mcp.json in the config folder, in the form that other programs read:

  {"mcpServers": {"git": {"command": "uvx", "args": ["mcp-server-git"], "network": true}}}

Each is a process in the sandbox of commands: it can write to the folder only, has no network without "network": true, \
and gets no variables but those in its "env". It is started when one of its tools is called, and each call needs your \
permission, like a command, until a rule allows it: mcp__git__git_log. A folder's own .mcp.json is never started \
before you trust its present text; when it changes, you are asked again. To install the package: \
pip install 'laguna-tui[mcp]'.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `mcp`."""
    parser.description = "List the MCP servers that a session in the folder would have, or trust those of the folder."
    parser.epilog = _EPILOG
    parser.add_argument("action", choices=("list", "trust"), help="start and list all; or trust the folder's .mcp.json")
    parser.add_argument("named", nargs="?", type=Path, metavar="FOLDER", help="default: the current folder")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """List or trust; returns the exit code.

    Raises:
        UserError: A file of servers is wrong, or the folder cannot be trusted.
    """
    folder = (arguments.named or arguments.folder or working_folder()).expanduser()
    return _trust(folder) if arguments.action == "trust" else _list(folder)


def _trust(folder: Path) -> int:
    file, found = trust_servers(folder, Trust(state_dir()))
    say([sanitize_line(f"{file} is trusted as it is now; from the next session on it may start:")])
    say(review_line(f"  {each.name}: {' '.join(each.command)}") for each in found.servers)
    for note in found.notes:
        warn(sanitize_line(note))
    return 0


def _list(folder: Path) -> int:
    rules = PermissionSettings(Settings(), folder, rules_path(), (), ())
    runner = CommandRunner(folder, shows=rules.shows, path_rules=rules.command_path_rules)
    tools = McpTools(folder, state_dir(), lambda: runner)
    try:
        tools.offer(fresh=True)
        found = tools.overview()
        say([sanitize(overview_text(found, ()))])
    finally:
        tools.close()
    for note in tools.notes:
        warn(sanitize_line(note))
    return 1 if any(each.problem for each in found) else 0
