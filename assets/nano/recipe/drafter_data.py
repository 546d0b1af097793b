"""What the drafter sees in training and measurement: stretches of dumped hidden states, and anchors in them.

Deals in tensors of `drafter_target.py`'s dump. Positions in a stretch count from its own start: rotary attention only
knows distances. An anchor is a token that the target wrote; its targets are the tokens that the target wrote after it.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import numpy as np
import torch
from drafter import BLOCK, TAPS, WIDTH, WINDOW
from drafter_target import LAYERS
from torch import Tensor

REACH = 192  # positions of a stretch in which anchors may lie, after a full window


class Entry(TypedDict):
    """A sequence of the index that `drafter_target.py` writes."""

    kind: str
    temperature: float
    bare: bool
    ids: list[int]
    spans: list[list[int]]
    offset: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """Context of one row, float16 [WINDOW + REACH, len(TAPS), WIDTH]; anchors [A], their tokens [A] and what follows.

    targets and weights: [A, BLOCK - 1]; the weight is 0 where the target wrote nothing. first: padding ends there.
    """

    taps: Tensor
    first: int
    anchors: Tensor
    tokens: Tensor
    targets: Tensor
    weights: Tensor


class Corpus:
    """One dumped set."""

    def __init__(self, folder: Path, name: str) -> None:
        self.entries: list[Entry] = json.loads((folder / f"{name}.index.json").read_text())
        last = self.entries[-1]
        shape = (last["offset"] + len(last["ids"]), LAYERS, WIDTH)
        self.features = np.memmap(folder / f"{name}.features", dtype=np.float16, mode="c", shape=shape)
        self.header = self.entries[0]["offset"]

    def stretch(self, entry: Entry, start: int, anchors: list[int]) -> Stretch:
        """The positions from a window before `start` on, for anchors (in `entry`'s own positions) from `start` on."""
        taps = torch.zeros(WINDOW + REACH, len(TAPS), WIDTH, dtype=torch.float16)
        own = self.features[entry["offset"] + max(0, start - WINDOW) : entry["offset"] + len(entry["ids"])]
        stop = min(WINDOW + REACH, max(0, WINDOW - start) + len(own))
        begin = max(0, WINDOW - start)
        taps[begin:stop] = torch.from_numpy(own[: stop - begin])[:, TAPS]
        if begin and not entry["bare"]:
            taps[:begin] = torch.from_numpy(self.features[self.header - begin : self.header])[:, TAPS]
        first = begin if entry["bare"] else 0
        targets, weights = follow(entry, anchors)
        tokens = torch.tensor([entry["ids"][anchor] for anchor in anchors])
        return Stretch(taps, first, torch.tensor(anchors) - start + WINDOW, tokens, targets, weights)

    def sample(self, rng: random.Random, entry: Entry, number: int) -> Stretch:
        """`number` anchors of a sequence, close together."""
        spans = [span for span in entry["spans"] if span[1] - span[0] > 1]
        written = [position for start, stop in spans for position in range(start, stop - 1)]
        start = max(0, rng.choice(written) - rng.randrange(REACH))
        near = [position for position in written if start <= position < start + REACH]
        chosen = rng.sample(near, number) if len(near) >= number else rng.choices(near, k=number)
        return self.stretch(entry, start, chosen)


def follow(entry: Entry, anchors: list[int]) -> tuple[Tensor, Tensor]:
    """Targets and weights [A, BLOCK - 1] after each anchor, up to the end of what the target wrote."""
    targets, weights = torch.zeros(len(anchors), BLOCK - 1, dtype=torch.long), torch.zeros(len(anchors), BLOCK - 1)
    for row, anchor in enumerate(anchors):
        stop = next(stop for start, stop in entry["spans"] if start <= anchor < stop)
        length = min(BLOCK - 1, stop - anchor - 1)
        targets[row, :length] = torch.tensor(entry["ids"][anchor + 1 : anchor + 1 + length])
        weights[row, :length] = 1.0
    return targets, weights


def stack(stretches: list[Stretch]) -> dict[str, Tensor]:
    """A batch of stretches with equally many anchors, under the names of the drafter's own arguments and the loss's."""
    names = ("taps", "anchors", "tokens", "targets", "weights")
    batch = {name: torch.stack([getattr(stretch, name) for stretch in stretches]) for name in names}
    return batch | {"first": torch.tensor([stretch.first for stretch in stretches])}
