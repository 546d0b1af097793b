"""Estimates the compute buffer: the intermediate results of llama.cpp's graph for one micro-batch.

It is what is alive at the largest operation of a layer or of the output (`src/models/laguna.cpp`, and `build_attn` and
`build_moe_ffn` of `src/llama-graph.cpp`), with a margin for what ggml's allocator cannot reuse. Other architectures are
close enough. Tests compare it with llama.cpp's own figure, which is never larger.
"""

from dataclasses import dataclass
from functools import cache

from laguna_engine.fit.model_shape import LayerShape, ModelShape

_F32, _F16, _INDEX = 4, 2, 8
_ROTATION = 64
"""Width of llama.cpp's rotation of quantized values; that of keys is the largest power of two that divides a head."""

_MARGIN = 2
"""Hidden states of a micro-batch that fragmentation costs at most."""


@dataclass(frozen=True, slots=True)
class Work:
    """The size of one computation.

    Attributes:
        tokens: tokens of the micro-batch.
        outputs: rows with logits.
        cells: KV cells of a full-attention layer.
        sliding_cells: KV cells of a sliding-window layer.
        quantized: whether the KV cache is quantized.
        converted: whether the device makes F16 copies of a quantized cache, as CUDA does in prefill.
    """

    tokens: int
    outputs: int
    cells: int
    sliding_cells: int
    quantized: bool
    converted: bool = False

    def cells_of(self, sliding: bool) -> int:
        """KV cells of a layer of this kind."""
        return self.sliding_cells if sliding else self.cells


def inputs_size(shape: ModelShape, work: Work) -> int:
    """Bytes of the graph inputs, mostly masks; they are allocated on the host and on each device."""
    return _masks_size(shape, work) + _ids_size(shape, work)


@cache
def compute_size(shape: ModelShape, work: Work) -> int:
    """Bytes of the compute buffer on a device that computes every layer, at most."""
    layers = max(_layer_size(shape, layer, work) for layer in set(shape.layers))
    # The masks are free again when the logits are computed.
    largest = max(_masks_size(shape, work) + layers, _F32 * work.outputs * (shape.n_vocab + 3 * shape.n_embd))
    return _ids_size(shape, work) + largest


def _ids_size(shape: ModelShape, work: Work) -> int:
    """Bytes of the inputs that exist once: tokens, their embeddings and positions, and the rows with outputs."""
    return _F32 * ((2 + shape.n_embd) * work.tokens + work.outputs)


def _masks_size(shape: ModelShape, work: Work) -> int:
    """Bytes of the inputs for each kind of layer: the mask, cell indices of keys and of values, rotations."""
    kinds = {layer.sliding for layer in shape.layers}
    rotations = sum(_F32 * width * width for width in _rotations(shape, work))
    return sum(rotations + (2 * _INDEX + _F16 * work.cells_of(sliding)) * work.tokens for sliding in kinds)


def _rotations(shape: ModelShape, work: Work) -> list[int]:
    """Widths of the matrices that rotate keys and values before quantization; none for heads of other sizes."""
    if not work.quantized or shape.head % _ROTATION:
        return []
    return [shape.head & -shape.head, _ROTATION]


def _layer_size(shape: ModelShape, layer: LayerShape, work: Work) -> int:
    """Bytes of the values that are alive at once in a layer: the residual, its norm, and those of the largest part."""
    embd = shape.n_embd
    values = 2 * layer.values if _rotations(shape, work) else layer.values
    copied = work.cells_of(layer.sliding) if work.converted and work.quantized else 0
    copies = _F16 * copied * (layer.keys + layer.values)
    projected = max(2 * layer.queries, layer.queries + 2 * layer.keys + values)
    # Gate, up and their product leave holes that are too small for what comes down.
    routed = layer.experts + layer.experts_used * (3 * layer.expert_ff + embd + 1)
    shared = embd + 3 * layer.shared_ff
    rows = _F32 * work.tokens
    computed = rows * (_MARGIN * embd + max(projected, 3 * layer.ff, routed, shared))
    return 2 * rows * embd + max(computed, rows * (embd + 2 * layer.queries) + copies)
