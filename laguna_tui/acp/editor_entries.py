"""What to put where, so that an editor finds the agent."""

import json
import shlex
from collections.abc import Sequence

from laguna_tui import __version__

_NAME, _TITLE = "laguna-tui", "Laguna"


def editor_entry(editor: str, command: str, arguments: Sequence[str]) -> tuple[str, str]:
    """The entry of an editor, and where it belongs. arguments: of `command`, `acp` first."""
    return EDITORS[editor](command, list(arguments))


def _zed(command: str, arguments: list[str]) -> tuple[str, str]:
    entry = {"agent_servers": {_TITLE: {"type": "custom", "command": command, "args": arguments, "env": {}}}}
    return _json(entry), "into Zed's settings (command palette: zed: open settings file)"


def _jetbrains(command: str, arguments: list[str]) -> tuple[str, str]:
    entry = {"agent_servers": {_TITLE: {"command": command, "args": arguments, "env": {}}}}
    return _json(entry), "into ~/.jetbrains/acp.json (AI Chat: Add Custom Agent)"


def _toad(command: str, arguments: list[str]) -> tuple[str, str]:
    return f"toad acp {shlex.quote(shlex.join([command, *arguments]))} --title {_TITLE}", "run this"


def _harbor(command: str, arguments: list[str]) -> tuple[str, str]:
    entry = {
        "id": _NAME,
        "name": _TITLE,
        "version": __version__,
        "description": "A coding agent with the model inside it: Laguna in its own process, offline.",
        "distribution": {"local": {"cmd": command, "args": arguments}},
    }
    return _json(entry), "into a file, for harbor's ACP agent"


EDITORS = {"zed": _zed, "jetbrains": _jetbrains, "toad": _toad, "harbor": _harbor}
"""What makes the entry of each."""


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
