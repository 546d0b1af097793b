"""A drafter's forward pass in float64: the whole history at once, without rings, graphs or caches.

Source: the forward pass as the drafters' serving code has it. This project's graphs are compared with it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from laguna_engine.ggml.weights import HostEmbedding
from laguna_engine.gguf.drafter_header import DrafterHeader
from laguna_engine.gguf.header import Header
from laguna_engine.gguf.tensors import TensorInfo

Array = NDArray[np.float64]

_PIECE = 8192
"""Rows of an output matrix that are in memory at once: 128 MiB at a width of 2048."""


class Float64Weights(Mapping[str, Array]):
    """Tensors of checked files as float64, dequantized on access; earlier files take precedence."""

    def __init__(self, *files: Header) -> None:
        self._found: dict[str, tuple[Header, TensorInfo]] = {}
        for file in files:
            for info in file.tensors:
                self._found.setdefault(info.name, (file, info))

    def __getitem__(self, name: str) -> Array:
        file, info = self._found[name]
        if len(info.shape) == 2:
            return self.rows(name, range(info.shape[1]))
        return np.fromfile(file.file_of(info), np.float32, info.shape[0], offset=info.offset).astype(np.float64)

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def rows(self, name: str, ids: Sequence[int]) -> Array:
        """Return the rows `ids` of a matrix, [n, width]."""
        return HostEmbedding(self._found[name][0], name).rows(ids).astype(np.float64)

    def pieces(self, name: str) -> Iterator[Array]:
        """Yield a matrix, some rows at a time."""
        count = self._found[name][1].shape[1]
        for start in range(0, count, _PIECE):
            yield self.rows(name, range(start, min(start + _PIECE, count)))


@dataclass(frozen=True, slots=True)
class ExpectedDraft:
    """A draft, one row per proposed token.

    Attributes:
        logits: over the drafter's own vocabulary, [rows, drafted vocabulary].
        tokens: in the target's vocabulary.
        confidence: of the confidence head; empty without one.
    """

    logits: Array
    tokens: list[int]
    confidence: list[float]


def expected_draft(
    drafter: DrafterHeader,
    weights: Mapping[str, Array],
    targets: NDArray[np.int32] | None,
    features: Array,
    last: int,
    rows: int,
    context: int | None = None,
) -> ExpectedDraft:
    """Draft after positions whose hidden states are known.

    Args:
        drafter: its header.
        weights: tensors by canonical name; of the target only the embeddings and the output matrix, and only where the
            drafter has none.
        targets: the target's token for each of the drafter's, None if they are the same.
        features: the taps of each position, [length, taps * n_embd].
        last: the token that follows.
        rows: rows of the block.
        context: positions that full-attention layers look back, None for all.
    """
    length = len(features)
    fused = features.reshape(length, len(drafter.taps), drafter.n_embd)
    if "enc.aux_norm.0.weight" in weights:
        norms = np.stack([weights[f"enc.aux_norm.{tap}.weight"] for tap in range(len(drafter.taps))])
        fused = _normed(fused, norms, drafter.epsilon)
    flat = fused.reshape(length, len(drafter.taps) * drafter.n_embd) @ weights["fc.weight"].T
    fused = _normed(flat, weights["enc.output_norm.weight"], drafter.epsilon)
    x = _rows(weights, "token_embd.weight", [last] + [drafter.mask_id] * (rows - 1))
    for layer in range(drafter.n_layer):
        x = _layer(drafter, weights, layer, x, fused, context)
    hidden = _normed(x, weights["output_norm.weight"], drafter.epsilon)[0 if drafter.from_anchor else 1 :]
    return _proposed(weights, targets, hidden, last)


def _rows(weights: Mapping[str, Array], name: str, ids: Sequence[int]) -> Array:
    return weights.rows(name, ids) if isinstance(weights, Float64Weights) else weights[name][list(ids)]


def _layer(
    drafter: DrafterHeader, weights: Mapping[str, Array], layer: int, x: Array, fused: Array, context: int | None
) -> Array:
    prefix, length, rows = f"blk.{layer}.", len(fused), len(x)
    count, kv_count = drafter.heads[layer], drafter.kv_heads[layer]
    inside = _normed(x, weights[prefix + "attn_norm.weight"], drafter.epsilon)
    before = _normed(fused, weights[prefix + "attn_norm.weight"], drafter.epsilon) if drafter.context_norm else fused
    committed, new = np.arange(length), np.arange(length, length + rows)

    def heads(name: str, source: Array, positions: NDArray[np.int64], heads: int) -> Array:
        split = (source @ weights[f"{prefix}attn_{name}.weight"].T).reshape(len(source), heads, drafter.head_size)
        split = _normed(split, weights[f"{prefix}attn_{name}_norm.weight"], drafter.epsilon)
        return _rotated(split, positions, drafter.rope_base, drafter.rope_dims)

    queries = heads("q", inside, new, count)
    keys = np.concatenate([heads("k", before, committed, kv_count), heads("k", inside, new, kv_count)])
    values = np.concatenate([before, inside]) @ weights[prefix + "attn_v.weight"].T
    values = values.reshape(len(values), kv_count, drafter.head_size)
    group = count // kv_count
    scores = np.einsum("qhd,khd->hqk", queries, np.repeat(keys, group, 1)) / np.sqrt(drafter.head_size)
    scores = np.where(_seen(drafter, layer, length, rows, context), scores, -np.inf)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    found = np.einsum("hqk,khd->qhd", shares, np.repeat(values, group, 1))
    if prefix + "attn_gate.weight" in weights:
        found *= np.log1p(np.exp(inside @ weights[prefix + "attn_gate.weight"].T))[:, :, None]
    x = x + found.reshape(rows, -1) @ weights[prefix + "attn_output.weight"].T
    inside = _normed(x, weights[prefix + "ffn_norm.weight"], drafter.epsilon)
    gate = inside @ weights[prefix + "ffn_gate.weight"].T
    up = inside @ weights[prefix + "ffn_up.weight"].T
    added: Array = (gate / (1 + np.exp(-gate)) * up) @ weights[prefix + "ffn_down.weight"].T
    return x + added


def _seen(drafter: DrafterHeader, layer: int, length: int, rows: int, context: int | None) -> NDArray[np.bool_]:
    """Return which positions each row of the block attends to, [rows, length + rows]."""
    new, everything = np.arange(length, length + rows), np.arange(length + rows)
    seen = np.ones((rows, length + rows), bool)
    if drafter.sliding[layer]:
        seen &= new[:, None] - everything[None, :] < drafter.window
    elif context is not None:
        seen &= everything[None, :] >= length - context
    if drafter.causal[layer]:
        seen &= everything[None, :] <= new[:, None]
    return seen


def _proposed(
    weights: Mapping[str, Array], targets: NDArray[np.int32] | None, hidden: Array, last: int
) -> ExpectedDraft:
    logits = _head(weights, hidden)
    chained = weights.get("markov_w2.weight")
    projection = weights["conf_proj.weight"].reshape(-1) if "conf_proj.weight" in weights else None
    tokens: list[int] = []
    confidence: list[float] = []
    for place, state in enumerate(hidden):
        if chained is not None:
            embedded = _rows(weights, "markov_w1.weight", [tokens[-1] if tokens else last])[0]
            logits[place] += chained @ embedded
            if projection is not None:
                seen = np.concatenate([state, embedded])[: len(projection)]
                score = float(projection @ seen + weights["conf_proj.bias"][0])
                confidence.append(1 / (1 + np.exp(-score)))
        best = int(logits[place].argmax())
        tokens.append(best if targets is None else int(targets[best]))
    return ExpectedDraft(logits, tokens, confidence)


def _head(weights: Mapping[str, Array], hidden: Array) -> Array:
    name = "output.weight" if "output.weight" in weights else "token_embd.weight"
    if not isinstance(weights, Float64Weights):
        return np.asarray(hidden @ weights[name].T)
    return np.concatenate([hidden @ piece.T for piece in weights.pieces(name)], axis=1)


def _normed(x: Array, weights: Array, epsilon: float) -> Array:
    return np.asarray(x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * weights)


def _rotated(x: Array, positions: NDArray[np.int64], base: float, dims: int) -> Array:
    """Apply RoPE to the first `dims` numbers of each head of x [n, heads, head], paired as in NEOX."""
    half = dims // 2
    angles = positions[:, None] * base ** (-np.arange(half) / half)
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    left, right = x[..., :half], x[..., half:dims]
    return np.concatenate([left * cos - right * sin, left * sin + right * cos, x[..., dims:]], -1)
