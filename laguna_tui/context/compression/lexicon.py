"""Lexical scores of pieces of text for a question: Okapi BM25, over the pieces that are ranked together.

Words are split and stemmed as the index does it (`repo.search.identifiers`).
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from laguna_tui.repo.search.bm25 import K1, B, rarity
from laguna_tui.repo.search.identifiers import question_words, stem, stemmed_words

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
        self.asked = {word: min(count, _REPEATS) for word, count in Counter(map(stem, question_words(query))).items()}
        self.counts: list[Counter[str]] = []
        self.lengths: list[int] = []
        for piece in pieces:
            found = stemmed_words(piece)
            self.counts.append(Counter(word for word in found if word in self.asked))
            self.lengths.append(len(found))
        self.holding = Counter(word for count in self.counts for word in count)
        self.rarity = {word: rarity(len(pieces), self.holding[word]) for word in self.asked}

    def name(self, group: Sequence[int], name: str, times: int) -> None:
        """Count the words of a name as `times` more occurrences in the first piece of a group."""
        found = [word for word in stemmed_words(name) if word in self.asked]
        if group and found:
            self.counts[group[0]].update(found * times)

    def scores(self, groups: Iterable[Sequence[int]]) -> list[float]:
        """Return the BM25 score of each group of pieces taken together; 0 without any word of the question."""
        groups = list(groups)
        lengths = [sum(self.lengths[index] for index in group) for group in groups]
        average = sum(lengths) / max(len(lengths), 1) or 1.0
        return [self._score(group, length / average) for group, length in zip(groups, lengths, strict=True)]

    def _score(self, group: Sequence[int], length: float) -> float:
        counted: Counter[str] = Counter()
        for index in group:
            counted.update(self.counts[index])
        damping = K1 * (1.0 - B + B * length)
        return sum(
            self.asked[word] * self.rarity[word] * count * (K1 + 1.0) / (count + damping)
            for word, count in counted.items()
        )
