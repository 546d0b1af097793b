"""How well pieces of text match a question by its words: Okapi BM25 (Robertson and Zaragoza, 2009).

Rarity is counted over all pieces that are ranked together, so a word that occurs in every one says nothing. Words are
lower-case, without their commonest endings: `parseConfigFile` is parse, config, file and all three.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

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

_K1 = 1.2
_B = 0.6
# A question may be a page of code: a word that it has ten times is not ten times as telling.
_REPEATS = 3


class Lexicon:
    """The question's words and how rare each is among the pieces.

    Attributes:
        asked: the question's words, and how often it has them. rarity: how telling each is.
        counts: for each piece, how often it has each word of the question. lengths: words of each piece.
        holding: in how many pieces each word is.
    """

    def __init__(self, query: str, pieces: Sequence[str]) -> None:
        self.asked = {word: min(count, _REPEATS) for word, count in Counter(telling(query)).items()}
        self.counts: list[Counter[str]] = []
        self.lengths: list[int] = []
        for piece in pieces:
            found = words(piece)
            self.counts.append(Counter(word for word in found if word in self.asked))
            self.lengths.append(len(found))
        self.holding = Counter(word for count in self.counts for word in count)
        self.rarity = {word: _rarity(len(pieces), self.holding[word]) for word in self.asked}

    def name(self, group: Sequence[int], name: str, times: int) -> None:
        """Count the words of a name as if they stood in the first piece of a group so many times more."""
        found = [word for word in words(name) if word in self.asked]
        if group and found:
            self.counts[group[0]].update(found * times)

    def scores(self, groups: Iterable[Sequence[int]]) -> list[float]:
        """BM25 of each group of pieces taken together, 0 when it has no word of the question."""
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
