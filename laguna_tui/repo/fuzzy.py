"""How well a few typed letters fit a name, and the best of a hundred thousand names in milliseconds.

One scale for files, folders and definitions. The names are prepared once; `FuzzyNames.best` then compares only those
that have the letters at all. A word that was misspelt is another matter: `base.spelling`.
"""

import re
import sqlite3
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import accumulate, islice

# Longer names are data; letters behind this are not compared.
NAME_CHARS = 256
# Letters that take more than this many times their own room are met by chance in every long name.
SPREAD = 3
MARK = "\x01"
"""Stands before each word of a name in `marked`."""
_BETWEEN = re.compile("[_ \n-]+")
_WORD_START = re.compile(
    "(?<![^\\W_])(?=[^\\W_])"  # after what is no letter
    "|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"  # shoppingCart, HTTPServer
    "|(?<=[0-9])(?=[^\\W0-9_])|(?<=[^\\W0-9_])(?=[0-9])"  # utf8, 2to3
)


class FuzzyMatch(IntEnum):
    """From the best to the worst.

    SAME: all letters. BEGINS: the name begins with them. WORD: one of its words does. WORDS: they are the beginnings of
    several of its words (`sc` in `ShoppingCart`). INSIDE: they stand in it. SCATTERED: they stand
    in it in this order, close together.
    """

    SAME = 0
    BEGINS = 1
    WORD = 2
    WORDS = 3
    INSIDE = 4
    SCATTERED = 5


def folded(text: str) -> str:
    """What is compared of a name: its letters in lower case, without what stands between words."""
    return _BETWEEN.sub("", text[:NAME_CHARS].replace(MARK, "")).lower()


def marked(name: str) -> str:
    """The folded name with a `MARK` before each of its words."""
    return _BETWEEN.sub("", _WORD_START.sub(MARK, name[:NAME_CHARS].replace(MARK, ""))).lower()


def fuzzy_match(name: str, letters: str) -> FuzzyMatch | None:
    """How letters (`folded` ones) fit a name; None when they do not."""
    return fit_marked(marked(name), letters)


def fit_marked(words: str, letters: str) -> FuzzyMatch | None:
    """The same for a name that is `marked` already."""
    small = words.replace(MARK, "")
    if small.startswith(letters):
        return FuzzyMatch.SAME if len(small) == len(letters) else FuzzyMatch.BEGINS
    if not has_scattered(small, letters):
        return None
    starts = _starts(words)
    if any(small.startswith(letters, start) for start in starts):
        return FuzzyMatch.WORD
    if _beginnings(small, starts, letters):
        return FuzzyMatch.WORDS
    if letters in small:
        return FuzzyMatch.INSIDE
    return FuzzyMatch.SCATTERED if has_near(small, letters) else None


def _starts(words: str) -> list[int]:
    """Where the words of a marked name begin in the folded one."""
    starts = []
    at = 0
    for index, word in enumerate(words.split(MARK)):
        if index:
            starts.append(at)
        at += len(word)
    return starts


def has_scattered(small: str, letters: str) -> bool:
    """Whether the letters stand in a text in their order, however far apart."""
    at = 0
    for letter in letters:
        at = small.find(letter, at) + 1
        if not at:
            return False
    return True


def has_near(small: str, letters: str) -> bool:
    """The same with little between them: that is what somebody types on purpose."""
    start = small.find(letters[:1])
    while start >= 0:
        if has_scattered(small[start : start + SPREAD * len(letters)], letters):
            return True
        start = small.find(letters[:1], start + 1)
    return False


def _beginnings(small: str, starts: list[int], letters: str) -> bool:
    """Whether the letters can be cut into beginnings of words, in their order; words may be passed over."""
    used = {0}
    for start, stop in zip(starts, [*starts[1:], len(small)], strict=True):
        for before in sorted(used, reverse=True):
            taken = 0
            while start + taken < stop and small[start + taken] == letters[before + taken]:
                taken += 1
                used.add(before + taken)
                if before + taken == len(letters):
                    return True
    return False


# Of each fit no more names are looked at: they take a hundredth of a second, and nobody reads them. Whoever typed so
# few letters that there are more goes on typing.
COMPARED = 4_000
# More letters than this are not typed but pasted.
LETTERS = 128


