"""Fuzzy matching of typed letters and names, fast enough for a hundred thousand names.

One scale for files, folders and definitions. The names are prepared once; `FuzzyNames.best` then compares only those
that contain the letters at all. Misspelt words are matched by `base.spelling`.
"""

import re
import sqlite3
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import accumulate, islice

# Longer names are data; letters after this are not compared.
NAME_CHARS = 256
# Letters spread over more than this many times their own length occur by chance in every long name.
SPREAD = 3
MARK = "\x01"
"""Precedes each word of a name in `marked`."""
_BETWEEN = re.compile("[_ \n-]+")
_WORD_START = re.compile(
    "(?<![^\\W_])(?=[^\\W_])"  # after a non-letter
    "|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"  # shoppingCart, HTTPServer
    "|(?<=[0-9])(?=[^\\W0-9_])|(?<=[^\\W0-9_])(?=[0-9])"  # utf8, 2to3
)


class FuzzyMatch(IntEnum):
    """Kinds of a match, from the best to the worst.

    Attributes:
        SAME: All letters.
        BEGINS: The name begins with them.
        WORD: One of its words does.
        WORDS: They are the beginnings of several of its words (`sc` in `ShoppingCart`).
        INSIDE: The name contains them.
        SCATTERED: The name contains them in this order, close together.
    """

    SAME = 0
    BEGINS = 1
    WORD = 2
    WORDS = 3
    INSIDE = 4
    SCATTERED = 5


def folded(text: str) -> str:
    """Return the letters of a name in lower case, without separators between words."""
    return _BETWEEN.sub("", text[:NAME_CHARS].replace(MARK, "")).lower()


def marked(name: str) -> str:
    """Return the folded name with a `MARK` before each of its words."""
    return _BETWEEN.sub("", _WORD_START.sub(MARK, name[:NAME_CHARS].replace(MARK, ""))).lower()


def fuzzy_match(name: str, letters: str) -> FuzzyMatch | None:
    """Return how `folded` letters match a name; None when they do not."""
    return match_marked(marked(name), letters)


def match_marked(words: str, letters: str) -> FuzzyMatch | None:
    """Return the kind of match with a name that is already `marked`."""
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
    """Return the offsets of the words of a marked name in the folded one."""
    starts = []
    at = 0
    for index, word in enumerate(words.split(MARK)):
        if index:
            starts.append(at)
        at += len(word)
    return starts


def has_scattered(small: str, letters: str) -> bool:
    """Return whether a text contains the letters in their order, however far apart."""
    at = 0
    for letter in letters:
        at = small.find(letter, at) + 1
        if not at:
            return False
    return True


def has_near(small: str, letters: str) -> bool:
    """Return whether a text contains the letters in order and close together, as people type on purpose."""
    start = small.find(letters[:1])
    while start >= 0:
        if has_scattered(small[start : start + SPREAD * len(letters)], letters):
            return True
        start = small.find(letters[:1], start + 1)
    return False


def _beginnings(small: str, starts: list[int], letters: str) -> bool:
    """Return whether the letters are beginnings of words, in their order; words may be skipped."""
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


# Names compared per kind of match: this many take a hundredth of a second, and nobody reads them all. With so few
# letters that more match, the user continues typing.
COMPARED = 4_000
# Longer input was pasted rather than typed.
LETTERS = 128


class _NameLines:
    """Texts without newlines, one per line, searched together."""

    def __init__(self, texts: Iterable[str]) -> None:
        held = list(texts)
        self._text = "\n" + "\n".join(held) + "\n" * bool(held)
        # Offset of the newline before each line.
        self._starts = array("Q", accumulate((len(text) + 1 for text in held[:-1]), initial=0)) if held else array("Q")

    def __getitem__(self, line: int) -> str:
        start = self._starts[line] + 1
        return self._text[start : self._text.index("\n", start)]

    def containing(self, text: str) -> Iterator[int]:
        """Yield the lines that contain a text, each once; a leading newline anchors it to a line's beginning."""
        at = self._text.find(text)
        while at >= 0:
            line = self._line(at)
            yield line
            at = self._text.find(text, self._text.index("\n", self._starts[line] + 1))

    def matching(self, pattern: re.Pattern[str]) -> Iterator[int]:
        """Yield the lines with a match, each once; the pattern must not match across lines."""
        match = pattern.search(self._text)
        while match:
            line = self._line(match.start())
            yield line
            match = pattern.search(self._text, self._text.index("\n", self._starts[line] + 1))

    def scattered(self, letters: str) -> Iterator[int]:
        """Yield the lines that contain the letters in their order."""
        pieces = [re.escape(letters[0]), *(f"[^{re.escape(letter)}\n]*{re.escape(letter)}" for letter in letters[1:])]
        return self.matching(re.compile("".join(pieces)))

    def _line(self, at: int) -> int:
        return bisect_right(self._starts, at) - 1


class FuzzyNames:
    """A list of names, prepared for matching.

    Attributes:
        names: The names.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self._marked = _NameLines(map(marked, names))
        self._folded = _NameLines(map(folded, names))

    def same(self, typed: str) -> list[str]:
        """Return the names with these letters, in any case and with any separators."""
        return [self.names[line] for line in self._folded.containing(f"\n{folded(typed)}\n")]

    def containing(self, pieces: Iterable[str]) -> list[str]:
        """Return the names that contain one of some pieces, in any case and with any separators."""
        lines = {line for piece in pieces for line in self._folded.containing(folded(piece))}
        return [self.names[line] for line in sorted(lines)]

    def best(self, typed: str, enough: int) -> dict[int, FuzzyMatch]:
        """Return the matches by the names' index: the best kind, the next best and so on, until there are `enough`.

        Of a kind that more than `COMPARED` names match, the first `COMPARED` are returned.
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
        """Return worse matches, found by comparing each name that contains the letters in order."""
        fits: dict[int, FuzzyMatch] = {}
        for line in islice(self._folded.scattered(letters), COMPARED):
            if line not in found and (kind := match_marked(self._marked[line], letters)) is not None:
                fits[line] = kind
        return fits


@dataclass(frozen=True, slots=True)
class FuzzyPaths:
    """Files and folders, prepared for matching.

    Attributes:
        whole: Paths, folders first and ending in "/".
        names: Their last parts, in the same order.
        paths: The paths in lower case, in the same order.
    """

    whole: Sequence[str]
    names: FuzzyNames
    paths: _NameLines
    _files: Sequence[str]

    def has(self, path: str) -> bool:
        """Return whether a file of this path exists."""
        at = bisect_left(self._files, path)
        return at < len(self._files) and self._files[at] == path


def fuzzy_paths(paths: Sequence[str]) -> FuzzyPaths:
    whole = [*folders_of(paths), *paths]
    names = FuzzyNames([path.removesuffix("/").rpartition("/")[2] for path in whole])
    return FuzzyPaths(whole, names, _NameLines(path.lower().replace("\n", " ") for path in whole), paths)


def folders_of(paths: Sequence[str]) -> list[str]:
    """Return every folder with a file somewhere below it, sorted, each ending in "/"."""
    found: set[str] = set()
    for path in paths:
        at = path.rfind("/")
        while at > 0 and path[: at + 1] not in found:
            found.add(path[: at + 1])
            at = path.rfind("/", 0, at)
    return sorted(found)


def fuzzy_symbols(connection: sqlite3.Connection) -> FuzzyNames:
    rows = connection.execute("select distinct names.name from symbols join names on names.id = symbols.name")
    return FuzzyNames(sorted(name for (name,) in rows))


NO_PATHS = fuzzy_paths(())
NO_SYMBOLS = FuzzyNames(())
