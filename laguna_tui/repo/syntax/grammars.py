"""tree-sitter grammars and their queries, each loaded for the first file of its language.

A grammar that is missing or incompatible with the installed tree-sitter is no error: its files are parsed by line
patterns (`outline`).
"""

import importlib
import time
from functools import cache
from typing import NamedTuple

from tree_sitter import Language, Node, Parser, Query, QueryCursor, QueryError, Tree

from laguna_tui.repo.syntax.tag_queries import TAGS

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
        """Parse a source; only its beginning when the rest would take this thread longer than the limit.

        The tree's text is bytes: a query whose predicates call Python for text crashes on an exception (of a signal
        handler), and never ends where that text is shorter than the tree.
        """
        if len(source) <= _PIECE_BYTES:
            return Parser(self.language).parse(source)
        deadline = time.thread_time() + limit_s
        end = len(source)

        def piece(offset: int, _: object) -> bytes:
            nonlocal end
            if time.thread_time() > deadline:
                end = min(end, offset)
                return b""
            return source[offset : offset + _PIECE_BYTES]

        # One parser per call: another thread may run in the callback, and a parser shared by two threads crashes.
        try:
            timed = Parser(self.language).parse(piece, encoding="utf8")
        except SystemError as error:
            raise _raised_in_callback(error) from None
        # Of a whole source every node is reused; a shorter one is parsed again, in the time that was spent on it.
        if end == len(source):
            return Parser(self.language).parse(source, timed)
        return Parser(self.language).parse(source[:end])

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


def _raised_in_callback(error: BaseException) -> BaseException:
    """Return the exception that a signal handler raised in a callback: each later call wraps it in a SystemError."""
    while isinstance(error, SystemError) and error.__cause__ is not None:
        error = error.__cause__
    return error


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
