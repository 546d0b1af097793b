"""The scorer's starting weights: random matrices in which copying and word overlap are already in place.

Layer 0 gets a head that looks one token back, and one that gathers the rare ones among the last few tokens. Layer 1
compares what was gathered, as bags of words, and single rare tokens. Layer 2 finds what followed the current token
elsewhere and says it. So untrained the model copies, and its tail attention is a kind of word overlap, which training
then bends towards meaning. `init.py` says why placing beats waiting.
"""

from __future__ import annotations

import math

import torch
from scorer_model import HEAD, LAYERS, ROPE_BASE, WIDTH, build
from tokenizer import VOCABULARY
from torch import Tensor, nn
from transformers import Qwen3ForCausalLM

EMBEDDING_STD = 0.5
CONSTANT = 3.0  # the size, in EMBEDDING_STD, of the one coordinate that all embeddings share
RESIDUAL_SCALE = 0.25  # how small the random part's writes start, so that the placed circuit is heard
PLACED_NORM, OTHER_NORM = 2.8, 0.8  # QK-norm weights: of the dimensions that look one token back, and of the others
MATCHING_NORM = 1.5  # of those that match by content
PREVIOUS_GAIN, BAG_GAIN, COPY_GAIN = 4.0, 6.0, 24.0 * EMBEDDING_STD  # strength of the placed heads' writes
COMMON, RARE = 3e-3, 1e-4  # shares of all tokens from which on, and down to which, a token is no longer rare, or is
GATE = 3.3  # how strongly being common keeps a token from matching
KERNEL = (1.0, 1.0, 0.8, 0.6, 0.5)  # weight of the fast rotary pairs: together they single out one offset
LEVEL = HEAD // 2 - 1
"""A rotary pair that does not turn: there query and key are opposed, so that looking back makes no large products.
Compression reads the largest product of all heads, and a head that cares for places only must not have it."""
NEAR, NEAR_NORM = {4: 0.5, 5: 0.3, 6: 0.1, 7: 0.1}, 1.6
"""Rotary pairs of the gathering head, their share of its products, which fade over some ten tokens, and their norm."""
NEAR_LEVEL, NEAR_RARE = 0.63, 0.1  # how far its products lie below zero, and how much less a common token counts
SLOW = 8  # rotary pairs from here on hardly turn: matching must not depend on distance


def scatter_random(model: Qwen3ForCausalLM, common: Tensor) -> None:
    """Fan-in scaled matrices, small residual writes, and a last norm that makes the tied head's first logits small."""
    residual = RESIDUAL_SCALE * EMBEDDING_STD * (2 * LAYERS) ** -0.5
    for name, weight in model.model.named_parameters():
        if weight.ndim == 2 and "embed_tokens" not in name:
            scale = residual if name.endswith(("o_proj.weight", "down_proj.weight")) else 1.0
            weight.normal_(0, scale * weight.shape[-1] ** -0.5)
    for layer in model.model.layers:
        layer.self_attn.q_norm.weight.fill_(OTHER_NORM)
        layer.self_attn.k_norm.weight.fill_(OTHER_NORM)
    table = model.model.embed_tokens.weight
    table.normal_(0, EMBEDDING_STD)
    table[:, 0] = CONSTANT * EMBEDDING_STD
    table[:, 1] = CONSTANT * EMBEDDING_STD * common
    model.model.norm.weight.fill_(WIDTH**-0.5 / EMBEDDING_STD)


