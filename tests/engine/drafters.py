"""Makes tiny DFlash drafters of every kind with random weights, and their drafts in float64."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from laguna_engine.gguf.drafter_header import DrafterHeader
from laguna_engine.gguf.header import Header
from laguna_engine.selfcheck.reference import Array, ExpectedDraft, expected_draft
from tests.engine import tiny


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


def header_of(variant: Variant) -> DrafterHeader:
    """What the file of `make` says, without reading one."""
    return DrafterHeader(
        file=cast(Header, None), n_embd=variant.n_embd, n_layer=variant.n_layer,
        heads=(variant.heads,) * variant.n_layer, kv_heads=(variant.kv_heads,) * variant.n_layer,
        head_size=variant.head, n_vocab=variant.n_vocab, epsilon=EPSILON, rope_base=variant.rope_base,
        rope_dims=variant.head, block=variant.block, taps=variant.taps, mask_id=tiny.MASK, window=variant.window,
        sliding=variant.slides, causal=(variant.causal,) * variant.n_layer, from_anchor=not variant.first_row,
        context_norm=variant.context_norm,
    )  # fmt: skip


def reference(
    variant: Variant, weights: dict[str, Array], features: Array, last: int, rows: int, context: int | None = None
) -> ExpectedDraft:
    """The draft in float64 (`laguna_engine.selfcheck.reference`), of weights as `make` names them or canonical ones."""
    norms = weights.get("enc.aux_norm.weight", ())
    # A target's weights may be among them, and a target may have gates where its drafter has none.
    own = {name: array for name, array in weights.items() if variant.gate or not name.endswith("attn_gate.weight")}
    named = {**own, **{f"enc.aux_norm.{tap}.weight": row for tap, row in enumerate(norms)}}
    targets = weights["d2t"].astype(np.int32) if variant.reduced else None
    return expected_draft(header_of(variant), named, targets, features, last, rows, context)


def features(variant: Variant, count: int, seed: int = 3) -> NDArray[np.float32]:
    """Hidden states whose magnitudes differ by layer like a real model's, [count, taps * n_embd]."""
    random = np.random.default_rng(seed)
    sizes = np.repeat(np.geomspace(1, 900 if variant.tap_norm else 9, len(variant.taps)), variant.n_embd)
    return (random.standard_normal((count, len(sizes))) * sizes).astype(np.float32)
