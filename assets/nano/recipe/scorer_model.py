"""The scorer's shape: transformers' own Qwen3ForCausalLM, tiny, and what compression reads from it.

As at use, a text stands by itself and questions behind it: each sees the text and nothing else. What is read is the
product of a question's last queries with the text's keys (tail attention), and how likely the text makes the question.
"""

from __future__ import annotations

import torch
from tokenizer import EOS_ID, PAD_ID, VOCABULARY
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional
from transformers import Qwen3Config, Qwen3ForCausalLM
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

CONTEXT = 4096
WIDTH, LAYERS, FFN = 192, 3, 384
HEAD, HEADS, KV_HEADS = 64, 2, 2
ROPE_BASE = 1e8
"""So high that half of each head turns by less than half a radian over the whole context: matching by content."""
HIDDEN = -1e4
TAIL = 8  # the question's last tokens, whose queries say what matters


def config() -> Qwen3Config:
    """The model's configuration."""
    return Qwen3Config(
        vocab_size=VOCABULARY,
        hidden_size=WIDTH,
        intermediate_size=FFN,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS,
        head_dim=HEAD,
        max_position_embeddings=CONTEXT,
        rope_parameters={"rope_type": "default", "rope_theta": ROPE_BASE},
        rms_norm_eps=1e-6,
        tie_word_embeddings=True,
        bos_token_id=EOS_ID,
        eos_token_id=EOS_ID,
        pad_token_id=PAD_ID,
        attn_implementation="scorer",
    )


def attention(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, bias: Tensor, **options: object
) -> tuple[Tensor, None]:
    """Attention with a bias [B, 1, T, T], 0 or HIDDEN, written out: faster on a CPU than torch's own.

    Leaves rotated queries and keys [B, heads, T, HEAD] behind for `tail_products`.
    """
    module.seen = (query, key)
    key, value = (part.repeat_interleave(HEADS // KV_HEADS, 1) for part in (key, value))
    products = (query * HEAD**-0.5) @ key.transpose(2, 3) + bias.to(query.dtype)
    return (functional.softmax(products, -1) @ value).transpose(1, 2), None


def build(seed: int) -> Qwen3ForCausalLM:
    """A fresh float32 model on the CPU, with the plain random initialisation of transformers."""
    torch.manual_seed(seed)
    return Qwen3ForCausalLM(config()).float()


def hidden(model: Qwen3ForCausalLM, ids: Tensor, positions: Tensor, bias: Tensor, *, half: bool) -> Tensor:
    """Last hidden states [B, T, WIDTH] of ids [B, T]; `half`: computed in bfloat16, over the float32 weights."""
    kind = torch.bfloat16 if half else torch.float32
    weights = {name: p.to(kind) for name, p in model.model.named_parameters() if "embed" not in name}
    inputs = {
        "inputs_embeds": functional.embedding(ids, model.model.embed_tokens.weight).to(kind),
        "attention_mask": {"full_attention": bias},
        "position_ids": positions,
        "use_cache": False,
    }
    return functional_call(model.model, weights, kwargs=inputs).last_hidden_state


def tail_products(model: Qwen3ForCausalLM, rows: Tensor, tails: Tensor, texts: Tensor | None = None) -> Tensor:
    """q·k / sqrt(HEAD) of the last forward pass, float32 [N, LAYERS, HEADS, TAIL, keys].

    Args:
        rows: [N] the row that each question stands in. tails: [N, TAIL] places of its last tokens.
        texts: [keys, 2] row and place of the keys to look at; None for all [T] of the question's own row.
    """
    found = []
    for layer in model.model.layers:
        query, key = layer.self_attn.seen
        chosen = query.transpose(1, 2)[rows[:, None], tails].transpose(1, 2)  # [N, HEADS, TAIL, HEAD]
        key = key.repeat_interleave(HEADS // KV_HEADS, 1)
        keys = key[rows] if texts is None else key.transpose(1, 2)[texts[:, 0], texts[:, 1]].transpose(0, 1)[None]
        found.append((chosen @ keys.transpose(2, 3)).float() * HEAD**-0.5)
    return torch.stack(found, 1)


ALL_ATTENTION_FUNCTIONS.register("scorer", attention)
