"""The tokens to pick from after one decode, once they are on the host: a row at a time, in order."""

import numpy as np
from numpy.typing import NDArray

from laguna_engine.llama.readout import Wanted
from laguna_engine.llama.sampler import CANDIDATE, SamplerChain
from laguna_engine.llama.taps import Taps


class BestPicks:
    """The best token of each row: all that greedy sampling wants to know."""

    def __init__(self, best: NDArray[np.int32]) -> None:
        self._best: list[int] = best.tolist()

    def pick(self, _chain: SamplerChain, row: int) -> int:
        """The best token; a greedy chain has nothing to remember."""
        return self._best[row]


class CandidatePicks:
    """The likeliest tokens of each row, [rows, k] both, in no order: all that a chain with top-k looks at."""

    def __init__(self, ids: NDArray[np.int32], logits: NDArray[np.float32]) -> None:
        # As llama.cpp's own top-k leaves them, so that the same seed draws the same token; ties go to the lower id.
        order = np.lexsort((ids, -logits), axis=-1)
        self._rows = np.zeros(ids.shape, CANDIDATE)
        self._rows["id"] = np.take_along_axis(ids, order, axis=1)
        self._rows["logit"] = np.take_along_axis(logits, order, axis=1)

    def pick(self, chain: SamplerChain, row: int) -> int:
        """What `chain` picks, which remembers it and may leave its candidates in another order."""
        return chain.choose(self._rows[row].copy())


def read_picks(taps: Taps, rows: int) -> BestPicks | CandidatePicks:
    """Bring the readout of the last decode, which had `rows` output rows, to the host."""
    if taps.readout.wanted is Wanted.BEST:
        return BestPicks(taps.best(rows))
    return CandidatePicks(*taps.candidates(rows))
