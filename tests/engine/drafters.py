"""Makes tiny DFlash drafters of every kind with random weights, and a straightforward float64 reference of them.

The reference has no rings, graphs or caches: it computes the whole history at once. Its source is the forward
pass as the drafters' serving code has it, not this project's.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.engine import tiny

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Variant:
    """Features of a drafter; the defaults are plain DFlash for the tiny Laguna, with its own embeddings and head.

    sliding: which layers slide, None for all if there is a window. reduced: tokens of a reduced vocabulary, 0 for all.
    rank: of the Markov head, 0 for none. confidence: what its head reads, "hidden", "both" or nothing.
    """

    n_embd: int = 64
    n_layer: int = 2
    heads: int = 4
    kv_heads: int = 2
    head: int = 32
    n_ff: int = 96
    n_vocab: int = 512
    taps: tuple[int, ...] = (0, 1, 3)
    block: int = 8
    window: int = 0
    sliding: tuple[bool, ...] | None = None
    causal: bool = False
    gate: bool = False
    tap_norm: bool = False
    context_norm: bool = False
    own_embedding: bool = True
    own_head: bool = True
    reduced: int = 0
    rank: int = 0
    confidence: str = ""
    from_anchor: bool = True
    rope_base: float = 10000.0
    half: bool = False
    seed: int = 5

    @property
    def slides(self) -> tuple[bool, ...]:
        return self.sliding or (self.window > 0,) * self.n_layer

    @property
    def first_row(self) -> int:
        return 0 if self.rank and self.from_anchor else 1

    @property
    def longest(self) -> int:
        return self.block - self.first_row


EPSILON = 1e-6

LAGUNA = Variant(n_layer=3, window=48, causal=True, gate=True, tap_norm=True, context_norm=True, block=16,
                 own_embedding=False, own_head=False, rope_base=500000.0)  # fmt: skip
"""Like XS-2.1's drafter: shared embeddings and head, all layers sliding-window, causal in the block."""


def make(variant: Variant, *, tokenizer: bool = False) -> tiny.GgufFile:
    """A complete file with llama.cpp's names; `tokenizer` adds the tiny Laguna's, which llama.cpp itself needs."""
    file = tiny.GgufFile()
    file.set("general.architecture", "dflash")
    _describe(file, variant)
    if tokenizer:
        tiny.add_tokenizer(file, variant.n_vocab)
    file.set("tokenizer.ggml.mask_token_id", tiny.MASK)
    _add_tensors(file, variant, np.random.default_rng(variant.seed))
    return file


def _describe(file: tiny.GgufFile, variant: Variant) -> None:
    values: dict[str, Any] = {
        "context_length": 4096,
        "embedding_length": variant.n_embd,
        "block_count": variant.n_layer,
        "feed_forward_length": variant.n_ff,
        "attention.head_count": variant.heads,
        "attention.head_count_kv": variant.kv_heads,
        "attention.key_length": variant.head,
        "attention.value_length": variant.head,
        "attention.layer_norm_rms_epsilon": EPSILON,
        "rope.freq_base": variant.rope_base,
        "block_size": variant.block,
        "target_layers": [tap + 1 for tap in variant.taps],
    }
    if variant.window:
        values |= {
            "attention.sliding_window": variant.window,
            "attention.sliding_window_pattern": list(variant.slides),
        }
    if variant.causal:
        values["attention.causal"] = True
    if variant.context_norm:
        values["context_kv_layer_norm"] = True
    if variant.rank:
        values |= {"sample_from_anchor": variant.from_anchor, "has_confidence_head": bool(variant.confidence)}
    for key, value in values.items():
        file.set(f"dflash.{key}", value)


