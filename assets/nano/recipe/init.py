"""The starting weights: plain random matrices with the copy circuit already in place ("mimetic" initialisation).

Layer 1 gets heads that attend to the previous token and the one before it, and write what they saw into two
orthogonal subspaces of the residual stream; the later full-attention layer gets heads that look for the places
where the current token (or pair) was seen before, and say what followed it there. Without this, copying an
identifier never appears at the budgets of a CPU (0 % exact against 72 % after 0.7 M tokens).
"""

from __future__ import annotations

import math

import torch
from architecture import HEAD, LAYER_TYPES, WINDOW, build
from torch import Tensor, nn
from transformers import LagunaForCausalLM

EMBEDDING_STD = 0.5
CONSTANT = 3.0  # the size, in EMBEDDING_STD, of the one coordinate that all embeddings share
RESIDUAL_SCALE = 0.25  # how small the random part's writes start, so that the placed circuit is heard
QK_GAIN, PLACED_GAIN = 1.5, 2.0  # QK-norm weights: random heads, and the sharper placed ones
PREVIOUS_GAIN = 4.0  # strength of the previous-token heads' writes
COPY_GAIN = 24.0 * EMBEDDING_STD  # strength of the copying heads' writes
PREVIOUS_LAYER = 1
SLIDING_BASE = 10000.0
POSITION_PAIRS = ((0, 1.0), (1, 1.0), (2, 0.7))  # fast rotary pairs and their weight: enough to single out one offset
assert WINDOW > 2 and LAYER_TYPES[PREVIOUS_LAYER] == "sliding_attention"


def scatter_random(model: LagunaForCausalLM) -> None:
    """Fan-in scaled matrices, small residual writes, and norms that make the tied head's first logits small."""
    hidden = model.config.hidden_size
    residual = RESIDUAL_SCALE * EMBEDDING_STD * (2 * len(LAYER_TYPES)) ** -0.5
    for name, weight in model.named_parameters():
        if weight.ndim < 2 or "embed_tokens" in name:
            continue
        scale = residual if name.endswith(("o_proj.weight", "down_proj.weight", "down_proj")) else 1.0
        weight.normal_(0, scale * weight.shape[-1] ** -0.5)
        if "g_proj" in name:
            weight.normal_(0, 0.02)
    for layer in model.model.layers:
        layer.self_attn.q_norm.weight.fill_(QK_GAIN)
        layer.self_attn.k_norm.weight.fill_(QK_GAIN)
    model.model.embed_tokens.weight.normal_(0, EMBEDDING_STD)
    model.model.embed_tokens.weight[:, 0] = CONSTANT * EMBEDDING_STD
    model.model.norm.weight.fill_(hidden**-0.5 / EMBEDDING_STD)


def offset_vector(offset: int) -> Tensor:
    """A head vector [HEAD] whose rope phase leads by `offset` positions, so that q(t) matches k(t + offset)."""
    vector = torch.zeros(HEAD)
    for pair, weight in POSITION_PAIRS:
        angle = SLIDING_BASE ** (-2 * pair / HEAD) * offset
        vector[pair], vector[pair + HEAD // 2] = weight * math.cos(angle), weight * math.sin(angle)
    return vector


def rows(projection: nn.Linear, head: int) -> Tensor:
    """The [HEAD, D] rows of one head in a q, k or v projection."""
    return projection.weight[head * HEAD : (head + 1) * HEAD]


def columns(projection: nn.Linear, head: int) -> Tensor:
    """The [D, HEAD] columns of one head in the output projection."""
    return projection.weight[:, head * HEAD : (head + 1) * HEAD]


def place_previous(attention: nn.Module, content: Tensor, written: tuple[Tensor, Tensor]) -> None:
    """Heads 0 and 1 attend 1 and 2 tokens back and write that token's content into `written`."""
    rows(attention.k_proj, 0).mul_(0.02)[:, 0] = offset_vector(0)
    rows(attention.v_proj, 0).copy_(content)
    for head, subspace in enumerate(written):
        rows(attention.q_proj, head).mul_(0.02)[:, 0] = offset_vector(-(head + 1))
        columns(attention.o_proj, head).copy_(PREVIOUS_GAIN * subspace.T)


def place_copy(attention: nn.Module, content: Tensor, one: Tensor, two: Tensor, values: tuple[Tensor, Tensor]) -> None:
    """A 1-gram head (is the token before there the token here?) and a 2-gram head (are the two before?)."""
    fast = {pair + half for pair in range(3) for half in (0, HEAD // 4)}
    slow = torch.tensor([i for i in range(HEAD) if i not in fast])  # matching must not depend on distance
    single_key, single_query, pair_key, pair_query = (torch.zeros_like(one) for _ in range(4))
    single_key[slow], single_query[slow] = one[slow], content[slow]
    even, odd = slow[::2], slow[1::2]
    pair_key[even], pair_query[even] = one[even], PREVIOUS_GAIN * content[even]
    pair_key[odd], pair_query[odd] = two[odd], one[odd]
    second = attention.num_heads // 2  # the first query head of the second KV head
    placed = ((0, 0, single_query, single_key, values[0]), (second, 1, pair_query, pair_key, values[1]))
    for head, kv, query, key, value in placed:
        rows(attention.q_proj, head).copy_(query)
        rows(attention.k_proj, kv).copy_(key)
        rows(attention.v_proj, kv).copy_(value)
        columns(attention.o_proj, head).copy_(COPY_GAIN * value.T)
    attention.q_norm.weight.fill_(PLACED_GAIN)
    attention.k_norm.weight.fill_(PLACED_GAIN)


@torch.no_grad()
def initialise(seed: int) -> LagunaForCausalLM:
    """A float32 model that already predicts repeats of random tokens, before any training."""
    model = build(seed)
    scatter_random(model)
    hidden = model.config.hidden_size
    basis = torch.linalg.qr(torch.randn(hidden - 1, hidden - 1))[0]
    basis = torch.cat([torch.zeros(hidden - 1, 1), basis], 1)  # never the shared coordinate
    content, one, two, first, second = basis[: 5 * HEAD].split(HEAD)
    place_previous(model.model.layers[PREVIOUS_LAYER].self_attn, content, (one, two))
    for index, kind in enumerate(LAYER_TYPES):
        if index > PREVIOUS_LAYER and kind == "full_attention":
            place_copy(model.model.layers[index].self_attn, content, one, two, (first, second))
    return model
