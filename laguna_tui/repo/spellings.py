"""Everything that can be named in a folder, prepared for fuzzy search: its files, their folders, its definitions."""

import sqlite3
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from laguna_tui.repo.corpus import Corpus, Lines


@dataclass(frozen=True, slots=True)
class Places:
    """Files and folders.

    whole: paths, folders first and ending in "/". names: their last parts, in the same order. paths: all of each in
    lower case, in the same order.
    """

    whole: Sequence[str]
    names: Corpus
    paths: Lines
    _files: Sequence[str]

    def has(self, path: str) -> bool:
        """Whether there is a file of this path."""
        at = bisect_left(self._files, path)
        return at < len(self._files) and self._files[at] == path


@dataclass(frozen=True, slots=True)
class Symbols:
    """Names of definitions, each once."""

    names: Sequence[str]
    corpus: Corpus


def places(paths: Sequence[str]) -> Places:
    """What a sorted listing of files can be searched with."""
    whole = [*folders(paths), *paths]
    names = Corpus([path.removesuffix("/").rpartition("/")[2] for path in whole])
    return Places(whole, names, Lines(path.lower().replace("\n", " ") for path in whole), paths)


def folders(paths: Sequence[str]) -> list[str]:
    """Every folder that has a file somewhere below it, sorted, each ending in "/"."""
    found: set[str] = set()
    for path in paths:
        at = path.rfind("/")
        while at > 0 and path[: at + 1] not in found:
            found.add(path[: at + 1])
            at = path.rfind("/", 0, at)
    return sorted(found)


def symbols(connection: sqlite3.Connection) -> Symbols:
    """The names that the index has definitions of."""
    rows = connection.execute("select distinct names.name from symbols join names on names.id = symbols.name")
    names = sorted(name for (name,) in rows)
    return Symbols(names, Corpus(names))


NO_PLACES = places(())
NO_SYMBOLS = Symbols((), Corpus(()))