def offset_vector(offset: int, level: float) -> Tensor:
    """A head vector [HEAD] whose rope phase leads by `offset` positions, so that q(t) matches k(t + offset)."""
    vector = torch.zeros(HEAD)
    vector[LEVEL] = level * math.sqrt(sum(weight**2 for weight in KERNEL))
    for pair, weight in enumerate(KERNEL):
        angle = ROPE_BASE ** (-2 * pair / HEAD) * offset
        vector[pair], vector[pair + HEAD // 2] = weight * math.cos(angle), weight * math.sin(angle)
    return vector


def rows(projection: nn.Linear, head: int) -> Tensor:
    """The [HEAD, WIDTH] rows of one head in a q, k or v projection."""
    return projection.weight[head * HEAD : (head + 1) * HEAD]


def columns(projection: nn.Linear, head: int) -> Tensor:
    """The [WIDTH, HEAD] columns of one head in the output projection."""
    return projection.weight[:, head * HEAD : (head + 1) * HEAD]


def place_previous(attention: nn.Module, content: Tensor, written: Tensor) -> None:
    """Head 0 attends one token back and writes that token's content [HEAD, WIDTH] into the subspace `written`."""
    used = [*range(len(KERNEL)), LEVEL, *range(HEAD // 2, HEAD // 2 + len(KERNEL)), LEVEL + HEAD // 2]
    for norm, projection in ((attention.q_norm, attention.q_proj), (attention.k_norm, attention.k_proj)):
        norm.weight[used] = PLACED_NORM
        projection.weight.view(-1, HEAD, WIDTH)[:, used] = 0.0
    rows(attention.k_proj, 0).mul_(0.02)[:, 0] = offset_vector(0, 1.0)
    rows(attention.q_proj, 0).mul_(0.02)[:, 0] = offset_vector(-1, -1.0)
    rows(attention.v_proj, 0).copy_(content)
    columns(attention.o_proj, 0).copy_(PREVIOUS_GAIN * written.T)


def place_bag(attention: nn.Module, content: Tensor, bag: Tensor) -> None:
    """Head 1 attends the last tokens, rare ones most, and writes the mean of their content into the subspace `bag`."""
    query, key, rare = torch.zeros(3, HEAD)
    for pair, share in NEAR.items():
        norm = PLACED_NORM if pair < len(KERNEL) else NEAR_NORM
        query[pair] = key[pair] = share**0.5 / norm
        for one in (attention.q_norm, attention.k_norm):
            one.weight[[pair, pair + HEAD // 2]] = norm
    query[LEVEL], rare[LEVEL], key[LEVEL + HEAD // 2] = NEAR_LEVEL, -NEAR_RARE, NEAR_LEVEL
    rows(attention.q_proj, 1).mul_(0.02)[:, 0] = query
    rows(attention.k_proj, 1).mul_(0.02)[:, :2] = torch.stack([key, rare], 1)
    rows(attention.v_proj, 1).copy_(content)
    columns(attention.o_proj, 1).copy_(BAG_GAIN * bag.T)


def sharpen(attention: nn.Module) -> None:
    """Make the dimensions that match by content count more than the others."""
    for norm in (attention.q_norm, attention.k_norm):
        norm.weight[SLOW : HEAD // 2] = norm.weight[SLOW + HEAD // 2 :] = MATCHING_NORM


def place_overlap(attention: nn.Module, content: Tensor, bag: Tensor) -> None:
    """Head 0 finds places with the same bag of words, head 1 places of the same rare token."""
    rows(attention.q_proj, 0).copy_(bag)
    rows(attention.k_proj, 0).copy_(bag)
    rows(attention.q_proj, 1).copy_(content)[LEVEL, 1] = GATE
    rows(attention.k_proj, 1).copy_(content)[LEVEL, 1] = -GATE
    sharpen(attention)


def place_copy(attention: nn.Module, content: Tensor, written: Tensor, values: Tensor) -> None:
    """Head 0 finds what followed the current token elsewhere and says it."""
    rows(attention.q_proj, 0).copy_(content)[LEVEL, 1] = GATE
    rows(attention.k_proj, 0).copy_(written)[LEVEL, 0] = -GATE / 2
    rows(attention.v_proj, 0).copy_(values)
    columns(attention.o_proj, 0).copy_(COPY_GAIN * values.T)
    sharpen(attention)


def commonness(shares: Tensor) -> Tensor:
    """How far each token is from being rare, 0 to 1, by its share of all tokens."""
    span = math.log(COMMON) - math.log(RARE)
    return ((shares.clamp(min=1e-9).log() - math.log(RARE)) / span).clamp(0.0, 1.0)


@torch.no_grad()
def initialise(seed: int, shares: Tensor | None = None) -> Qwen3ForCausalLM:
    """A float32 model that already copies and compares words. shares: each token's, of all; None: all are rare."""
    model = build(seed)
    scatter_random(model, torch.zeros(VOCABULARY) if shares is None else commonness(shares))
    basis = torch.linalg.qr(torch.randn(WIDTH - 2, WIDTH - 2))[0]
    basis = torch.cat([torch.zeros(WIDTH - 2, 2), basis], 1)  # never the shared coordinates
    slow = [i for half in (0, HEAD // 2) for i in range(SLOW + half, LEVEL + half)]
    subspaces = torch.zeros(4, HEAD, WIDTH)
    subspaces[:, slow] = basis[: 4 * len(slow)].view(4, len(slow), WIDTH)
    content, written, bag, values = subspaces
    first, second, third = (layer.self_attn for layer in model.model.layers)
    place_previous(first, content, written)
    place_bag(first, content, bag)
    place_overlap(second, content, bag)
    place_copy(third, content, written, values)
    return model
