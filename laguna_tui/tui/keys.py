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
    """`ctrl+j,escape` -> `Ctrl+J  Esc`."""
    return "  ".join("+".join(_name(part) for part in key.split("+")) for key in keys.split(","))


def _name(part: str) -> str:
    if part in _NAMES:
        return _NAMES[part]
    return part if len(part) == 1 and part.isupper() else part.capitalize()


def command_rows() -> list[Row]:
    """The slash commands."""
    return [(command.slash, command.summary) for command in COMMANDS if command.slash]
