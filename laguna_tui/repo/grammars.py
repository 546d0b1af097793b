"""tree-sitter grammars and their queries, each loaded for the first file of its language.

A grammar that is missing or incompatible with the installed tree-sitter is no error: its files are parsed by line
patterns (`outline`).
"""

import importlib
import time
from functools import cache
from typing import NamedTuple

from tree_sitter import Language, Node, Parser, Query, QueryCursor, QueryError, Tree

from laguna_tui.repo.tag_queries import TAGS

# Source is passed in chunks, so that a parse that takes too long can be ended by an early end of file.
_PIECE_BYTES = 16 * 1024
# A pattern with more open matches than this belongs to a hostile file.
_MATCH_LIMIT = 4096


class Grammar(NamedTuple):
    """A language and its queries. Usable from several threads at once."""

    name: str
    language: Language
    definitions: Query
    references: Query
    imports: Query | None
    unparsed: Query | None

    def parse(self, source: bytes, limit_s: float) -> Tree:
        """Parse a source; only its beginning when the rest would take this thread longer than the limit."""
        deadline = time.thread_time() + limit_s

        def piece(offset: int, _: object) -> bytes:
            return b"" if time.thread_time() > deadline else source[offset : offset + _PIECE_BYTES]

        # One parser per call: another thread may run in the callback, and a parser shared by two threads crashes.
        return Parser(self.language).parse(piece, encoding="utf8")

    def matches(self, query: Query, root: Node) -> list[dict[str, list[Node]]]:
        """Return the captures of each match of a query."""
        cursor = QueryCursor(query)
        cursor.match_limit = _MATCH_LIMIT
        return [captured for _, captured in cursor.matches(root)]

    def captured(self, query: Query, root: Node, name: str = "") -> list[Node]:
        """Return every node captured by a query under a name, or under any."""
        cursor = QueryCursor(query)
        cursor.match_limit = _MATCH_LIMIT
        captures = cursor.captures(root)
        return captures.get(name, []) if name else [node for nodes in captures.values() for node in nodes]


@cache
def grammar(name: str) -> Grammar | None:
    """Return the grammar of a language in `TAGS`, or None if it cannot be loaded."""
    tags = TAGS[name][0]
    try:
        language = Language(getattr(importlib.import_module(tags.module), tags.function)())
        imports, unparsed = (Query(language, text) if text else None for text in (tags.imports, tags.unparsed))
        definitions, references = Query(language, tags.definitions), Query(language, tags.references)
        return Grammar(name, language, definitions, references, imports, unparsed)
    except (ImportError, AttributeError, ValueError, QueryError):
        return None