class _NameLines:
    """Texts without newlines, one a line, searched together."""

    def __init__(self, texts: Iterable[str]) -> None:
        held = list(texts)
        self._text = "\n" + "\n".join(held) + "\n" * bool(held)
        # Where each line's newline before it stands.
        self._starts = array("Q", accumulate((len(text) + 1 for text in held[:-1]), initial=0)) if held else array("Q")

    def __getitem__(self, line: int) -> str:
        start = self._starts[line] + 1
        return self._text[start : self._text.index("\n", start)]

    def containing(self, text: str) -> Iterator[int]:
        """The lines that contain a text, each once; one that begins with a newline is looked for at their beginning."""
        at = self._text.find(text)
        while at >= 0:
            line = self._line(at)
            yield line
            at = self._text.find(text, self._text.index("\n", self._starts[line] + 1))

    def matching(self, pattern: re.Pattern[str]) -> Iterator[int]:
        """The lines with a match, each once; the pattern must not match across lines."""
        match = pattern.search(self._text)
        while match:
            line = self._line(match.start())
            yield line
            match = pattern.search(self._text, self._text.index("\n", self._starts[line] + 1))

    def scattered(self, letters: str) -> Iterator[int]:
        """The lines that have the letters in their order."""
        pieces = [re.escape(letters[0]), *(f"[^{re.escape(letter)}\n]*{re.escape(letter)}" for letter in letters[1:])]
        return self.matching(re.compile("".join(pieces)))

    def _line(self, at: int) -> int:
        return bisect_right(self._starts, at) - 1


class FuzzyNames:
    """Names, in their order."""

    def __init__(self, names: Sequence[str]) -> None:
        self._marked = _NameLines(map(marked, names))
        self._folded = _NameLines(map(folded, names))

    def best(self, typed: str, enough: int) -> dict[int, FuzzyMatch]:
        """How names fit, by their place: those that fit best, second best and so on, until there are enough.

        Of a fit that more than `COMPARED` names have, the first so many are given.
        """
        letters = folded(typed[:LETTERS])
        if not letters:
            return {}
        found: dict[int, FuzzyMatch] = dict.fromkeys(
            islice(self._folded.containing(f"\n{letters}\n"), COMPARED), FuzzyMatch.SAME
        )
        for line in islice(self._folded.containing("\n" + letters), COMPARED):
            found.setdefault(line, FuzzyMatch.BEGINS)
        if len(found) < enough:
            word = re.compile(MARK + f"{MARK}?".join(map(re.escape, letters)))
            for line in islice(self._marked.matching(word), COMPARED):
                found.setdefault(line, FuzzyMatch.WORD)
        return found if len(found) >= enough else found | self._compared(letters, found)

    def _compared(self, letters: str, found: dict[int, FuzzyMatch]) -> dict[int, FuzzyMatch]:
        """Names that fit less well, by looking at each that has the letters in their order."""
        fits: dict[int, FuzzyMatch] = {}
        for line in islice(self._folded.scattered(letters), COMPARED):
            if line not in found and (how := fit_marked(self._marked[line], letters)) is not None:
                fits[line] = how
        return fits


@dataclass(frozen=True, slots=True)
class FuzzyPaths:
    """Files and folders.

    whole: paths, folders first and ending in "/". names: their last parts, in the same order. paths: all of each in
    lower case, in the same order.
    """

    whole: Sequence[str]
    names: FuzzyNames
    paths: _NameLines
    _files: Sequence[str]

    def has(self, path: str) -> bool:
        """Whether there is a file of this path."""
        at = bisect_left(self._files, path)
        return at < len(self._files) and self._files[at] == path


@dataclass(frozen=True, slots=True)
class FuzzySymbols:
    """Names of definitions, each once."""

    names: Sequence[str]
    corpus: FuzzyNames


def fuzzy_paths(paths: Sequence[str]) -> FuzzyPaths:
    """What a sorted listing of files can be searched with."""
    whole = [*folders_of(paths), *paths]
    names = FuzzyNames([path.removesuffix("/").rpartition("/")[2] for path in whole])
    return FuzzyPaths(whole, names, _NameLines(path.lower().replace("\n", " ") for path in whole), paths)


def folders_of(paths: Sequence[str]) -> list[str]:
    """Every folder that has a file somewhere below it, sorted, each ending in "/"."""
    found: set[str] = set()
    for path in paths:
        at = path.rfind("/")
        while at > 0 and path[: at + 1] not in found:
            found.add(path[: at + 1])
            at = path.rfind("/", 0, at)
    return sorted(found)


def fuzzy_symbols(connection: sqlite3.Connection) -> FuzzySymbols:
    """The names that the index has definitions of."""
    rows = connection.execute("select distinct names.name from symbols join names on names.id = symbols.name")
    names = sorted(name for (name,) in rows)
    return FuzzySymbols(names, FuzzyNames(names))


NO_PATHS = fuzzy_paths(())
NO_SYMBOLS = FuzzySymbols((), FuzzyNames(()))
