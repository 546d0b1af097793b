"""The keys and commands as a page of text, made from the bindings themselves so that it cannot drift."""

from collections.abc import Iterable

from textual.binding import Binding, BindingType

from laguna_tui.tui.commands import COMMANDS

_NAMES = {
    "escape": "Esc",
    "enter": "Enter",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "up": "↑",
    "down": "↓",
    "end": "End",
    "home": "Home",
    "tab": "Tab",
    "space": "Space",
}

Row = tuple[str, str]


def key_rows(bindings: Iterable[BindingType]) -> list[Row]:
    """Keys and what they do, for each binding that has a description."""
    rows = [binding for binding in bindings if isinstance(binding, Binding)]
    return [(key_names(binding.key), binding.description) for binding in rows if binding.description]


def key_names(keys: str) -> str:
    """`ctrl+j,escape,g,G` -> `Ctrl+J  Esc  g`: a letter that counts in either case is shown once."""
    listed = keys.split(",")
    return "  ".join(_key_name(key) for key in listed if not (key.isupper() and key.lower() in listed))


def _key_name(key: str) -> str:
    # A bare letter is shown as it is typed: g and G are different keys.
    return key if len(key) == 1 else "+".join(_NAMES.get(part, part.capitalize()) for part in key.split("+"))


def command_rows() -> list[Row]:
    """The slash commands."""
    named = [command for command in COMMANDS if command.slash]
    return [(f"{command.slash} {command.takes}".strip(), command.summary) for command in named]
