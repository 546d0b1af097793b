"""Which names a piece of code can be asked for by, and which other definitions it uses. By the look of names only.

A method that is called on the object itself is looked for in its class, so `self.read` is not every `read`.
"""

import re
from collections.abc import Iterable

from laguna_tui.repo.common_names import COMMON_NAMES
from laguna_tui.repo.identifiers import looks_like_code
from laguna_tui.repo.structure import Symbol, Syntax

_MIN_CHARS = 3
_NAME_CHARS = 120
_KEYS = 64
_CONSTRUCTORS = frozenset({"__init__", "__new__", "__post_init__", "constructor", "initialize"})
_NAME = re.compile(r"(?P<own>\b(?:self|cls|this|super\(\))\s*(?:\.|->)\s*)?\b(?P<name>[^\W\d]\w*)(?P<call>\s*[(<]?)")
# `key: value` and `key = value`, the key perhaps quoted.
_KEY = re.compile(r"^\s*(?:-\s+)?[\"']?(?P<key>[\w][\w.\-]{1,80})[\"']?\s*(?:=>|:|=)(?!=)[ \t]*\S", re.MULTILINE)


class Names:
    """The names that a file defines."""

    def __init__(self, syntax: Syntax) -> None:
        self.references = syntax.references.keys()
        self.own = {symbol.name for symbol in syntax.symbols}
        self.qualified = {symbol.qualified for symbol in syntax.symbols}

    def defined(self, symbol: Symbol, inside: Iterable[Symbol]) -> frozenset[str]:
        """What a definition can be asked for by; `inside` are the definitions that lie in its lines."""
        names = {symbol.name, symbol.qualified} | {other.name for other in inside}
        outer = symbol.qualified.split(".")[:-1]
        if outer and (symbol.name in _CONSTRUCTORS or symbol.name == outer[-1]):
            names.add(outer[-1])
        return frozenset(names)

    def in_class(self, symbol: Symbol | None, name: str) -> str | None:
        """The qualified name of what a definition calls on its own object, if its class has it."""
        outer = "" if symbol is None else symbol.qualified
        while outer:
            if f"{outer}.{name}" in self.qualified:
                return f"{outer}.{name}"
            outer = outer.rpartition(".")[0]
        return None


def refers_of(text: str, names: Names, symbol: Symbol | None) -> frozenset[str]:
    """The names of definitions that a piece of code seems to use."""
    found: set[str] = set()
    for match in _NAME.finditer(text):
        name = match["name"]
        if not _MIN_CHARS <= len(name) <= _NAME_CHARS:
            continue
        if match["own"]:
            found.add(names.in_class(symbol, name) or name)
        elif name not in COMMON_NAMES and (name in names.own or name in names.references or _telling(match)):
            found.add(name)
    return frozenset(found)


def keys_of(text: str) -> frozenset[str]:
    """The names before `=` and `:` at the beginning of lines: settings, entries, fields."""
    found: list[str] = []
    for match in _KEY.finditer(text):
        if match["key"] not in COMMON_NAMES:
            found.append(match["key"])
        if len(found) >= _KEYS:
            break
    return frozenset(found)


def _telling(match: re.Match[str]) -> bool:
    return bool(match["call"].strip()) or match["name"][0].isupper() or looks_like_code(match["name"])