def _add_tensors(file: tiny.GgufFile, variant: Variant, random: np.random.Generator) -> None:
    def matrix(name: str, *dims: int, scale: float = 1.0) -> None:
        values = random.standard_normal(dims) * scale / np.sqrt(dims[-1])
        file.tensors[name] = values.astype(np.float16 if variant.half else np.float32)

    def vector(name: str, *dims: int) -> None:
        file.tensors[name] = (1 + 0.2 * random.standard_normal(dims)).astype(np.float32)

    embd = variant.n_embd
    matrix("fc.weight", embd, embd * len(variant.taps))
    vector("enc.output_norm.weight", embd)
    vector("output_norm.weight", embd)
    if variant.tap_norm:
        vector("enc.aux_norm.weight", len(variant.taps), embd)
    for layer in range(variant.n_layer):
        _add_layer(variant, f"blk.{layer}.", matrix, vector)
    _add_heads(variant, matrix, vector)
    if variant.reduced:
        file.tensors["d2t"] = np.sort(random.choice(variant.n_vocab, variant.reduced, replace=False)).astype(np.int64)


def _add_layer(variant: Variant, prefix: str, matrix: Callable[..., None], vector: Callable[..., None]) -> None:
    embd, queries, keys = variant.n_embd, variant.heads * variant.head, variant.kv_heads * variant.head
    vector(prefix + "attn_norm.weight", embd)
    vector(prefix + "ffn_norm.weight", embd)
    vector(prefix + "attn_q_norm.weight", variant.head)
    vector(prefix + "attn_k_norm.weight", variant.head)
    matrix(prefix + "attn_q.weight", queries, embd)
    matrix(prefix + "attn_k.weight", keys, embd)
    matrix(prefix + "attn_v.weight", keys, embd)
    matrix(prefix + "attn_output.weight", embd, queries)
    if variant.gate:
        matrix(prefix + "attn_gate.weight", variant.heads, embd, scale=2.0)
    matrix(prefix + "ffn_gate.weight", variant.n_ff, embd)
    matrix(prefix + "ffn_up.weight", variant.n_ff, embd)
    matrix(prefix + "ffn_down.weight", embd, variant.n_ff)


def _add_heads(variant: Variant, matrix: Callable[..., None], vector: Callable[..., None]) -> None:
    embd, drafted = variant.n_embd, variant.reduced or variant.n_vocab
    if variant.own_embedding:
        matrix("token_embd.weight", variant.n_vocab, embd, scale=np.sqrt(embd))
    if variant.own_head:
        matrix("output.weight", drafted, embd, scale=3.0)
    if variant.rank:
        matrix("markov_w1.weight", variant.n_vocab, variant.rank, scale=np.sqrt(variant.rank))
        matrix("markov_w2.weight", drafted, variant.rank, scale=2.0)
    if variant.confidence:
        matrix("conf_proj.weight", 1, embd + (variant.rank if variant.confidence == "both" else 0))
        vector("conf_proj.bias", 1)


_LUCEBOX = {
    "fc.weight": "dflash.fc.weight",
    "enc.output_norm.weight": "dflash.hidden_norm.weight",
    "markov_w1.weight": "dflash.dspark.markov.w1",
    "markov_w2.weight": "dflash.dspark.markov.w2",
    "conf_proj.weight": "dflash.dspark.confidence.weight",
    "conf_proj.bias": "dflash.dspark.confidence.bias",
}


def lucebox(variant: Variant) -> tiny.GgufFile:
    """The same weights as `make`'s, with the names of Lucebox's converter."""
    plain, file = make(variant), tiny.GgufFile()
    name = "qwen35-dflash-draft"
    own = {"block_size": "dflash.block_size", "target_layers": "dflash.target_layer_ids"}
    unknown = ("dflash.attention.causal", "dflash.context_kv_layer_norm", "dflash.sample_from_anchor")
    for key, (kind, value) in plain.metadata.items():
        if key.startswith("dflash.") and key not in unknown:
            short = key.removeprefix("dflash.")
            file.metadata[f"{name}.{own.get(short, short)}"] = (kind, value)
    file.set("general.architecture", name)
    file.set(f"{name}.dflash.target_layer_ids", list(variant.taps))
    file.set(f"{name}.dflash.n_target_layers", len(variant.taps))
    file.set(f"{name}.dflash.mask_token_id", tiny.MASK)
    for tensor, array in plain.tensors.items():
        if tensor == "enc.aux_norm.weight":
            file.tensors |= {f"dflash.aux_hidden_norm.{tap}.weight": row for tap, row in enumerate(array)}
        else:
            file.tensors[_LUCEBOX.get(tensor, tensor)] = array
    return file


