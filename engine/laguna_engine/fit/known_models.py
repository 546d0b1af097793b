"""Shapes of published Laguna models, so that their fit can be computed before a download.

Source: the models' configurations; the mix of formats is llama.cpp's Q4_K_M (`llama-quant.cpp`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from laguna_engine.fit.memory import DrafterShape
from laguna_engine.fit.model_shape import LayerShape, ModelShape
from laguna_engine.gguf.formats import TENSOR_FORMATS
from laguna_engine.gguf.laguna import ARCHITECTURE

_Q4_K, _Q6_K, _F32 = 12, 14, 4


@dataclass(frozen=True, slots=True)
class _Laguna:
    """Hyperparameters of one model of the family; the first layer is dense."""

    layers: int
    n_embd: int
    head: int
    full_heads: int
    sliding_heads: int
    kv_heads: int
    ff: int
    experts: int
    experts_used: int
    expert_ff: int
    shared_ff: int
    window: int
    n_vocab: int


_XS = _Laguna(40, 2048, 128, 48, 64, 8, 8192, 256, 8, 512, 512, 512, 100_352)
_KNOWN = (_XS,)

XS_DRAFTER = DrafterShape(
    n_embd=2048, taps=5, tap_norms=True, block=16, window=512, sliding_width=5 * 2 * 1024, full_width=0,
    vocabulary=100_352, weights=900_000_000,
)  # fmt: skip
"""XS-2.1's drafter at 16 bits; it shares the target's embeddings and output matrix."""


def known_model(name: str, facts: Mapping[str, int | str], context: int, size: int | None = None) -> ModelShape | None:
    """Return the shape of a catalogue model, None if it is not a known one.

    Args:
        name: the model's name.
        facts: GGUF keys, without the architecture prefix, and their values.
        context: tokens of context it supports.
        size: bytes of its file if known; the weights are scaled to it.
    """
    wanted = (facts.get("block_count"), facts.get("embedding_length"), facts.get("expert_count"))
    known = next((one for one in _KNOWN if (one.layers, one.n_embd, one.experts) == wanted), None)
    if known is None or facts.get("general.architecture", ARCHITECTURE) != ARCHITECTURE:
        return None
    layers = tuple(_layer(known, layer) for layer in range(known.layers))
    matrix = known.n_vocab * known.n_embd
    shape = ModelShape(
        name=name, n_embd=known.n_embd, n_vocab=known.n_vocab, n_ctx=context, head=known.head, window=known.window,
        layers=layers, embedding_size=_size(matrix, _Q4_K), output_size=_size(matrix, _Q6_K) + _F32 * known.n_embd,
        tied=False,
    )  # fmt: skip
    if size is None:
        return shape
    # The experts are nearly all of the file: scaling them gives its size.
    factor = 1 + (size - shape.size) / shape.experts_size
    scaled = tuple(replace(layer, experts_size=round(layer.experts_size * factor)) for layer in layers)
    return replace(shape, layers=scaled)


def _layer(known: _Laguna, layer: int) -> LayerShape:
    sliding = layer % 4 > 0
    heads = known.sliding_heads if sliding else known.full_heads
    queries, keys, embd = heads * known.head, known.kv_heads * known.head, known.n_embd
    # llama.cpp's `use_more_bits`.
    more_bits = layer < known.layers // 8 or layer >= 7 * known.layers // 8 or (layer - known.layers // 8) % 3 == 2
    fine = _Q6_K if more_bits else _Q4_K
    attention = _size(embd * (2 * queries + keys + heads), _Q4_K) + _size(embd * keys, fine)
    ff, shared = (known.ff, 0) if layer == 0 else (0, known.shared_ff)
    inner = ff or shared
    dense = _size(2 * embd * inner, _Q4_K) + _size(embd * inner, fine)
    router = 0 if ff else _F32 * known.experts * (embd + 1)
    experts = 0 if ff else known.experts * embd * known.expert_ff
    return LayerShape(
        sliding=sliding, queries=queries, keys=keys, values=keys, heads=heads, gate=heads, ff=ff,
        experts=0 if ff else known.experts, experts_used=0 if ff else known.experts_used,
        expert_ff=0 if ff else known.expert_ff, shared_ff=shared,
        experts_size=_size(2 * experts, _Q4_K) + _size(experts, fine),
        size=attention + dense + router + _F32 * (2 * embd + 2 * known.head),
    )  # fmt: skip


def _size(elements: int, kind: int) -> int:
    return elements // TENSOR_FORMATS[kind].block * TENSOR_FORMATS[kind].size
