"""Makes tiny prompt scorers (qwen3, random weights), and a straightforward float64 reference of them.

The reference has no windows, masks or graphs: it runs one text and one query at a time. Its source is the forward
pass as Qwen3 publishes it, not this project's.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.engine import tiny

Array = NDArray[np.float64]

EPSILON = 1e-6


@dataclass(frozen=True)
class Variant:
    """Features of a scorer; the defaults have grouped heads, a separate output matrix and half precision."""

    n_embd: int = 64
    n_layer: int = 3
    heads: int = 4
    kv_heads: int = 2
    head: int = 32
    n_ff: int = 96
    n_vocab: int = 512
    n_ctx: int = 4096
    tied: bool = False
    rope_base: float = 1e6
    kind: type = np.float16
    seed: int = 7


def make(variant: Variant) -> tiny.GgufFile:
    """A complete file, vocabulary included."""
    file, random = tiny.GgufFile(), np.random.default_rng(variant.seed)
    file.set("general.architecture", "qwen3").set("general.name", "tiny-scorer")
    _describe(file, variant)
    tiny.add_tokenizer(file, variant.n_vocab)
    file.set("tokenizer.ggml.pre", "qwen2").set("tokenizer.ggml.add_bos_token", False)
    _add_tensors(file, variant, random)
    return file


def _describe(file: tiny.GgufFile, variant: Variant) -> None:
    values: dict[str, Any] = {
        "vocab_size": variant.n_vocab,
        "context_length": variant.n_ctx,
        "embedding_length": variant.n_embd,
        "block_count": variant.n_layer,
        "feed_forward_length": variant.n_ff,
        "attention.head_count": variant.heads,
        "attention.head_count_kv": variant.kv_heads,
        "attention.key_length": variant.head,
        "attention.value_length": variant.head,
        "attention.layer_norm_rms_epsilon": EPSILON,
        "rope.freq_base": variant.rope_base,
    }
    for key, value in values.items():
        file.set(f"qwen3.{key}", value)


def _add_tensors(file: tiny.GgufFile, variant: Variant, random: np.random.Generator) -> None:
    def matrix(name: str, rows: int, width: int, scale: float = 1.0) -> None:
        file.tensors[name] = (random.standard_normal((rows, width)) * scale / np.sqrt(width)).astype(variant.kind)

    def vector(name: str, width: int) -> None:
        file.tensors[name] = (1 + 0.2 * random.standard_normal(width)).astype(np.float32)

    embd, queries, keys = variant.n_embd, variant.heads * variant.head, variant.kv_heads * variant.head
    matrix("token_embd.weight", variant.n_vocab, embd, scale=1.0 if variant.tied else np.sqrt(embd))
    vector("output_norm.weight", embd)
    if not variant.tied:
        matrix("output.weight", variant.n_vocab, embd, scale=3.0)
    for layer in range(variant.n_layer):
        block = f"blk.{layer}."
        for name, width in (("attn_norm", embd), ("ffn_norm", embd)):
            vector(f"{block}{name}.weight", width)
        for name in ("attn_q_norm", "attn_k_norm"):
            vector(f"{block}{name}.weight", variant.head)
        for name, rows in (("q", queries), ("k", keys), ("v", keys)):
            matrix(f"{block}attn_{name}.weight", rows, embd)
        matrix(block + "attn_output.weight", embd, queries)
        matrix(block + "ffn_gate.weight", variant.n_ff, embd)
        matrix(block + "ffn_up.weight", variant.n_ff, embd)
        matrix(block + "ffn_down.weight", embd, variant.n_ff)


@dataclass(frozen=True)
class Run:
    """The forward pass of a sequence; scores are q·k / sqrt(head) before any mask, [layers, heads, tokens, tokens]."""

    logits: Array
    scores: Array

    def log_probabilities(self, tokens: list[int], count: int) -> Array:
        """log p of the last `count` of the sequence's `tokens`, each given those before it."""
        logits = self.logits[-count - 1 : -1]
        best = logits.max(-1, keepdims=True)
        shares = logits - best - np.log(np.exp(logits - best).sum(-1, keepdims=True))
        return shares[np.arange(count), tokens[-count:]]


def reference(variant: Variant, weights: dict[str, Array], tokens: list[int]) -> Run:
    """The forward pass of one sequence, from position 0."""
    x, found = weights["token_embd.weight"][tokens], []
    for layer in range(variant.n_layer):
        x, scores = _layer(variant, weights, f"blk.{layer}.", x)
        found.append(scores)
    head = weights["token_embd.weight" if variant.tied else "output.weight"]
    return Run(_normed(x, weights["output_norm.weight"]) @ head.T, np.stack(found))


def _layer(variant: Variant, weights: dict[str, Array], prefix: str, x: Array) -> tuple[Array, Array]:
    count, group = len(x), variant.heads // variant.kv_heads
    inside = _normed(x, weights[prefix + "attn_norm.weight"])

    def heads(name: str, number: int) -> Array:
        split = (inside @ weights[f"{prefix}attn_{name}.weight"].T).reshape(count, number, variant.head)
        return _rotated(_normed(split, weights[f"{prefix}attn_{name}_norm.weight"]), variant.rope_base)

    queries, keys = heads("q", variant.heads), np.repeat(heads("k", variant.kv_heads), group, 1)
    values = (inside @ weights[prefix + "attn_v.weight"].T).reshape(count, variant.kv_heads, variant.head)
    scores = np.einsum("qhd,khd->hqk", queries, keys) / np.sqrt(variant.head)
    seen = np.where(np.tri(count, dtype=bool), scores, -np.inf)
    shares = np.exp(seen - seen.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    found = np.einsum("hqk,khd->qhd", shares, np.repeat(values, group, 1)).reshape(count, -1)
    x = x + found @ weights[prefix + "attn_output.weight"].T
    inside = _normed(x, weights[prefix + "ffn_norm.weight"])
    gate, up = inside @ weights[prefix + "ffn_gate.weight"].T, inside @ weights[prefix + "ffn_up.weight"].T
    return x + (gate / (1 + np.exp(-gate)) * up) @ weights[prefix + "ffn_down.weight"].T, scores


def _normed(x: Array, weights: Array) -> Array:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * weights


def _rotated(x: Array, base: float) -> Array:
    """RoPE of x [n, heads, head] at positions 0 to n - 1, NEOX style: pairs element i of a head's two halves."""
    half = x.shape[-1] // 2
    angles = np.arange(len(x))[:, None] * base ** (-np.arange(half) / half)
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    left, right = x[..., :half], x[..., half:]
    return np.concatenate([left * cos - right * sin, left * sin + right * cos], -1)
