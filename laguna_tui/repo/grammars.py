"""tree-sitter's grammars and their queries, each loaded when its first file comes.

A grammar that is missing or does not fit the installed tree-sitter is no error: line patterns serve its files
(`outline`).
"""

import importlib
import time
from collections.abc import Mapping
from functools import cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

from tree_sitter import Language, Node, Parser, Query, QueryCursor, QueryError, Tree

from laguna_tui.repo.tag_queries import LANGUAGE_OF, TAGS

# Read in pieces, so that a parse that takes too long can be told that the file ends here.
_PIECE_BYTES = 16 * 1024
# A pattern that is open in more places than this is one of a hostile file.
_MATCH_LIMIT = 4096


class Grammar(NamedTuple):
    """A language and its queries. Any thread, several at once."""

    name: str
    language: Language
    definitions: Query
    references: Query

    def parse(self, source: bytes, limit_s: float) -> Tree:
        """The tree of a source; of its beginning only when the rest would have taken longer than the limit."""
        deadline = time.monotonic() + limit_s

        def piece(offset: int, _: object) -> bytes:
            return b"" if time.monotonic() > deadline else source[offset : offset + _PIECE_BYTES]

        # A parser of its own: while it asks for a piece another thread may run, and one parser in two threads crashes.
        return Parser(self.language).parse(piece, encoding="utf8")

    def matches(self, query: Query, root: Node) -> list[dict[str, list[Node]]]:
        """What each match of a query captured."""
        cursor = QueryCursor(query)
        cursor.match_limit = _MATCH_LIMIT
        return [captured for _, captured in cursor.matches(root)]

    def captured(self, query: Query, root: Node) -> list[Node]:
        """Every node that a query captured, under any name."""
        cursor = QueryCursor(query)
        cursor.match_limit = _MATCH_LIMIT
        return [node for nodes in cursor.captures(root).values() for node in nodes]


def language_name(path: str) -> str | None:
    """The language that a path's suffix names, if there may be a grammar for it."""
    dot = path.rfind(".")
    if dot <= path.rfind("/"):
        return None
    return LANGUAGE_OF.get(path[dot:].lower())


@cache
def fingerprints() -> Mapping[str, str]:
    """What each language's files are parsed with, by the language's name: another value gives other results.

    Reads the installed packages' versions; loads none of them.
    """
    core = _version("tree_sitter")
    return {
        name: blake2b(repr((core, _version(tags.module), *tags)).encode(), digest_size=8).hexdigest()
        for name, (tags, _) in TAGS.items()
    }


def _version(module: str) -> str:
    """The version of the package that a module comes from; packages are named like their modules."""
    try:
        return version(module)
    except PackageNotFoundError:
        return ""


@cache
def grammar(name: str) -> Grammar | None:
    """The grammar of a language in `TAGS`, or None where it cannot be had."""
    tags = TAGS[name][0]
    try:
        language = Language(getattr(importlib.import_module(tags.module), tags.function)())
        return Grammar(name, language, Query(language, tags.definitions), Query(language, tags.references))
    except (ImportError, AttributeError, ValueError, QueryError):
        return None
