"""Which definition a name means when there are several. The rule, in this order:

1. An exact qualified name comes before the same name inside something else.
2. Code comes before tests, and before old or copied code, examples and stubs.
3. In one file, definitions of the same qualified name (overloads, a property's getter and setter) are one.

If more than one is left, the name is ambiguous.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from laguna_tui.repo.files.relative_paths import is_secondary, is_test
from laguna_tui.repo.search.symbol_search import SymbolMatch


@dataclass(frozen=True, slots=True)
class Meaning:
    """A possible meaning of a name: definitions of one qualified name in one file, in the order of their lines."""

    definitions: tuple[SymbolMatch, ...]

    @property
    def path(self) -> str:
        return self.definitions[0].path

    @property
    def qualified(self) -> str:
        return self.definitions[0].qualified

    @property
    def longest(self) -> SymbolMatch:
        """Return the definition with the most lines: an implementation rather than a declaration."""
        return max(self.definitions, key=lambda definition: definition.end - definition.line)


def meanings(name: str, definitions: Iterable[SymbolMatch]) -> list[Meaning]:
    """Return the possible meanings of a name, by path and line; `definitions` are those of that name."""
    whole = name.replace("::", ".")
    found = list(definitions)
    found = [definition for definition in found if definition.qualified == whole] or found
    least = min((_aside(definition.path) for definition in found), default=(False, False))
    return _together([definition for definition in found if _aside(definition.path) == least])


def _aside(path: str) -> tuple[bool, bool]:
    return is_test(path), is_secondary(path)


def _together(definitions: Sequence[SymbolMatch]) -> list[Meaning]:
    groups: dict[tuple[str, str], list[SymbolMatch]] = {}
    for definition in sorted(definitions, key=lambda definition: (definition.path, definition.line)):
        groups.setdefault((definition.path, definition.qualified), []).append(definition)
    return [Meaning(tuple(group)) for group in groups.values()]
