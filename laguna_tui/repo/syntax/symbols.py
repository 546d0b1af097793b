"""Values of one file's contents: definitions, the units it is searched in, names it refers to."""

from typing import NamedTuple

from laguna_tui.repo.syntax.languages import DefinitionKind

Span = tuple[int, int]
"""Start and stop in characters."""


class Symbol(NamedTuple):
    """One definition, with the decorators and comments that come right before it.

    Attributes:
        qualified: the name after those of what it lies in, with "." between.
        body: where what a skeleton leaves out begins, or `stop` when there is nothing to leave out.
        signature: the head on one line, cut.
    """

    name: str
    qualified: str
    kind: DefinitionKind
    start: int
    stop: int
    body: int
    line: int
    end: int
    signature: str


class Unit(NamedTuple):
    """What search ranks: a function, a type without its methods, or a part of what lies outside of both.

    Attributes:
        symbol: index into the file's symbols, or None outside of definitions.
        title: the symbol's qualified name, a heading, or nothing.
        spans: the pieces of text that belong to it and to no other unit, in order.
    """

    symbol: int | None
    title: str
    line: int
    end: int
    spans: tuple[Span, ...]


class Syntax(NamedTuple):
    """One file. `exact` when a grammar parsed it, not line patterns; `references` counts names defined elsewhere.

    `imports` are paths or ends of paths (`import_paths`).
    """

    language: str
    exact: bool
    symbols: tuple[Symbol, ...]
    units: tuple[Unit, ...]
    references: dict[str, int]
    imports: tuple[str, ...] = ()
