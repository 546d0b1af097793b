"""Training batches: chats of like length side by side, after one shared header.

Deals in padded tensors; a batch has about as many tokens as asked for, whatever the length of its rows.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from data import Generator, encode
from tokenizer import PAD_ID
from tokenizers import Tokenizer
from torch import Tensor

BATCH_TOKENS = {"cpu": 2048, "cuda": 32768}
"""By device; a GPU is idle on small ones."""
POOL = 96  # chats sorted by length together, for each 2,048 tokens; larger wastes less padding and mixes less
LONGEST = 1500  # tokens after the header: three ordinary turns, or two long results
TURNS = ([1, 2, 3, 4], [50, 30, 14, 6])
ROUND = 16  # lengths are padded to a multiple, for few distinct shapes


@dataclass(frozen=True, slots=True)
class Batch:
    """Inputs and targets [rows, T] and the weight of each target; padding has weight 0."""

    inputs: Tensor
    targets: Tensor
    weights: Tensor

    def to(self, device: torch.device) -> Batch:
        """The same, there."""
        return Batch(*(part.to(device, non_blocking=True) for part in (self.inputs, self.targets, self.weights)))


def collate(rows: list[tuple[list[int], list[float]]]) -> Batch:
    """Pad some rows to one length."""
    longest = max(len(ids) for ids, _ in rows) - 1
    width = -(-longest // ROUND) * ROUND
    ids = torch.full((len(rows), width + 1), PAD_ID)
    weights = torch.zeros(len(rows), width + 1)
    for index, (row, weight) in enumerate(rows):
        ids[index, : len(row)] = torch.tensor(row)
        weights[index, : len(row)] = torch.tensor(weight)
    return Batch(ids[:, :-1].contiguous(), ids[:, 1:].contiguous(), weights[:, 1:].contiguous())


def stream(generator: Generator, tokenizer: Tokenizer, seed: int, size: int) -> Iterator[Batch]:
    """Batches of about `size` tokens, without end."""
    rng = random.Random(seed)
    pool = POOL * size // BATCH_TOKENS["cpu"]
    while True:
        chats = [generator.chat(rng.choices(*TURNS)[0]) for _ in range(pool)]
        rows = sorted((encode(tokenizer, chat) for chat in chats), key=lambda row: len(row[0]))
        rows = [row for row in rows if 4 < len(row[0]) <= LONGEST and any(row[1])]
        batches: list[list[tuple[list[int], list[float]]]] = [[]]
        for row in rows:
            if batches[-1] and (len(batches[-1]) + 1) * len(row[0]) > size:
                batches.append([])
            batches[-1].append(row)
        rng.shuffle(batches)
        yield from (collate(rows) for rows in batches)
