"""Where names are defined among the documents, and which of several definitions is meant.

By names alone, as a reader without a compiler would: first the same file, then the files that it imports, then the one
whose words are nearest to the question.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from laguna_engine.compress.document import Document, Role
from laguna_engine.compress.words import STOP_WORDS

_WORD = re.compile(r"\w+")
_NAME = re.compile(r"(?P<name>[^\W\d]\w*(?:(?:\.|::|->)[^\W\d]\w*)*)(?P<call>\s?\()?")
_QUOTED = re.compile(r"[`'\"]([^`'\"\s]{2,200})[`'\"]")
_MIXED = re.compile(r"[a-z0-9][A-Z]|\w_\w|^_\w|^[A-Z][A-Z\d]+$")
_SEPARATOR = re.compile(r"\.|::|->")
_ON_ITSELF = frozenset({"self", "cls", "this", "super"})
# A plain word of a question is seldom meant as the name that it also is.
PLAIN_WORD = 0.3
_NAME_CHARS = 2


class Place(NamedTuple):
    """A unit of a document, both by number."""

    document: int
    unit: int


class Mention(NamedTuple):
    """A name in a question; `strength` from 0 to 1 says how surely it is meant as one."""

    name: str
    strength: float


class Definitions:
    """Every name that a unit defines."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = documents
        self._places: dict[str, list[Place]] = {}
        for number, document in enumerate(documents):
            for index, unit in enumerate(document.units):
                for name in unit.defines:
                    self._places.setdefault(name, []).append(Place(number, index))

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def find(self, name: str, near: int | None, nearness: Sequence[float]) -> Sequence[Place]:
        """The definitions that a name may mean when document `near` uses it, or the question when that is None.

        Args:
            nearness: of each document to the question, to tell which is meant by it; may be all 0.
        """
        places = self._places.get(name, ())
        if len(places) < 2:
            return places
        if near is None:
            best = max(nearness[place.document] for place in places)
            return [place for place in places if nearness[place.document] == best]
        own = [place for place in places if place.document == near]
        if own:
            return own
        imported = self._imported[near]
        return [place for place in places if not imported.isdisjoint(self._modules[place.document])] or places

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
    found: dict[str, float] = {}
    for match in _NAME.finditer(query):
        for name, strength in _readings(match, quoted, known):
            found[name] = max(found.get(name, 0.0), strength)
    return [Mention(name, strength) for name, strength in found.items()]


def _readings(match: re.Match[str], quoted: set[str], known: Definitions) -> Iterator[tuple[str, float]]:
    """What a run of names joined by dots may mean: the longest known ending, and the words before it."""
    pieces = _SEPARATOR.split(match["name"])
    dotted = ".".join(pieces)
    if len(pieces) > 1 and ".".join(pieces[-2:]) in known:
        yield ".".join(pieces[-2:]), 1.0
        pieces = pieces[:-1]
    elif dotted in known:
        yield dotted, 1.0 if _is_code(dotted, quoted) or match["call"] or len(pieces) > 1 else _plain(dotted)
        return
    for place, piece in enumerate(pieces):
        if piece in known and piece not in _ON_ITSELF:
            last = place == len(pieces) - 1
            sure = _is_code(piece, quoted) or (last and (match["call"] is not None or len(pieces) > 1))
            yield piece, 1.0 if sure else _plain(piece)


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
        if span.role is Role.OUTLINE and not document.units[span.unit].defines:
            yield from _WORD.findall(document.text[span.start : span.stop])
