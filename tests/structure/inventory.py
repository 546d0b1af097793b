"""What the product offers and writes, read from the code, so that nothing of it gets lost while code moves.

`python -m tests.structure --inventory` prints it; `inventory.md` is what was committed, and a test compares the two.
"""

import argparse
import dataclasses
import importlib
import inspect
import json
import pkgutil
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from starlette.routing import Route
from textual.binding import Binding
from textual.dom import DOMNode

import laguna_engine.events
import laguna_tui.tui
from laguna_tui.base import events
from laguna_tui.base.exit_codes import ExitCode
from laguna_tui.base.settings import Settings
from laguna_tui.cli.arguments import commands_of
from laguna_tui.cli.main import command_parser
from laguna_tui.server.access_control import AccessRules
from laguna_tui.server.http_app import http_app
from laguna_tui.tui.slash_commands import COMMANDS, UNBOUND

INVENTORY = Path(__file__).with_name("inventory.md")
_RECORDED = Path(__file__).parents[1] / "recorded"


def inventory() -> str:
    """Return the whole inventory as Markdown."""
    sections = {
        "Commands and their arguments": _commands(command_parser(), "laguna-tui"),
        "Slash commands": (
            f"{' '.join((each.slash or '(palette)', *each.aliases, each.takes)).strip()}: {each.title}"
            for each in COMMANDS
            if each.title
        ),
        "Keys": _keys(),
        "Settings (config.toml)": (f"{each.name}: {_type(each.type)}" for each in dataclasses.fields(Settings)),
        "Exit codes": (f"{each.value}: {each.meaning}" for each in ExitCode),
        "Events of the agent": _fields(get_args(events.AgentEvent)),
        "Events of the engine": _fields(get_args(laguna_engine.events.Event)),
        "HTTP paths": _routes(),
        "Session files": _recorded_events(),
    }
    return "".join(f"## {title}\n" + "".join(f"- {line}\n" for line in lines) for title, lines in sections.items())


def _commands(parser: argparse.ArgumentParser, name: str) -> Iterator[str]:
    options = (
        " ".join(action.option_strings) or str(action.metavar or action.dest).upper()
        for action in parser._actions
        if not isinstance(action, argparse._HelpAction | argparse._SubParsersAction)
    )
    yield f"{name}: {', '.join(options)}"
    for command, below in sorted(commands_of(parser).items()):
        yield from _commands(below, f"{name} {command}")


def _keys() -> Iterator[str]:
    for module in pkgutil.walk_packages(laguna_tui.tui.__path__, "laguna_tui.tui."):
        for each in vars(importlib.import_module(module.name)).values():
            if isinstance(each, type) and issubclass(each, DOMNode) and each.__module__ == module.name:
                bindings = [found for found in vars(each).get("BINDINGS", ()) if isinstance(found, Binding)]
                if bindings:
                    keys = (f"{one.key} {one.action}" for one in bindings if one.key != UNBOUND)
                    yield f"{each.__name__}: {'; '.join(keys)}"


def _fields(types: tuple[type[Any], ...]) -> Iterator[str]:
    for each in sorted(types, key=lambda found: found.__name__):
        yield f"{each.__name__}: {', '.join(inspect.signature(each).parameters)}".strip()


def _type(found: object) -> str:
    return found.__name__ if isinstance(found, type) else str(found)


def _routes() -> Iterator[str]:
    def service() -> Any:
        raise AssertionError("nothing is requested")

    app: Any = http_app(service, AccessRules(""))
    for route in app._app.routes:
        assert isinstance(route, Route)
        yield f"{'POST' if 'POST' in (route.methods or ()) else 'GET'} {route.path}"


def _recorded_events() -> Iterator[str]:
    """The events of the recorded sessions and undo logs, each with the fields that it had somewhere."""
    for pattern in ("sessions/*/journal.jsonl", "sessions/*/undo/*.jsonl"):
        found: dict[str, set[str]] = defaultdict(set)
        for path in sorted(_RECORDED.glob(f"*/state/{pattern}")):
            for line in path.read_text(encoding="utf-8").splitlines():
                event = json.loads(line)
                found[event.pop("event")] |= set(event)
        for name, fields in sorted(found.items()):
            yield f"{Path(pattern).name} {name}: {', '.join(sorted(fields))}"