def adapter(variant: Variant, *names: str, rank: int = 4, alpha: float = 8.0, seed: int = 9) -> tiny.GgufFile:
    """A LoRA adapter of the matrices `names`, large enough to change every draft."""
    file, random = tiny.GgufFile(), np.random.default_rng(seed)
    file.set("general.architecture", "dflash").set("general.type", "adapter").set("adapter.type", "lora")
    file.set("adapter.lora.alpha", alpha)
    for name in names:
        rows, width = make(variant).tensors[name].shape
        file.tensors[name + ".lora_a"] = (random.standard_normal((rank, width)) / np.sqrt(width)).astype(np.float32)
        file.tensors[name + ".lora_b"] = (random.standard_normal((rows, rank)) / np.sqrt(rank)).astype(np.float32)
    return file


def merged(file: tiny.GgufFile, adapter_file: tiny.GgufFile) -> dict[str, Array]:
    """The drafter's weights with the adapter merged."""
    weights = weights_of(file)
    for name in {key.rsplit(".", 1)[0] for key in adapter_file.tensors}:
        down, up = (adapter_file.tensors[f"{name}.lora_{half}"].astype(np.float64) for half in "ab")
        weights[name] = weights[name] + adapter_file.metadata["adapter.lora.alpha"][1] / len(down) * up @ down
    return weights


def weights_of(*files: tiny.GgufFile) -> dict[str, Array]:
    """All tensors as float64; earlier files take precedence, so a target's may follow the drafter's."""
    found: dict[str, Array] = {}
    for file in files:
        for name, array in file.tensors.items():
            found.setdefault(name, array.astype(np.float64))
    return found


@dataclass(frozen=True)
class Expected:
    """A draft, one row per proposed token.

    Attributes:
        logits: over the drafter's own vocabulary.
        tokens: in the target's vocabulary.
    """

    logits: Array
    tokens: list[int]
    confidence: list[float]


def reference(
    variant: Variant, weights: dict[str, Array], features: Array, last: int, rows: int, context: int | None = None
) -> Expected:
    """Draft after the positions whose `features` [length, taps * n_embd] are given; `last` is the token that follows.

    rows: of the block. context: how many positions full layers look back, None for all.
    """
    length = len(features)
    fused = features.reshape(length, len(variant.taps), variant.n_embd)
    if variant.tap_norm:
        fused = _normed(fused, weights["enc.aux_norm.weight"])
    flat = fused.reshape(length, len(variant.taps) * variant.n_embd)
    fused = _normed(flat @ weights["fc.weight"].T, weights["enc.output_norm.weight"])
    x = weights["token_embd.weight"][[last] + [tiny.MASK] * (rows - 1)]
    for layer in range(variant.n_layer):
        x = _layer(variant, weights, f"blk.{layer}.", x, fused, variant.slides[layer], context)
    hidden = _normed(x, weights["output_norm.weight"])[variant.first_row :]
    return _proposed(variant, weights, hidden, last)


