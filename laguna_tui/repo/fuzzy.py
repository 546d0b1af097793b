"""How well a few typed letters fit a name: one scale for files and for definitions.

Case and the characters between words (`_`, `-`, blank) do not count. Deals in names; takes time in proportion to them.
"""

import re
from enum import IntEnum

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


class Fit(IntEnum):
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


def fit(name: str, letters: str) -> Fit | None:
    """How letters (`folded` ones) fit a name; None when they do not."""
    return fit_marked(marked(name), letters)


def fit_marked(words: str, letters: str) -> Fit | None:
    """The same for a name that is `marked` already."""
    small = words.replace(MARK, "")
    if small.startswith(letters):
        return Fit.SAME if len(small) == len(letters) else Fit.BEGINS
    if not has_scattered(small, letters):
        return None
    starts = _starts(words)
    if any(small.startswith(letters, start) for start in starts):
        return Fit.WORD
    if _beginnings(small, starts, letters):
        return Fit.WORDS
    if letters in small:
        return Fit.INSIDE
    return Fit.SCATTERED if has_near(small, letters) else None


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
