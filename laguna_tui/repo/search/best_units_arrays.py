"""The best units as in `best_units`, with arrays: for words that very many units have.

The scores are the same to the last bit.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from laguna_tui.repo.search import bm25, postings
from laguna_tui.repo.search.bm25 import Weighing
from laguna_tui.repo.search.postings import PostingsReader, Word

# With this many times more postings than wanted units, each unit is searched for by bisection.
_SEARCHED = 4

_Places = NDArray[np.int64]
_Weights = NDArray[np.uint8]


def scored(reader: PostingsReader, weighing: Weighing, limit: int, also: Sequence[int]) -> list[tuple[int, float]]:
    """Return the best units and the requested ones, with their scores."""
    table = _UnitTable(reader, weighing)
    words = weighing.words
    threshold, taken, left = 0.0, 0, bm25.SCORED_POSTINGS
    found = np.empty(0, np.int64)
    while taken < len(words) and words[taken].units <= left and not bm25.is_settled(threshold, weighing.rest[taken]):
        left -= words[taken].units
        found = np.concatenate([found, table.add(taken, *table.postings(words[taken], words[taken].blocks))])
        threshold = _threshold(table.scores[found], limit)
        taken += 1
    if not taken:
        # Only words that are everywhere: the rarest of them, in the blocks that were written first (code comes before
        # tests and data there).
        share = max(1, len(words[0].blocks) * bm25.SCORED_POSTINGS // words[0].units)
        found = table.postings(words[0], words[0].blocks[:share])[0]
    asked = table.places(also)
    left = bm25.COMMON_POSTINGS
    for at in range(taken, len(words)):
        found = _kept(table.scores[found], found, weighing.rest[at], limit)
        left -= words[at].units
        if left < 0:
            break
        table.add(at, *table.postings_of(words[at], _united(found, asked)))
    chosen = _united(_kept(table.scores[found], found, 0.0, limit), asked)
    return list(zip(table.units(chosen), table.scores[chosen].tolist(), strict=True))


def _threshold(values: NDArray[np.float64], limit: int) -> float:
    """Return the least of the best scores; 0 where there are fewer than `limit`."""
    return float(np.partition(values, len(values) - limit)[-limit]) if len(values) > limit > 0 else 0.0


def _kept(values: NDArray[np.float64], places: _Places, rest: float, limit: int) -> _Places:
    """Return the places that can still be among the best if none gains more than `rest`."""
    kept: _Places = places[values + rest * bm25.ROUNDING >= _threshold(values, limit)]
    return kept


def _united(one: _Places, other: _Places) -> _Places:
    """Return the union of places, ascending. (`np.union1d` imports masked arrays.)"""
    both = np.sort(np.concatenate([one, other]))
    return both[np.diff(both, prepend=-1) > 0]


class _UnitTable:
    """The units of all blocks side by side; a unit's place is an index into them.

    Attributes:
        scores: [size] float64.
    """

    def __init__(self, reader: PostingsReader, weighing: Weighing) -> None:
        self._reader, self._weighing = reader, weighing
        self._begins = {block: at * postings.BLOCK_UNITS for at, block in enumerate(reader.blocks)}
        self._lengths = np.zeros(len(reader.blocks) * postings.BLOCK_UNITS, np.uint16)
        for block, begin in self._begins.items():
            lengths = np.frombuffer(reader.lengths(block), np.uint16)
            self._lengths[begin : begin + len(lengths)] = lengths
        self.scores = np.zeros(len(self._lengths))

    def add(self, at: int, places: _Places, weights: _Weights) -> _Places:
        """Add a word's part to the scores of some units; returns those that had none before."""
        lengths = self._lengths[places]
        if not lengths.all():
            kept = lengths > 0
            places, weights, lengths = places[kept], weights[kept], lengths[kept]
        norm = self._weighing.short + self._weighing.per_word * lengths.astype(np.float64)
        gain = weights / (weights + norm) * self._weighing.factors[at]
        before = self.scores[places]
        self.scores[places] = before + gain
        new: _Places = places[before == 0.0]
        return new

    def postings(self, word: Word, blocks: Sequence[int]) -> tuple[_Places, _Weights]:
        """Return the places of a word's units in some blocks, ascending, and their weights."""
        rows = [self._reader.row(word, block) for block in blocks]
        weights = np.frombuffer(b"".join(weights for _, weights in rows), np.uint8)
        places = np.frombuffer(b"".join(places for places, _ in rows), np.uint16).astype(np.int64)
        places += np.repeat([self._begins[block] for block in blocks], [len(weights) for _, weights in rows])
        return places, weights

    def postings_of(self, word: Word, wanted: _Places) -> tuple[_Places, _Weights]:
        """Return the places of the wanted units ([n], ascending) that have a word, and their weights."""
        if len(wanted) * _SEARCHED > word.units:
            places, weights = self.postings(word, word.blocks)
            is_wanted = np.zeros(len(self.scores), np.bool_)
            is_wanted[wanted] = True
            kept = is_wanted[places]
            return places[kept], weights[kept]
        begins = [self._begins[block] for block in word.blocks]
        starts = np.searchsorted(wanted, begins).tolist()
        stops = np.searchsorted(wanted, [begin + postings.BLOCK_UNITS for begin in begins]).tolist()
        found, weighed = [], []
        for block, begin, start, stop in zip(word.blocks, begins, starts, stops, strict=True):
            if start == stop:
                continue
            row = self._reader.row(word, block)
            places, weights = np.frombuffer(row[0], np.uint16), np.frombuffer(row[1], np.uint8)
            here = (wanted[start:stop] - begin).astype(np.uint16)
            at = np.searchsorted(places, here)
            at[at == len(places)] = 0
            hit = places[at] == here
            found.append(wanted[start:stop][hit])
            weighed.append(weights[at[hit]])
        if not found:
            return np.empty(0, np.int64), np.empty(0, np.uint8)
        return np.concatenate(found), np.concatenate(weighed)

    def places(self, units: Sequence[int]) -> _Places:
        parted = (divmod(unit, postings.BLOCK_UNITS) for unit in units)
        return np.array([self._begins[block] + at for block, at in parted if block in self._begins], np.int64)

    def units(self, places: _Places) -> list[int]:
        at, inside = np.divmod(places, postings.BLOCK_UNITS)
        units: list[int] = (np.array(self._reader.blocks, np.int64)[at] * postings.BLOCK_UNITS + inside).tolist()
        return units
