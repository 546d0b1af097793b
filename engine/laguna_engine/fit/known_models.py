"""Shapes of published models, so that their fit can be computed before a download.

Laguna's shape is known exactly; its mix of formats is llama.cpp's Q4_K_M (`llama-quant.cpp`). Other models are
described by the widths in the catalogue and the size of their file, with as many bits for one weight as for another.
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
    """Return the shape of a catalogue model, None if too little is known about it.

    Args:
        name: the model's name.
        facts: GGUF keys, without the architecture prefix, and their values.
        context: tokens of context it supports.
        size: bytes of its file if known; the weights are scaled to it.
    """
    if facts.get("general.architecture", ARCHITECTURE) != ARCHITECTURE:
        return _described(name, facts, context, size) if size is not None and facts.keys() >= _NEEDED else None
    wanted = (facts.get("block_count"), facts.get("embedding_length"), facts.get("expert_count"))
    known = next((one for one in _KNOWN if (one.layers, one.n_embd, one.experts) == wanted), None)
    if known is None:
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


_NEEDED = {
    "block_count", "embedding_length", "attention.head_count", "attention.head_count_kv", "attention.key_length",
    "feed_forward_length", "vocab_size",
}  # fmt: skip


def _described(name: str, facts: Mapping[str, int | str], context: int, size: int) -> ModelShape:
    """Return the shape of a model by its widths; every weight gets the same share of `size`.

    A recurrent state is taken for one that llama.cpp can roll back, as that of Qwen3.5, which takes more memory.
    """

    def width(key: str) -> int:
        return int(facts.get(key, 0))

    embd, head, count = width("embedding_length"), width("attention.key_length"), width("block_count")
    queries, keys = width("attention.head_count") * head, width("attention.head_count_kv") * head
    experts, matrix = width("expert_count"), width("vocab_size") * embd
    recurrent = embd * (3 * width("ssm.inner_size") + 2 * width("ssm.group_count") * width("ssm.state_size"))
    # `llama_hparams::n_embd_s` and `n_embd_r`, which are stored as float32.
    rows = width("ssm.inner_size") + 2 * width("ssm.group_count") * width("ssm.state_size")
    state = _F32 * (width("ssm.inner_size") * width("ssm.state_size") + (width("ssm.conv_kernel") - 1) * rows)
    ff = width("feed_forward_length")
    weights: list[tuple[int, int]] = []
    kinds: list[LayerShape] = []
    for layer in range(count):
        # Of every few layers the last one attends to all tokens (`load_swa_pattern`, `is_recr_impl` in `qwen35.cpp`).
        full = (layer + 1) % max(width("full_attention_interval"), 1) == 0
        slides = width("attention.sliding_window") > 0 and (layer + 1) % max(width("sliding_window_interval"), 1) != 0
        attention = embd * (2 * queries + 2 * keys) if full else recurrent
        weights.append((attention + (0 if experts else 3 * embd * ff), 3 * embd * ff * experts))
        kinds.append(
            LayerShape(
                sliding=slides, queries=queries, keys=keys if full else 0, values=keys if full else 0,
                heads=width("attention.head_count"), gate=0, ff=0 if experts else ff, experts=experts,
                experts_used=width("expert_used_count"), expert_ff=ff if experts else 0, shared_ff=0,
                experts_size=0, size=0, state=0 if full else state,
            )
        )  # fmt: skip
    tied = bool(facts.get("tied"))
    bytes_each = size / (sum(map(sum, weights)) + matrix * (1 if tied else 2))
    layers = (
        replace(kind, size=round(dense * bytes_each), experts_size=round(routed * bytes_each))
        for kind, (dense, routed) in zip(kinds, weights, strict=True)
    )
    return ModelShape(
        name=name, n_embd=embd, n_vocab=width("vocab_size"), n_ctx=context, head=head,
        window=width("attention.sliding_window"), layers=tuple(layers), embedding_size=round(matrix * bytes_each),
        output_size=round(matrix * bytes_each), tied=tied, rolls_back=state > 0,
    )  # fmt: skip


def _size(elements: int, kind: int) -> int:
    return elements // TENSOR_FORMATS[kind].block * TENSOR_FORMATS[kind].size
