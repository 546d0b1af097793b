"""The form in which a language says what defines and what refers to a name in its syntax tree."""

from typing import NamedTuple


class Tags(NamedTuple):
    """One grammar: the module and function that give it, and its two tree-sitter queries.

    A definition is captured as `function`, `type` or `variable` with its `name`; `scope` only names what lies inside
    (Rust's `impl`), and `owner` names what a definition belongs to (Go's receivers). Of patterns that capture the same
    name node, the first one counts. References are captured as `reference`: calls, types, base classes and imports, not
    every identifier. Imports that say a path, whose text is captured as `import`, have a query of their own,
    and so has code that the grammar leaves as tokens (what Rust's macros get), captured as `unparsed`.
    """

    module: str
    function: str
    definitions: str
    references: str
    imports: str = ""
    unparsed: str = ""
