"""Laguna Nano's shape, and two ways to run transformers' own LagunaForCausalLM faster on a CPU without changing it.

Every branch of the real architecture is present: a leading dense layer, sigmoid-routed experts with a correction
bias beside a shared expert, full and sliding attention 1:3 with different head counts, a softplus gate per head,
QK-norm, and partial rope with YaRN on the full layers.
"""

from __future__ import annotations

import math

import torch
from tokenizer import END_ASSISTANT_ID, EOS_ID, PAD_ID, VOCABULARY
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx
from torch.nn import functional
from transformers import LagunaConfig, LagunaForCausalLM
from transformers.integrations.moe import ALL_EXPERTS_FUNCTIONS
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

CONTEXT = 4096
YARN_FACTOR = 4.0
HEAD = 32
EXPERT = 48
FULL_HEADS, SLIDING_HEADS, KEY_HEADS = 4, 8, 4
WINDOW = 256
STRETCH = 128  # queries that attend together
LAYER_TYPES = ["full_attention", *["sliding_attention"] * 3, "full_attention", "sliding_attention"]


def config() -> LagunaConfig:
    """The model's configuration, as the converter reads it."""
    full = {
        "rope_type": "yarn", "rope_theta": 500000.0, "partial_rotary_factor": 0.5, "factor": YARN_FACTOR,
        "original_max_position_embeddings": int(CONTEXT / YARN_FACTOR), "beta_fast": 32.0, "beta_slow": 1.0,
    }  # fmt: skip
    sliding = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 1.0}
    return LagunaConfig(
        vocab_size=VOCABULARY,
        hidden_size=256,
        intermediate_size=640,
        num_hidden_layers=len(LAYER_TYPES),
        num_attention_heads=FULL_HEADS,
        num_attention_heads_per_layer=[FULL_HEADS if t[0] == "f" else SLIDING_HEADS for t in LAYER_TYPES],
        num_key_value_heads=KEY_HEADS,
        head_dim=HEAD,
        layer_types=LAYER_TYPES,
        sliding_window=WINDOW,
        max_position_embeddings=CONTEXT,
        rope_parameters={"full_attention": full, "sliding_attention": sliding},
        moe_intermediate_size=EXPERT,
        shared_expert_intermediate_size=256,
        num_experts=8,
        num_experts_per_tok=2,
        moe_routed_scaling_factor=1.0,
        tie_word_embeddings=True,
        bos_token_id=EOS_ID,
        eos_token_id=[EOS_ID, END_ASSISTANT_ID],
        pad_token_id=PAD_ID,
        attn_implementation="nano",
        experts_implementation="nano",
    )


def all_experts(experts: nn.Module, hidden: Tensor, chosen: Tensor, weights: Tensor) -> Tensor:
    """Every expert for every token as two dense products, unchosen ones weighted 0: at this size faster than sorting.

    Args:
        experts: transformers' LagunaExperts, gate_up_proj [E, 2I, D] and down_proj [E, D, I].
        hidden: [tokens, D]. chosen, weights: [tokens, top_k].
    """
    number, width = experts.num_experts, experts.intermediate_dim
    gate_up = functional.linear(hidden, experts.gate_up_proj.flatten(0, 1)).view(-1, number, 2, width)
    routed = hidden.new_zeros(hidden.shape[0], number).scatter(1, chosen, weights)
    inner = functional.silu(gate_up[:, :, 0]) * gate_up[:, :, 1] * routed[..., None]
    return functional.linear(inner.flatten(1), experts.down_proj.transpose(0, 1).flatten(1))


class Softmax(torch.autograd.Function):
    """Of scores plus a bias, in the scores' own memory: at these sizes memory is what attention costs on a CPU."""

    @staticmethod
    def forward(context: FunctionCtx, scores: Tensor, bias: Tensor) -> Tensor:
        shares = torch.softmax(scores.add_(bias), -1)
        context.save_for_backward(shares)
        return shares

    @staticmethod
    def backward(context: FunctionCtx, gradient: Tensor) -> tuple[Tensor, None]:
        (shares,) = context.saved_tensors
        return torch._softmax_backward_data(gradient, shares, -1, shares.dtype), None


def attended(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Plain attention in matrix products.

    Args:
        query: [B, heads, T, HEAD]. key, value: [B, KV heads, K, HEAD]. mask: [T, K], true where a key is seen.
    """
    rows, heads, length, size = query.shape
    groups = key.shape[1]
    bias = torch.zeros(mask.shape, dtype=query.dtype, device=query.device).masked_fill_(~mask, -math.inf)
    scores = (query * size**-0.5).reshape(rows, groups, -1, size) @ key.mT
    shares = Softmax.apply(scores.view(rows, groups, heads // groups, length, -1), bias)
    return (shares.view(rows, groups, -1, key.shape[2]) @ value).view(query.shape)


def attention(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, **options: object
) -> tuple[Tensor, None]:
    """Attention by stretches of queries, each over no more keys than it may see, with a boolean mask [queries, keys].

    On a CPU this takes a half (full layers) to a quarter (sliding ones) of torch's own attention with a mask.
    """
    length, before = query.shape[2], key.shape[2] - query.shape[2]
    if mask is None or query.device.type != "cpu":
        out = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, enable_gqa=True)
        return out.transpose(1, 2), None
    sliding = LAYER_TYPES[module.layer_idx] == "sliding_attention"
    parts = []
    for start in range(0, length, STRETCH):
        own = slice(start, min(start + STRETCH, length))
        seen = slice(max(0, before + start - WINDOW + 1) if sliding else 0, before + own.stop)
        parts.append(attended(query[:, :, own], key[:, :, seen], value[:, :, seen], mask[own, seen]))
    return torch.cat(parts, 2).transpose(1, 2), None


class SharedPrefix:
    """The cache that a header is run into once and that whole batches then attend to.

    Duck-types the one method of transformers' Cache that LagunaAttention calls. Sliding layers keep only the last
    WINDOW - 1 header positions: no later token may see further.
    """

    def __init__(self) -> None:
        self.layers: dict[int, tuple[Tensor, Tensor]] = {}

    def update(self, key: Tensor, value: Tensor, layer: int) -> tuple[Tensor, Tensor]:
        """First call of a layer stores the header (1 row); later calls put it before a batch's own keys."""
        if layer not in self.layers:
            kept = slice(None) if LAYER_TYPES[layer] == "full_attention" else slice(-(WINDOW - 1), None)
            self.layers[layer] = key[:, :, kept], value[:, :, kept]
            return key, value
        rows = key.shape[0]
        head_key, head_value = (part.expand(rows, -1, -1, -1) for part in self.layers[layer])
        return torch.cat([head_key, key], 2), torch.cat([head_value, value], 2)


def masks(queries: int, before: int, device: torch.device | None = None) -> dict[str, Tensor]:
    """Boolean masks [queries, keys] by layer type, for `before` header positions followed by `queries` own ones."""
    seen = min(before, WINDOW - 1)
    row = torch.arange(queries, device=device)[:, None]
    full = torch.arange(before + queries, device=device)[None] - before <= row
    column = torch.arange(seen + queries, device=device)[None] - seen
    return {"full_attention": full, "sliding_attention": (column <= row) & (row - column < WINDOW)}


def build(seed: int) -> LagunaForCausalLM:
    """A fresh float32 model on the CPU, with the plain random initialisation of transformers."""
    torch.manual_seed(seed)
    return LagunaForCausalLM(config()).float()


ALL_EXPERTS_FUNCTIONS.register("nano", all_experts)
ALL_ATTENTION_FUNCTIONS.register("nano", attention)
