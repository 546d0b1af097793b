"""Where names are defined among the documents, and which of several definitions is meant.

By names alone, as a reader without a compiler would: first the same file, then the files that it imports, then the one
whose words are nearest to the question.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from laguna_engine.compress.document import Document, SpanRole
from laguna_engine.compress.lexical import STOP_WORDS

_WORD = re.compile(r"\w+")
_NAME = re.compile(r"(?P<name>[^\W\d]\w*(?:(?:\.|::|->)[^\W\d]\w*)*)(?P<call>\s?\()?")
_QUOTED = re.compile(r"[`'\"]([^`'\"\s]{2,200})[`'\"]")
_MIXED = re.compile(r"[a-z0-9][A-Z]|\w_\w|^_\w|^[A-Z][A-Z\d]+$")
_SEPARATOR = re.compile(r"\.|::|->")
_ON_ITSELF = frozenset({"self", "cls", "this", "super"})
# A plain word of a question is seldom meant as the name that it also is.
PLAIN_WORD = 0.3
# Who asks for `Config.load` asks for one method; the class only comes where there is room.
_AROUND = 0.5
_NAME_CHARS = 2
WHOLE_LINES = 40
"""A definition that is not longer is kept whole or left out, wherever that is possible."""


class Place(NamedTuple):
    """A unit of a document, both by number."""

    document: int
    unit: int


class Mention(NamedTuple):
    """A name; `strength` from 0 to 1 says how surely it is meant as one, `holder` what stands before its dot."""

    name: str
    strength: float
    holder: str = ""


class Definitions:
    """Every name that a unit defines."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = documents
        self._inside: dict[Place, list[Place]] = {}
        self._places: dict[str, list[Place]] = {}
        for number, document in enumerate(documents):
            for index, unit in enumerate(document.units):
                for name in unit.defines:
                    self._places.setdefault(name, []).append(Place(number, index))
                outer = document.outer[index]
                if outer is not None:
                    self._inside.setdefault(Place(number, outer), []).append(Place(number, index))

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def whole(self, place: Place) -> Iterator[Place]:
        """The unit and, of a short class, its methods: the class is not understood without them."""
        yield place
        unit = self._documents[place.document].units[place.unit]
        if unit.end - unit.line < WHOLE_LINES:
            for inner in self._inside.get(place, ()):
                yield from self.whole(inner)

    def find(self, mention: Mention, near: int) -> Sequence[Place]:
        """The definitions that a name may mean where document `near` uses it."""
        places = self._places.get(mention.name, ())
        if len(places) < 2:
            return places
        held = [place for place in places if mention.holder in self._modules[place.document]]
        own = [place for place in places if place.document == near]
        imported = self._imported[near]
        return held or own or [p for p in places if not imported.isdisjoint(self._modules[p.document])] or places

    @cached_property
    def _modules(self) -> Sequence[frozenset[str]]:
        """What a document may be imported as: its file's name, or its folder's where the file stands for that."""
        return [frozenset(_module(document.path)) for document in self._documents]

    @cached_property
    def _imported(self) -> Sequence[frozenset[str]]:
        """The words of each document's imports."""
        return [frozenset(_imports(document)) for document in self._documents]


def mentions(query: str, known: Definitions) -> list[Mention]:
    """The names in a question that are defined somewhere, each once, as surely as it is meant anywhere."""
    quoted = {part for match in _QUOTED.findall(query) for part in (match, *_SEPARATOR.split(match))}
    found: dict[tuple[str, str], float] = {}
    for match in _NAME.finditer(query):
        for name, strength, holder in _readings(match, quoted, known):
            found[name, holder] = max(found.get((name, holder), 0.0), strength)
    return [Mention(name, strength, holder) for (name, holder), strength in found.items()]


def _readings(match: re.Match[str], quoted: set[str], known: Definitions) -> Iterator[Mention]:
    """What a run of names joined by dots may mean: the longest known ending, and the words before it."""
    pieces = _SEPARATOR.split(match["name"])
    dotted = ".".join(pieces)
    most = 1.0
    if len(pieces) > 1 and ".".join(pieces[-2:]) in known:
        yield Mention(".".join(pieces[-2:]), 1.0)
        pieces, most = pieces[:-1], _AROUND
    elif dotted in known:
        sure = _is_code(dotted, quoted) or match["call"] is not None or len(pieces) > 1
        yield Mention(dotted, 1.0 if sure else _plain(dotted))
        return
    for place, piece in enumerate(pieces):
        if piece in known and piece not in _ON_ITSELF:
            last = place == len(pieces) - 1
            sure = _is_code(piece, quoted) or (last and (match["call"] is not None or len(pieces) > 1))
            yield Mention(piece, most if sure else min(most, _plain(piece)), pieces[place - 1] if place else "")


def _is_code(name: str, quoted: set[str]) -> bool:
    return name in quoted or _MIXED.search(name) is not None


def _plain(word: str) -> float:
    return 0.0 if word.lower() in STOP_WORDS or len(word) <= _NAME_CHARS else PLAIN_WORD


def _module(path: str) -> Iterator[str]:
    parts = _WORD.findall(path)
    yield from parts[-2:-1] if len(parts) > 1 else parts
    if len(parts) > 2 and parts[-2] in ("__init__", "index", "mod", "lib"):
        yield parts[-3]


def _imports(document: Document) -> Iterator[str]:
    for span in document.spans:
        if span.role is SpanRole.OUTLINE and not document.units[span.unit].defines:
            yield from _WORD.findall(document.text[span.start : span.stop])
