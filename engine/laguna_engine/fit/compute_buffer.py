"""Compute buffers: how much memory the intermediate results of llama.cpp's graph for one micro-batch need.

The graph follows `src/models/laguna.cpp` and `build_attn`, `build_moe_ffn` of `src/llama-graph.cpp` operation by
operation, as `graph_reserve` builds them; models of other architectures are close enough to it. Tests compare with
llama.cpp's own figure. The allocator follows `ggml-alloc.c`: best fit among the holes, else the end; freed neighbours
are joined; an operation that may work in place takes over the memory of an operand that is not needed afterwards.
"""

from dataclasses import dataclass
from functools import cache

from laguna_engine.fit.model_shape import LayerShape, ModelShape

_ALIGNMENT = 32
"""Of the CPU's buffers; those of other devices are larger and matter as little."""

_ENDLESS = 1 << 62


class AllocatorSimulation:
    """Values by number, made in the order of the computation. `peak` is what ggml would reserve, in bytes."""

    def __init__(self) -> None:
        self.peak = 0
        self._holes: list[tuple[int, int]] = [(0, _ENDLESS)]
        self._places: dict[int, tuple[int, int]] = {}
        self._uses: dict[int, int] = {}

    def new(self, size: int, uses: int = 1) -> int:
        """Memory for a value of `size` bytes that is read `uses` times."""
        number = len(self._uses)
        size = -(-size // _ALIGNMENT) * _ALIGNMENT
        self._uses[number] = uses
        self._places[number] = (self._take(size), size)
        return number

    def read(self, *values: int) -> None:
        """Some operation has read them, in this order; what nobody reads any more is freed."""
        for value in values:
            self._uses[value] -= 1
            if not self._uses[value]:
                self._free(*self._places.pop(value))

    def into(self, value: int, uses: int = 1) -> int:
        """An operation in place: `value`, read for the last time, becomes what is read `uses` times."""
        self._uses[value] = uses
        return value

    def _take(self, size: int) -> int:
        inner = [(length, index) for index, (_, length) in enumerate(self._holes[:-1]) if length >= size]
        # Of holes of the same size ggml takes the last one it sees.
        index = min(inner, key=lambda pair: (pair[0], -pair[1]))[1] if inner else len(self._holes) - 1
        offset, length = self._holes[index]
        if length == size:
            del self._holes[index]
        else:
            self._holes[index] = (offset + size, length - size)
        self.peak = max(self.peak, offset + size)
        return offset

    def _free(self, offset: int, size: int) -> None:
        index = next(place for place, (start, _) in enumerate(self._holes) if start > offset)
        start, length = self._holes[index]
        if offset + size == start:
            self._holes[index] = (offset, size + length)
        else:
            self._holes.insert(index, (offset, size))
        if index and sum(self._holes[index - 1]) == offset:
            before, length = self._holes.pop(index - 1)
            _, grown = self._holes[index - 1]
            self._holes[index - 1] = (before, length + grown)


_F32, _F16, _INDEX = 4, 2, 8
_ROTATION = 64
"""Width of the rotation that llama.cpp gives quantized values; keys get the largest power of two in a head."""

_KEYS, _VALUES = 0, 1
"""Which of the two rotations."""


@dataclass(frozen=True, slots=True)
class Work:
    """One computation. tokens: of a micro-batch. outputs: rows that get logits.

    cells, sliding_cells: of the cache, as full and sliding layers see it. quantized: whether the cache is. converted:
    whether the device makes half-precision copies of a quantized cache, as CUDA does when it reads a prompt.
    """

    tokens: int
    outputs: int
    cells: int
    sliding_cells: int
    quantized: bool
    converted: bool = False


def inputs_size(shape: ModelShape, work: Work) -> int:
    """Bytes of what llama.cpp writes before a computation: masks above all. They lie on the host and on each device."""
    sizes = [_mask_inputs(shape, work, sliding) for sliding in {layer.sliding for layer in shape.layers}]
    return sum(map(sum, sizes)) + _F32 * (2 + shape.n_embd) * work.tokens + _F32 * work.outputs


@cache
def compute_size(shape: ModelShape, work: Work) -> int:
    """Bytes of the compute buffer of a device that computes every layer."""
    return _Graph(shape, work).peak()


def _mask_inputs(shape: ModelShape, work: Work, sliding: bool) -> list[int]:
    """Of layers of one kind: rotations, places in the cache for keys and values, the mask."""
    cells = work.sliding_cells if sliding else work.cells
    rotations = [_F32 * width * width for width in _rotations(shape, work)]
    return [*rotations, _INDEX * work.tokens, _INDEX * work.tokens, _F16 * cells * work.tokens]


def _rotations(shape: ModelShape, work: Work) -> list[int]:
    """Widths of the matrices that turn keys and values before they are quantized; none for heads of other sizes."""
    if not work.quantized or shape.head % _ROTATION:
        return []
    keys = _ROTATION
    while shape.head % (2 * keys) == 0:
        keys *= 2
    return [keys, _ROTATION]


class _Graph:
    """The sketch of one graph."""

    def __init__(self, shape: ModelShape, work: Work) -> None:
        self._shape, self._work = shape, work
        self._rotated = bool(_rotations(shape, work))
        self._sketch = AllocatorSimulation()
        self._rows = work.tokens
        # Room for a prompt given as embeddings, which is there in every graph.
        self._value(shape.n_embd)
        ids = self._sketch.new(_F32 * work.tokens)
        self._sketch.new(_F32 * work.tokens)
        self._kinds: dict[bool, list[int]] = {}
        for layer in shape.layers:
            if layer.sliding not in self._kinds:
                uses = sum(other.sliding == layer.sliding for other in shape.layers)
                sizes = _mask_inputs(shape, work, layer.sliding)
                reads = [2 * uses] * 2 if self._rotated else []
                self._kinds[layer.sliding] = [
                    self._sketch.new(size, times) for size, times in zip(sizes, [*reads, *[uses] * 3], strict=True)
                ]
        self._wanted = self._sketch.new(_F32 * work.outputs, 2)
        self._x = self._value(shape.n_embd, 2)
        self._sketch.read(ids)

    def peak(self) -> int:
        for number, layer in enumerate(self._shape.layers):
            self._attention(layer, last=number == len(self._shape.layers) - 1)
            self._experts(layer) if layer.experts else self._dense(layer)
        self._from(self._shape.n_vocab, self._x)
        return self._sketch.peak

    def _value(self, width: int, uses: int = 1) -> int:
        return self._sketch.new(_F32 * width * self._rows, uses)

    def _from(self, width: int, *values: int, uses: int = 1) -> int:
        """A new value of `width` numbers a token, computed from `values`."""
        made = self._value(width, uses)
        self._sketch.read(*values)
        return made

    def _attention(self, layer: LayerShape, *, last: bool) -> None:
        """From the layer's input to what its second half begins with."""
        sketch, kind = self._sketch, self._kinds[layer.sliding]
        normed = self._from(self._shape.n_embd, self._x, uses=3 + (layer.gate > 0))
        queries = self._projected(layer.queries, normed, kind)
        keys = self._projected(layer.keys, normed, kind)
        values = self._from(layer.values, normed)
        if self._rotated:
            values = self._turned(layer.values, values, kind, _VALUES)
        sketch.read(keys, kind[-3])
        sketch.read(values, kind[-2])
        seen = self._attended(layer, queries, kind)
        if layer.gate:
            seen = self._from(layer.queries, seen, self._from(layer.gate, normed))
        out = self._from(self._shape.n_embd, seen)
        if last:
            out, self._x = self._picked(out), self._picked(self._x)
        sketch.read(self._x)
        self._x = sketch.into(out, 2)

    def _projected(self, width: int, normed: int, kind: list[int]) -> int:
        # Seen as heads, which is a view, it is not normed and rotated in place.
        made = self._from(width, self._from(width, normed))
        return self._turned(width, made, kind, _KEYS) if self._rotated else made

    def _attended(self, layer: LayerShape, queries: int, kind: list[int]) -> int:
        cells = self._work.sliding_cells if layer.sliding else self._work.cells
        copies = _F16 * cells * (layer.keys + layer.values) if self._work.converted and self._work.quantized else 0
        seen = self._sketch.new(_F32 * layer.queries * self._rows + copies)
        self._sketch.read(queries, kind[-1])
        return self._turned(layer.queries, seen, kind, _VALUES) if self._rotated else seen

    def _turned(self, width: int, value: int, kind: list[int], rotation: int) -> int:
        return self._from(width, value, kind[rotation])

    def _picked(self, value: int) -> int:
        """Only the rows with outputs."""
        self._rows = self._work.outputs
        return self._from(self._shape.n_embd, value, self._wanted)

    def _dense(self, layer: LayerShape) -> None:
        sketch = self._sketch
        normed = self._from(self._shape.n_embd, self._x, uses=2)
        out = self._gated(layer.ff, normed)
        sketch.read(self._x)
        self._x = sketch.into(out, 2)

    def _gated(self, width: int, normed: int, times: int = 1) -> int:
        """Up, gate, their product, and down again."""
        gate = self._from(times * width, normed)
        up = self._from(times * width, normed)
        both = self._from(times * width, gate, up)
        return self._from(times * self._shape.n_embd, both)

    def _experts(self, layer: LayerShape) -> None:
        sketch, embd, used = self._sketch, self._shape.n_embd, layer.experts_used
        normed = self._from(embd, self._x, uses=3 + 2 * (layer.shared_ff > 0))
        chances = self._from(layer.experts, normed, uses=2)
        biased = self._from(layer.experts, chances)
        order = self._from(layer.experts, biased, uses=2)
        weights = self._from(used, chances, uses=2)
        total = self._from(1, weights)
        weights = self._from(used, self._from(used, weights, total))
        spread = self._gated(layer.expert_ff, normed, used)
        sketch.read(order, order)
        sketch.read(weights)
        out = self._from(embd, spread)
        if layer.shared_ff:
            sketch.read(self._gated(layer.shared_ff, normed))
        sketch.read(self._x)
        self._x = sketch.into(out, 2)
