"""Estimates the compute buffer: the intermediate results of llama.cpp's graph for one micro-batch.

The graph follows `src/models/laguna.cpp` and `build_attn`, `build_moe_ffn` of `src/llama-graph.cpp` operation by
operation, as `graph_reserve` builds them; other architectures are close enough. Tests compare with llama.cpp's own
figure. The allocator follows `ggml-alloc.c`: best fit among the free blocks, else the end; adjacent free blocks are
merged; an in-place operation reuses the memory of an operand that is not read again.
"""

from dataclasses import dataclass
from functools import cache

from laguna_engine.fit.model_shape import LayerShape, ModelShape

_ALIGNMENT = 32
"""Bytes, of the CPU's buffers; other devices align to more, which matters as little."""

_UNBOUNDED = 1 << 62


class AllocatorSimulation:
    """Simulates ggml's graph allocator. Values are numbered and allocated in execution order.

    Attributes:
        peak: bytes that ggml would reserve.
    """

    def __init__(self) -> None:
        self.peak = 0
        self._free_blocks: list[tuple[int, int]] = [(0, _UNBOUNDED)]
        self._blocks: dict[int, tuple[int, int]] = {}
        self._uses: dict[int, int] = {}

    def new(self, size: int, uses: int = 1) -> int:
        """Allocate a value of `size` bytes that is read `uses` times."""
        number = len(self._uses)
        size = -(-size // _ALIGNMENT) * _ALIGNMENT
        self._uses[number] = uses
        self._blocks[number] = (self._take(size), size)
        return number

    def read(self, *values: int) -> None:
        """Record that an operation read `values`, in this order; a value is freed after its last read."""
        for value in values:
            self._uses[value] -= 1
            if not self._uses[value]:
                self._free(*self._blocks.pop(value))

    def in_place(self, value: int, uses: int = 1) -> int:
        """An in-place operation: its result reuses the memory of `value`, whose last read this is."""
        self._uses[value] = uses
        return value

    def _take(self, size: int) -> int:
        inner = [(length, index) for index, (_, length) in enumerate(self._free_blocks[:-1]) if length >= size]
        # Of free blocks of equal size ggml takes the last one.
        index = min(inner, key=lambda pair: (pair[0], -pair[1]))[1] if inner else len(self._free_blocks) - 1
        offset, length = self._free_blocks[index]
        if length == size:
            del self._free_blocks[index]
        else:
            self._free_blocks[index] = (offset + size, length - size)
        self.peak = max(self.peak, offset + size)
        return offset

    def _free(self, offset: int, size: int) -> None:
        index = next(index for index, (start, _) in enumerate(self._free_blocks) if start > offset)
        start, length = self._free_blocks[index]
        if offset + size == start:
            self._free_blocks[index] = (offset, size + length)
        else:
            self._free_blocks.insert(index, (offset, size))
        if index and sum(self._free_blocks[index - 1]) == offset:
            before, length = self._free_blocks.pop(index - 1)
            _, grown = self._free_blocks[index - 1]
            self._free_blocks[index - 1] = (before, length + grown)


_F32, _F16, _INDEX = 4, 2, 8
_ROTATION = 64
"""Width of llama.cpp's rotation of quantized values; that of keys is the largest power of two that divides a head."""

_KEYS, _VALUES = 0, 1
"""Index of the rotation of keys and of values."""


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


def inputs_size(shape: ModelShape, work: Work) -> int:
    """Bytes of the graph inputs, mostly masks; they are allocated on the host and on each device."""
    sizes = [_mask_inputs(shape, work, sliding) for sliding in {layer.sliding for layer in shape.layers}]
    return sum(map(sum, sizes)) + _F32 * (2 + shape.n_embd) * work.tokens + _F32 * work.outputs


@cache
def compute_size(shape: ModelShape, work: Work) -> int:
    """Bytes of the compute buffer on a device that computes every layer."""
    return _Graph(shape, work).peak()


def _mask_inputs(shape: ModelShape, work: Work, sliding: bool) -> list[int]:
    """Bytes of the inputs for layers of one kind: rotations, cell indices of keys and of values, the mask."""
    cells = work.sliding_cells if sliding else work.cells
    rotations = [_F32 * width * width for width in _rotations(shape, work)]
    return [*rotations, _INDEX * work.tokens, _INDEX * work.tokens, _F16 * cells * work.tokens]


def _rotations(shape: ModelShape, work: Work) -> list[int]:
    """Widths of the matrices that rotate keys and values before quantization; none for heads of other sizes."""
    if not work.quantized or shape.head % _ROTATION:
        return []
    keys = _ROTATION
    while shape.head % (2 * keys) == 0:
        keys *= 2
    return [keys, _ROTATION]


class _Graph:
    """Replays the allocations of one graph."""

    def __init__(self, shape: ModelShape, work: Work) -> None:
        self._shape, self._work = shape, work
        self._rotated = bool(_rotations(shape, work))
        self._allocator = AllocatorSimulation()
        self._rows = work.tokens
        # The input for embeddings, which every graph allocates.
        self._value(shape.n_embd)
        ids = self._allocator.new(_F32 * work.tokens)
        self._allocator.new(_F32 * work.tokens)
        self._inputs: dict[bool, list[int]] = {}
        for layer in shape.layers:
            if layer.sliding not in self._inputs:
                uses = sum(other.sliding == layer.sliding for other in shape.layers)
                sizes = _mask_inputs(shape, work, layer.sliding)
                reads = [2 * uses] * 2 if self._rotated else []
                self._inputs[layer.sliding] = [
                    self._allocator.new(size, times) for size, times in zip(sizes, [*reads, *[uses] * 3], strict=True)
                ]
        self._output_ids = self._allocator.new(_F32 * work.outputs, 2)
        self._x = self._value(shape.n_embd, 2)
        self._allocator.read(ids)

    def peak(self) -> int:
        for number, layer in enumerate(self._shape.layers):
            self._attention(layer, last=number == len(self._shape.layers) - 1)
            self._experts(layer) if layer.experts else self._dense(layer)
        self._compute(self._shape.n_vocab, self._x)
        return self._allocator.peak

    def _value(self, width: int, uses: int = 1) -> int:
        return self._allocator.new(_F32 * width * self._rows, uses)

    def _compute(self, width: int, *values: int, uses: int = 1) -> int:
        """A new value of `width` numbers per token, computed from `values`."""
        made = self._value(width, uses)
        self._allocator.read(*values)
        return made

    def _attention(self, layer: LayerShape, *, last: bool) -> None:
        """The attention half of a layer, residual included."""
        allocator, inputs = self._allocator, self._inputs[layer.sliding]
        normed = self._compute(self._shape.n_embd, self._x, uses=3 + (layer.gate > 0))
        queries = self._project(layer.queries, normed, inputs)
        keys = self._project(layer.keys, normed, inputs)
        values = self._compute(layer.values, normed)
        if self._rotated:
            values = self._rotate(layer.values, values, inputs, _VALUES)
        allocator.read(keys, inputs[-3])
        allocator.read(values, inputs[-2])
        attended = self._attend(layer, queries, inputs)
        if layer.gate:
            attended = self._compute(layer.queries, attended, self._compute(layer.gate, normed))
        out = self._compute(self._shape.n_embd, attended)
        if last:
            out, self._x = self._output_rows(out), self._output_rows(self._x)
        allocator.read(self._x)
        self._x = allocator.in_place(out, 2)

    def _project(self, width: int, normed: int, inputs: list[int]) -> int:
        # Reshaped to heads, which is a view, it is not normed and rotated in place.
        made = self._compute(width, self._compute(width, normed))
        return self._rotate(width, made, inputs, _KEYS) if self._rotated else made

    def _attend(self, layer: LayerShape, queries: int, inputs: list[int]) -> int:
        cells = self._work.sliding_cells if layer.sliding else self._work.cells
        copies = _F16 * cells * (layer.keys + layer.values) if self._work.converted and self._work.quantized else 0
        attended = self._allocator.new(_F32 * layer.queries * self._rows + copies)
        self._allocator.read(queries, inputs[-1])
        return self._rotate(layer.queries, attended, inputs, _VALUES) if self._rotated else attended

    def _rotate(self, width: int, value: int, inputs: list[int], rotation: int) -> int:
        return self._compute(width, value, inputs[rotation])

    def _output_rows(self, value: int) -> int:
        """Select the rows with outputs."""
        self._rows = self._work.outputs
        return self._compute(self._shape.n_embd, value, self._output_ids)

    def _dense(self, layer: LayerShape) -> None:
        allocator = self._allocator
        normed = self._compute(self._shape.n_embd, self._x, uses=2)
        out = self._feed_forward(layer.ff, normed)
        allocator.read(self._x)
        self._x = allocator.in_place(out, 2)

    def _feed_forward(self, width: int, normed: int, times: int = 1) -> int:
        """A gated feed-forward: gate, up, their product, down."""
        gate = self._compute(times * width, normed)
        up = self._compute(times * width, normed)
        both = self._compute(times * width, gate, up)
        return self._compute(times * self._shape.n_embd, both)

    def _experts(self, layer: LayerShape) -> None:
        allocator, embd, used = self._allocator, self._shape.n_embd, layer.experts_used
        normed = self._compute(embd, self._x, uses=3 + 2 * (layer.shared_ff > 0))
        probs = self._compute(layer.experts, normed, uses=2)
        biased = self._compute(layer.experts, probs)
        order = self._compute(layer.experts, biased, uses=2)
        weights = self._compute(used, probs, uses=2)
        total = self._compute(1, weights)
        weights = self._compute(used, self._compute(used, weights, total))
        spread = self._feed_forward(layer.expert_ff, normed, used)
        allocator.read(order, order)
        allocator.read(weights)
        out = self._compute(embd, spread)
        if layer.shared_ff:
            allocator.read(self._feed_forward(layer.shared_ff, normed))
        allocator.read(self._x)
        self._x = allocator.in_place(out, 2)
