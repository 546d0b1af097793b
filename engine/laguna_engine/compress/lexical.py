"""How well pieces of text match a question by its words: Okapi BM25 (Robertson and Zaragoza, 2009).

Rarity is counted over all pieces that are ranked together, so a word that stands in every one says nothing.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from laguna_engine.compress.words import telling, words

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
