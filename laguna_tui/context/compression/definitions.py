"""Finds the definitions of names among the documents, and the names and files that a question mentions.

Resolved by names alone, without a compiler: first a module of the name's qualifier, then the same file, then the files
that it imports, else every definition.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from laguna_tui.context.compression.spans import Document, SpanRole
from laguna_tui.repo.search.identifiers import STOP_WORDS

_WORD = re.compile(r"\w+")
_NAME = re.compile(r"(?P<name>[^\W\d]\w*(?:(?:\.|::|->)[^\W\d]\w*)*)(?P<call>\s?\()?")
_QUOTED = re.compile(r"[`'\"]([^`'\"\s]{2,200})[`'\"]")
_MIXED = re.compile(r"[a-z0-9][A-Z]|\w_\w|^_\w|^[A-Z][A-Z\d]+$")
_PATH = re.compile(r"[\w.+~/\\-]+")
_SEPARATOR = re.compile(r"\.|::|->")
_ON_ITSELF = frozenset({"self", "cls", "this", "super"})
# A plain word of a question rarely refers to the definition of the same name.
PLAIN_WORD = 0.3
# `Config.load` refers to one method; its class is kept only where there is room.
_QUALIFIER_STRENGTH = 0.5
_NAME_CHARS = 2
_SHORT_LINES = 40
"""A class of at most this many lines is kept together with its methods."""


class UnitId(NamedTuple):
    """Index of a document, and of a unit in it."""

    document: int
    unit: int


class SymbolMention(NamedTuple):
    """A name in a question.

    Attributes:
        name: the name as defined.
        strength: confidence that it refers to a definition, 0 to 1.
        qualifier: the name before its dot, empty without one.
    """

    name: str
    strength: float
    qualifier: str = ""


class Definitions:
    """The definitions of all documents, by name."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = documents
        self._inside: dict[UnitId, list[UnitId]] = {}
        self._unit_ids: dict[str, list[UnitId]] = {}
        for number, document in enumerate(documents):
            for index, unit in enumerate(document.units):
                for name in unit.defines:
                    self._unit_ids.setdefault(name, []).append(UnitId(number, index))
                outer = document.outer[index]
                if outer is not None:
                    self._inside.setdefault(UnitId(number, outer), []).append(UnitId(number, index))

    def __contains__(self, name: str) -> bool:
        return name in self._unit_ids

    def with_members(self, unit_id: UnitId) -> Iterator[UnitId]:
        """Yield the unit and, if it is short, the units inside it: a class is not understood without its methods."""
        yield unit_id
        unit = self._documents[unit_id.document].units[unit_id.unit]
        if unit.end - unit.line < _SHORT_LINES:
            for inner in self._inside.get(unit_id, ()):
                yield from self.with_members(inner)

    def find(self, mention: SymbolMention, near: int) -> Sequence[UnitId]:
        """Return the definitions that a name may refer to when used in document `near`."""
        unit_ids = self._unit_ids.get(mention.name, ())
        if len(unit_ids) < 2:
            return unit_ids
        held = [unit_id for unit_id in unit_ids if mention.qualifier in self._modules[unit_id.document]]
        own = [unit_id for unit_id in unit_ids if unit_id.document == near]
        words = self._imported[near]
        imported = [unit_id for unit_id in unit_ids if not words.isdisjoint(self._modules[unit_id.document])]
        # What a file imports by its name is meant before a method of its own that is called the same.
        return held or (imported if mention.name in words else []) or own or imported or unit_ids

    @cached_property
    def _modules(self) -> Sequence[frozenset[str]]:
        """Return the names by which each document may be imported: its file's, or its folder's for a package file."""
        return [frozenset(_module(document.path)) for document in self._documents]

    @cached_property
    def _imported(self) -> Sequence[frozenset[str]]:
        return [frozenset(imported_words(document)) for document in self._documents]


def mentions(query: str, known: Definitions) -> list[SymbolMention]:
    """Return the names in a question that are defined in the documents, each once with its greatest strength."""
    quoted = {part for match in _QUOTED.findall(query) for part in (match, *_SEPARATOR.split(match))}
    found: dict[tuple[str, str], float] = {}
    for match in _NAME.finditer(query):
        for name, strength, qualifier in _readings(match, quoted, known):
            found[name, qualifier] = max(found.get((name, qualifier), 0.0), strength)
    return [SymbolMention(name, strength, qualifier) for (name, qualifier), strength in found.items()]


def named_files(query: str, paths: Sequence[str]) -> frozenset[int]:
    """Return the indices of paths that a question names in full, by their last parts, or in a longer path."""
    by_name: dict[str, list[int]] = {}
    for number, path in enumerate(paths):
        by_name.setdefault(path.rsplit("/", 1)[-1], []).append(number)
    found: set[int] = set()
    for match in _PATH.finditer(query):
        said = match.group().replace("\\", "/").removeprefix("./").rstrip("./-")
        name = said.rsplit("/", 1)[-1]
        # A word that is a file's whole name, such as Makefile, is more often just a word.
        for number in by_name.get(name, ()) if "." in name[1:] else ():
            path = paths[number]
            if f"/{path}".endswith(f"/{said}") or f"/{said}".endswith(f"/{path}"):
                found.add(number)
    return frozenset(found)


def _readings(match: re.Match[str], quoted: set[str], known: Definitions) -> Iterator[SymbolMention]:
    """Yield the readings of names joined by dots: the longest known suffix, and the words before it."""
    pieces = _SEPARATOR.split(match["name"])
    dotted = ".".join(pieces)
    most = 1.0
    if len(pieces) > 1 and ".".join(pieces[-2:]) in known:
        yield SymbolMention(".".join(pieces[-2:]), 1.0)
        pieces, most = pieces[:-1], _QUALIFIER_STRENGTH
    elif dotted in known:
        sure = _is_code(dotted, quoted) or match["call"] is not None or len(pieces) > 1
        yield SymbolMention(dotted, 1.0 if sure else _plain(dotted))
        return
    for index, piece in enumerate(pieces):
        if piece in known and piece not in _ON_ITSELF:
            last = index == len(pieces) - 1
            sure = _is_code(piece, quoted) or (last and (match["call"] is not None or len(pieces) > 1))
            yield SymbolMention(piece, most if sure else min(most, _plain(piece)), pieces[index - 1] if index else "")


def _is_code(name: str, quoted: set[str]) -> bool:
    return name in quoted or _MIXED.search(name) is not None


def _plain(word: str) -> float:
    return 0.0 if word.lower() in STOP_WORDS or len(word) <= _NAME_CHARS else PLAIN_WORD


def _module(path: str) -> Iterator[str]:
    parts = _WORD.findall(path)
    yield from parts[-2:-1] if len(parts) > 1 else parts
    if len(parts) > 2 and parts[-2] in ("__init__", "index", "mod", "lib"):
        yield parts[-3]


def imported_words(document: Document) -> Iterator[str]:
    for span in document.spans:
        if span.role is SpanRole.OUTLINE and not document.units[span.unit].defines:
            yield from _WORD.findall(document.text[span.start : span.stop])
