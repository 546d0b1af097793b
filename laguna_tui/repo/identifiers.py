"""Text and identifiers as the words that are indexed and searched: `parseConfigFile` is also parse, config and file.

A name of several words gives its words and all of them joined, so `parse_config`, `parseConfig` and "parse config"
meet. Deals in lower-case words; knows nothing of files.
"""

import re
from functools import lru_cache

# Longer runs are hashes, keys and encoded data: nobody searches for them, and each would be a word of its own.
WORD_LIMIT_CHARS = 64
# A name kept for the next file saves splitting it again; data files full of different names must not fill the memory.
_REMEMBERED = 200_000
_TOKEN = re.compile(r"\w+")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_BETWEEN = re.compile(r"[\W_]+")
_MIXED = re.compile(r"[a-z0-9][A-Z]|\w_\w")

STOP_WORDS = frozenset(
    "a an and are as at be by can do does for from get has have how i if in into is it its of on or that the their"
    " them then there these this to was we were what when where which who why will with you".split()
)
"""Words of a question that say nothing about code."""


class _Splitter(dict[str, tuple[str, ...]]):
    """Each token's words, remembered."""

    def __missing__(self, token: str) -> tuple[str, ...]:
        if len(self) > _REMEMBERED:
            self.clear()
        words = self[token] = _split(token)
        return words


def words(text: str) -> list[str]:
    """The words of a text in their order, identifiers split; lower case."""
    found: list[str] = []
    for token in _TOKEN.findall(text):
        found += _SPLIT[token]
    return found


def parts(name: str) -> list[str]:
    """The words of one name, without the joined one: `HTTPServer` gives http and server."""
    if name.isascii():
        return [part.lower() for part in _PART.findall(name)]
    return [part.lower() for part in _BETWEEN.split(name) if part]


def looks_like_code(token: str) -> bool:
    """Whether a word of a question is written as only identifiers are: with an underscore or a capital inside."""
    return _MIXED.search(token) is not None


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """The word without the commonest English endings, to compare two words; not a word itself."""
    for ending in ("ings", "ing", "ies", "ers", "ed", "es", "er", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _split(token: str) -> tuple[str, ...]:
    if len(token) > WORD_LIMIT_CHARS:
        return ()
    pieces = tuple(parts(token))
    return pieces if len(pieces) < 2 else (*pieces, "".join(pieces))


_SPLIT = _Splitter()
