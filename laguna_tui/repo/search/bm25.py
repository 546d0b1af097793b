"""BM25: what a word adds to the score of a unit that has it, and which words and units cannot matter any more.

Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with the inverse
document frequency that is never 0 (as in Lucene): a word in most units still separates them from the others.
"""

import math
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import NamedTuple

from laguna_tui.repo.search.postings import PostingsReader, Word

K1 = 1.2
"""Saturation of a repeated word."""
B = 0.3
"""How much a long text is held back: little, because a long function that has the words is a better answer than a
one-line function."""
OTHER_FORM = 0.3
"""What another form of a question's word (cfg for config) counts beside the word, as it means the same less surely."""
# In an index of more units other forms are not followed: at a million, with half as many of them as words, a question
# took 1.4 times as long, beyond the 20 ms that it may take.
OTHER_FORMS_UNTIL_UNITS = 250_000
# Postings from which units are taken, from the rarest word on; more would take longer than a person notices. Words
# beyond only add to the score of units that were found by rarer ones.
SCORED_POSTINGS = 100_000
# Most postings read for those words: beyond, the most frequent words change scores by a hundredth.
COMMON_POSTINGS = 4_000_000
# A sum in another order differs by less.
ROUNDING = 1.0 + 1e-9


class Weighing(NamedTuple):
    """What the scores of one question are made of.

    Attributes:
        words: The rarest first.
        factors: For each the most that it can add to a score.
        rest: For each the most that it and all after it can add; 0 at the end.
        short: Norm of a unit without a word; `per_word` is added for each word of its length.
    """

    words: tuple[Word, ...]
    factors: tuple[float, ...]
    rest: tuple[float, ...]
    short: float
    per_word: float


def weighed(reader: PostingsReader, texts: Iterable[str], forms: Mapping[str, str]) -> Weighing:
    """Return what the scores of a question with these words are made of; words of no unit are left out.

    Args:
        reader: Of an index.
        texts: Words, each once.
        forms: Of a word that is only another form of one of the question, that one.
    """
    if reader.units > OTHER_FORMS_UNTIL_UNITS:
        texts = [text for text in texts if text not in forms]
    words = tuple(sorted(word for text in texts if (word := reader.word(text)).units))
    most = {word.text: (K1 + 1.0) * rarity(reader.units, word.units) for word in words}
    # Another form says no more than the word itself would, however rare it is.
    factors = tuple(
        value if text not in forms else OTHER_FORM * min(value, most.get(forms[text], value))
        for text, value in most.items()
    )
    rest = tuple(accumulate(reversed(factors), initial=0.0))[::-1]
    return Weighing(words, factors, rest, K1 * (1.0 - B), K1 * B / reader.average)


def rarity(total: int, holding: int) -> float:
    """Return the inverse document frequency of a word that `holding` of `total` texts have; never 0."""
    return math.log1p((max(total - holding, 0) + 0.5) / (holding + 0.5))


def is_settled(threshold: float, rest: float) -> bool:
    """Return whether a unit that could get no more than `rest` stays below the threshold."""
    return threshold > rest * ROUNDING
