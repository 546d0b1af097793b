"""The drafter's starting weights: its context says which tokens stood here and just before, its heads look for matches.

Most of what the target writes is copied. A drafter can only continue a copy if the key of a position tells the tokens
before it, and keys come from the target's hidden states alone. `fc` is therefore solved, by least squares, to make them
say it: the tokens at the offsets of OFFSETS, as a random projection of their embeddings.
"""

from __future__ import annotations

import random

import torch
from drafter import HEAD, HEADS, KV_HEADS, TAPS, WIDTH, Drafter, Layer, rms
from drafter_data import Corpus
from torch import Tensor, nn

OFFSETS = {0: 64, -1: 48, -2: 48, -3: 48, 1: 48}
"""Where a context row's numbers come from: offset of the token and how many numbers; 1 is what the target expects."""
ROWS, RIDGE = 24000, 10.0
MATCHED = (-1, -2, -3, -1)
"""The offset that each KV head matches."""
SLOW = [i for i in range(HEAD) if i % (HEAD // 2) >= 5]
"""Dimensions that turn so slowly that matching does not depend on distance."""
GAIN, NOISE, COPY, RESIDUAL = 1.8, 0.3, 1.0, 0.1
assert sum(OFFSETS.values()) == WIDTH and len(MATCHED) == KV_HEADS


def projection(seed: int) -> Tensor:
    """Orthonormal rows [64, WIDTH] that never see the coordinate which all embeddings share."""
    generator = torch.Generator().manual_seed(seed)
    basis = torch.linalg.qr(torch.randn(WIDTH - 1, WIDTH - 1, generator=generator))[0]
    return torch.cat([torch.zeros(max(OFFSETS.values()), 1), basis[: max(OFFSETS.values())]], 1)


def rows_of(corpus: Corpus, seed: int) -> tuple[Tensor, dict[int, Tensor]]:
    """Tapped states [ROWS, len(TAPS), WIDTH] and the tokens at each offset."""
    rng = random.Random(seed)
    reach = max(map(abs, OFFSETS))
    places = []
    while len(places) < ROWS:
        entry = rng.choice(corpus.entries)
        places += [(entry, p) for p in rng.sample(range(reach, len(entry["ids"]) - reach), 12)]
    rows = sorted(((entry["offset"] + p, entry, p) for entry, p in places[:ROWS]), key=lambda row: row[0])
    taps = torch.stack([torch.from_numpy(corpus.features[at, TAPS].astype("float32")) for at, _, _ in rows])
    return taps, {o: torch.tensor([entry["ids"][p + o] for _, entry, p in rows]) for o in OFFSETS}


def place_context(drafter: Drafter, corpus: Corpus, content: Tensor) -> None:
    """Solve `fc`."""
    taps, tokens = rows_of(corpus, seed=3)
    inputs = rms(taps, drafter.aux_norm).flatten(1)
    parts = [drafter.table[tokens[offset]] @ content[:size].T for offset, size in OFFSETS.items()]
    outputs = torch.cat(parts, 1)
    gram = inputs.T @ inputs + RIDGE * torch.eye(inputs.shape[1])
    drafter.fc.weight.copy_(torch.linalg.solve(gram, inputs.T @ outputs).T / drafter.table.std())


def slice_of(offset: int, number: int) -> Tensor:
    """The first `number` context numbers that tell the token at `offset`, as rows of an identity [number, WIDTH]."""
    start = 0
    for name, size in OFFSETS.items():
        if name == offset:
            break
        start += size
    return torch.eye(WIDTH)[start : start + number]


def place_matching(layer: Layer, content: Tensor) -> None:
    """Every KV head's first query head asks where its own token stood at an offset, and copies what is there."""
    for kv, offset in enumerate(MATCHED):
        query = kv * (HEADS // KV_HEADS)
        for linear, head in ((layer.q, query), (layer.k, kv)):
            linear.weight[head * HEAD : (head + 1) * HEAD].mul_(NOISE)
        rows = torch.tensor(SLOW)
        layer.k.weight[kv * HEAD + rows] += slice_of(offset, len(SLOW))
        layer.q.weight[query * HEAD + rows] += content[: len(SLOW)]
        value = slice_of(1 if kv == KV_HEADS - 1 else 0, HEAD)
        layer.v.weight[kv * HEAD : (kv + 1) * HEAD] = value
        layer.o.weight[:, query * HEAD : (query + 1) * HEAD] += COPY * content[:HEAD].T


@torch.no_grad()
def initialise(drafter: Drafter, corpus: Corpus) -> None:
    """Fan-in scaled matrices with small residual writes, then the context and the matching heads on top."""
    for name, module in drafter.named_modules():
        if isinstance(module, nn.Linear):
            scale = RESIDUAL if name.endswith(("o", "ffn_down")) else 0.02 if name.endswith("g_proj") else 1.0
            module.weight.normal_(0, scale * module.in_features**-0.5)
    if drafter.rank:
        drafter.markov_in.weight.normal_(0, drafter.rank**-0.5)
        drafter.markov_out.weight.zero_()
        drafter.confidence.weight.zero_()
    content = projection(seed=4)
    for layer in drafter.layers:
        layer.q_norm.fill_(GAIN)
        layer.k_norm.fill_(GAIN)
        place_matching(layer, content)
    place_context(drafter, corpus, content)
