"""What leaves the device after a decode: the best token, a few candidates, or whole rows of logits."""

from dataclasses import dataclass
from enum import Enum

MAX_CANDIDATES = 256
"""Chains that keep more of a row than this get all of it."""


class Wanted(Enum):
    """How much of a row is needed to pick a token."""

    BEST = "best"
    CANDIDATES = "candidates"
    LOGITS = "logits"


@dataclass(frozen=True, slots=True)
class Readout:
    """`k` counts for CANDIDATES only: the k likeliest tokens of a row, with their logits."""

    wanted: Wanted
    k: int = 0


BEST = Readout(Wanted.BEST)
"""4 bytes a row."""

LOGITS = Readout(Wanted.LOGITS)
"""4 bytes a row and token of the vocabulary: what llama.cpp's own samplers read."""
