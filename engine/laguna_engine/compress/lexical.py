"""Lexical scores of pieces of text for a question: Okapi BM25 (Robertson and Zaragoza, 2009).

Rarity (IDF) is computed over all pieces ranked together, so a word that occurs in every piece counts nothing. Words are
lower-case and stemmed by their commonest endings: `parseConfigFile` gives parse, config, file and all three joined.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

# Longer tokens are encoded data.
_WORD_CHARS = 64
# Bounds the memory of the cache for files made of distinct words.
_CACHED_TOKENS = 200_000
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
"""Words too common in questions and code to rank by."""


class _Splitter(dict[str, tuple[str, ...]]):
    """A cache of each token's words."""

    def __missing__(self, token: str) -> tuple[str, ...]:
        if len(self) > _CACHED_TOKENS:
            self.clear()
        found = self[token] = _split(token)
        return found


def words(text: str) -> list[str]:
    """The words of a text in order; compound names are both split and joined."""
    found: list[str] = []
    for token in _TOKEN.findall(text):
        found += _SPLIT[token]
    return found


def query_words(text: str) -> list[str]:
    """The words of a question without stop words; all of them if nothing else is left."""
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

_K1 = 1.2
_B = 0.6
# A question may be a page of code: a word that occurs ten times in it is not ten times as important.
_REPEATS = 3


class Lexicon:
    """The question's words and their statistics over the pieces.

    Attributes:
        asked: the question's words, and their count in it.
        rarity: IDF of each of them.
        counts: for each piece, its count of each word of the question.
        lengths: words of each piece.
        holding: for each word, the number of pieces that contain it.
    """

    def __init__(self, query: str, pieces: Sequence[str]) -> None:
        self.asked = {word: min(count, _REPEATS) for word, count in Counter(query_words(query)).items()}
        self.counts: list[Counter[str]] = []
        self.lengths: list[int] = []
        for piece in pieces:
            found = words(piece)
            self.counts.append(Counter(word for word in found if word in self.asked))
            self.lengths.append(len(found))
        self.holding = Counter(word for count in self.counts for word in count)
        self.rarity = {word: _rarity(len(pieces), self.holding[word]) for word in self.asked}

    def name(self, group: Sequence[int], name: str, times: int) -> None:
        """Count the words of a name as `times` more occurrences in the first piece of a group."""
        found = [word for word in words(name) if word in self.asked]
        if group and found:
            self.counts[group[0]].update(found * times)

    def scores(self, groups: Iterable[Sequence[int]]) -> list[float]:
        """BM25 score of each group of pieces taken together; 0 for a group without a word of the question."""
        groups = list(groups)
        lengths = [sum(self.lengths[index] for index in group) for group in groups]
        average = sum(lengths) / max(len(lengths), 1) or 1.0
        return [self._score(group, length / average) for group, length in zip(groups, lengths, strict=True)]

    def _score(self, group: Sequence[int], length: float) -> float:
        counted: Counter[str] = Counter()
        for index in group:
            counted.update(self.counts[index])
        damping = _K1 * (1.0 - _B + _B * length)
        return sum(
            self.asked[word] * self.rarity[word] * count * (_K1 + 1.0) / (count + damping)
            for word, count in counted.items()
        )


def _rarity(pieces: int, holding: int) -> float:
    return math.log(1.0 + (pieces - holding + 0.5) / (holding + 0.5))