def _layer(
    variant: Variant, weights: dict[str, Array], prefix: str, x: Array, fused: Array, slides: bool, context: int | None
) -> Array:
    length, rows = len(fused), len(x)
    inside = _normed(x, weights[prefix + "attn_norm.weight"])
    before = _normed(fused, weights[prefix + "attn_norm.weight"]) if variant.context_norm else fused
    committed, new = np.arange(length), np.arange(length, length + rows)
    everything = np.concatenate([committed, new])

    def heads(name: str, source: Array, positions: NDArray[np.int64], count: int) -> Array:
        split = (source @ weights[f"{prefix}attn_{name}.weight"].T).reshape(len(source), count, variant.head)
        return _rotated(_normed(split, weights[f"{prefix}attn_{name}_norm.weight"]), positions, variant.rope_base)

    queries = heads("q", inside, new, variant.heads)
    keys = np.concatenate([heads("k", before, committed, variant.kv_heads), heads("k", inside, new, variant.kv_heads)])
    values = np.concatenate([before, inside]) @ weights[prefix + "attn_v.weight"].T
    values = values.reshape(len(values), variant.kv_heads, variant.head)
    seen = np.ones((rows, length + rows), bool)
    if slides:
        seen &= new[:, None] - everything[None, :] < variant.window
    elif context is not None:
        seen &= everything[None, :] >= length - context
    if variant.causal:
        seen &= everything[None, :] <= new[:, None]
    group = variant.heads // variant.kv_heads
    scores = np.einsum("qhd,khd->hqk", queries, np.repeat(keys, group, 1)) / np.sqrt(variant.head)
    scores = np.where(seen, scores, -np.inf)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    found = np.einsum("hqk,khd->qhd", shares, np.repeat(values, group, 1))
    if variant.gate:
        found *= np.log1p(np.exp(inside @ weights[prefix + "attn_gate.weight"].T))[:, :, None]
    x = x + found.reshape(rows, -1) @ weights[prefix + "attn_output.weight"].T
    inside = _normed(x, weights[prefix + "ffn_norm.weight"])
    gate = inside @ weights[prefix + "ffn_gate.weight"].T
    up = inside @ weights[prefix + "ffn_up.weight"].T
    return x + (gate / (1 + np.exp(-gate)) * up) @ weights[prefix + "ffn_down.weight"].T


def _proposed(variant: Variant, weights: dict[str, Array], hidden: Array, last: int) -> Expected:
    head = weights["output.weight"] if "output.weight" in weights else weights["token_embd.weight"]
    logits = hidden @ head.T
    table = weights["d2t"].astype(int) if variant.reduced else np.arange(len(head))
    tokens: list[int] = []
    confidence: list[float] = []
    for place, state in enumerate(hidden):
        if variant.rank:
            embedded = weights["markov_w1.weight"][tokens[-1] if tokens else last]
            logits[place] += weights["markov_w2.weight"] @ embedded
            if variant.confidence:
                seen = np.concatenate([state, embedded]) if variant.confidence == "both" else state
                score = float(weights["conf_proj.weight"][0] @ seen + weights["conf_proj.bias"][0])
                confidence.append(1 / (1 + np.exp(-score)))
        tokens.append(int(table[logits[place].argmax()]))
    return Expected(logits, tokens, confidence)


def _normed(x: Array, weights: Array) -> Array:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * weights


def _rotated(x: Array, positions: NDArray[np.int64], base: float) -> Array:
    """RoPE of x [n, heads, head], NEOX style: pairs element i of a head's two halves."""
    half = x.shape[-1] // 2
    angles = positions[:, None] * base ** (-np.arange(half) / half)
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    left, right = x[..., :half], x[..., half:]
    return np.concatenate([left * cos - right * sin, left * sin + right * cos], -1)


def features(variant: Variant, count: int, seed: int = 3) -> NDArray[np.float32]:
    """Hidden states whose magnitudes differ by layer like a real model's, [count, taps * n_embd]."""
    random = np.random.default_rng(seed)
    sizes = np.repeat(np.geomspace(1, 900 if variant.tap_norm else 9, len(variant.taps)), variant.n_embd)
    return (random.standard_normal((count, len(sizes))) * sizes).astype(np.float32)
