"""The best units for the words of a question, from the postings.

Word by word, the rarest first. A word can add so much to a unit's score and no more (MaxScore: Turtle and Flood, "Query
evaluation: strategies and optimizations", 1995). Once all words that are left could not bring a new unit among the
best, their postings are only looked up for the units that are there; of those it drops each that they could not bring
among the best. Up to the limits of `bm25` the result is the same as that of scoring every posting.
"""

import heapq
import sqlite3
from bisect import bisect_left
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from laguna_tui.repo.search import postings
from laguna_tui.repo.search.bm25 import Weighing, is_settled, weighed
from laguna_tui.repo.search.postings import PostingsReader, numbers

# Postings that are read one by one before arrays take over: importing numpy takes as long as reading ten times as many,
# and often the rarest words settle which units can be among the best.
LISTED_POSTINGS = 10_000
# In a larger index fewer are: scanning its folder takes longer than importing numpy anyway.
_LARGE_UNITS, _LISTED_OF_LARGE = 50_000, 4_000
# With this many times more postings than wanted units, each unit is searched for by bisection.
_SEARCHED = 10


def best_units(
    connection: sqlite3.Connection,
    words: Iterable[str],
    limit: int,
    also: Sequence[int] = (),
    forms: Mapping[str, str] = MappingProxyType({}),
) -> dict[int, float]:
    """Return the units that have the words, by unit, with their BM25 scores, best first.

    Args:
        connection: An index.
        words: Stems, each once, with other forms of words of the question.
        limit: Most units.
        also: Units to score beside them; those without any of the words are left out.
        forms: Of a word that is only another form of one of the question, that one.

    Raises:
        sqlite3.DatabaseError: The index is damaged.
    """
    with postings.snapshot(connection):
        reader = PostingsReader(connection)
        weighing = weighed(reader, words, forms)
        if not weighing.words:
            return {}
        try:
            scores = _scored(reader, weighing, limit, also)
            if scores is None:
                from laguna_tui.repo.search.best_units_arrays import scored

                scores = scored(reader, weighing, limit, also)
        except (ValueError, IndexError) as error:
            raise postings.damaged(error) from error
    ranked = sorted((-score, unit) for unit, score in scores if score > 0.0)
    wanted = set(also)
    return {unit: -score for rank, (score, unit) in enumerate(ranked) if rank < limit or unit in wanted}


def _scored(
    reader: PostingsReader, weighing: Weighing, limit: int, also: Sequence[int]
) -> list[tuple[int, float]] | None:
    """Return the best units and the requested ones with their scores; None where there are too many postings."""
    left = LISTED_POSTINGS if reader.units < _LARGE_UNITS else min(LISTED_POSTINGS, _LISTED_OF_LARGE)
    listed = _Lists(reader, weighing)
    threshold, taken = 0.0, 0
    while taken < len(weighing.words) and not is_settled(threshold, weighing.rest[taken]):
        left -= weighing.words[taken].units
        if left < 0:
            return None
        listed.add(taken)
        threshold = _threshold(listed.scores.values(), limit)
        taken += 1
    asked = set(also)
    chosen = dict.fromkeys(also, 0.0) | listed.scores
    for at in range(taken, len(weighing.words) + 1):
        threshold, rest = _threshold(chosen.values(), limit), weighing.rest[at]
        chosen = {
            unit: score for unit, score in chosen.items() if not is_settled(threshold, score + rest) or unit in asked
        }
        if rest:
            listed.add_to(chosen, at)
    return list(chosen.items())


def _threshold(scores: Collection[float], limit: int) -> float:
    """Return the least of the best scores; 0 where there are fewer than `limit`."""
    return heapq.nlargest(limit, scores)[-1] if len(scores) > limit > 0 else 0.0


class _Lists:
    """The postings of a question's words, read one by one.

    Attributes:
        scores: Of all units with a word that was added.
    """

    def __init__(self, reader: PostingsReader, weighing: Weighing) -> None:
        self._reader, self._weighing = reader, weighing
        self._lengths: dict[int, Sequence[int]] = {}
        self.scores: dict[int, float] = {}

    def add(self, at: int) -> None:
        """Add a word's part to the scores of all units that have it."""
        scores, factor = self.scores, self._weighing.factors[at]
        short, per_word = self._weighing.short, self._weighing.per_word
        for block, lengths, places, weights in self._rows(at):
            first = block * postings.BLOCK_UNITS
            for place, weight in zip(places, weights, strict=True):
                if length := lengths[place]:
                    gain = weight / (weight + (short + per_word * length)) * factor
                    scores[first + place] = scores.get(first + place, 0.0) + gain

    def add_to(self, chosen: dict[int, float], at: int) -> None:
        """Add a word's part to the scores of those units alone."""
        factor, short, per_word = self._weighing.factors[at], self._weighing.short, self._weighing.per_word
        by_block: dict[int, list[int]] = {}
        for unit in chosen:
            by_block.setdefault(unit // postings.BLOCK_UNITS, []).append(unit % postings.BLOCK_UNITS)
        for block, lengths, places, weights in self._rows(at, by_block):
            for place, weight in _found(by_block[block], places, weights):
                if length := lengths[place]:
                    gain = weight / (weight + (short + per_word * length)) * factor
                    chosen[block * postings.BLOCK_UNITS + place] += gain

    def _rows(
        self, at: int, among: Container[int] | None = None
    ) -> Iterator[tuple[int, Sequence[int], Sequence[int], bytes]]:
        """Yield each block of a word: its number, its units' lengths, and the postings' places and weights."""
        word = self._weighing.words[at]
        for block in word.blocks:
            if among is None or block in among:
                if block not in self._lengths:
                    self._lengths[block] = numbers(self._reader.lengths(block))
                places, weights = self._reader.row(word, block)
                yield block, self._lengths[block], numbers(places), weights


def _found(wanted: Sequence[int], places: Sequence[int], weights: bytes) -> Iterator[tuple[int, int]]:
    """Yield the wanted places that are among the ascending places of postings, with their weights."""
    if len(wanted) * _SEARCHED > len(places):
        weight_at = dict(zip(places, weights, strict=True))
        yield from ((place, weight_at[place]) for place in wanted if place in weight_at)
        return
    for place in wanted:
        at = bisect_left(places, place)
        if at < len(places) and places[at] == place:
            yield place, weights[at]
