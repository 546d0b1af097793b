"""Text as the words that a question and code have in common: `parseConfigFile` is parse, config, file and all three.

Deals in lower-case words without their commonest endings; knows nothing of languages.
"""

import re

# Longer runs are encoded data.
_WORD_CHARS = 64
# Files made of different words each must not fill the memory.
_REMEMBERED = 200_000
_TOKEN = re.compile(r"\w+")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W_]+?(?=[A-Za-z\d_]|$)")
_ENDINGS = ("ings", "ing", "ies", "ers", "ed", "es", "er", "s", "e")
_STEM_CHARS = 3

STOP_WORDS = frozenset(
    "a about all an and any are as at be been but by can code could did do does each else false file for from get give"
    " had has have how i if import in into is it its line me my new no none not null of on one or other our out return"
    " see self set should show so such tell that the their them then there these they this those to true two up us use"
    " used using was we were what when where which while who why will with would you your".split()
)
"""Words that a question has in common with any code."""


class _Splitter(dict[str, tuple[str, ...]]):
    """Each token's words, remembered."""

    def __missing__(self, token: str) -> tuple[str, ...]:
        if len(self) > _REMEMBERED:
            self.clear()
        found = self[token] = _split(token)
        return found


def words(text: str) -> list[str]:
    """The words of a text in their order, names split and joined."""
    found: list[str] = []
    for token in _TOKEN.findall(text):
        found += _SPLIT[token]
    return found


def telling(text: str) -> list[str]:
    """The words of a question that say something; all of them when none does."""
    every = words(text)
    return [word for word in every if len(word) > 1 and word not in _STOPPED] or every


def _split(token: str) -> tuple[str, ...]:
    if len(token) > _WORD_CHARS:
        return ()
    pieces = [part.lower() for part in _PART.findall(token)] or [token.lower()]
    stems = tuple(_stem(piece) for piece in pieces)
    return stems if len(stems) < 2 else (*stems, "".join(pieces))


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _STEM_CHARS:
            return word[: -len(ending)]
    return word


_SPLIT = _Splitter()
_STOPPED = frozenset(_stem(word) for word in STOP_WORDS) | STOP_WORDS
