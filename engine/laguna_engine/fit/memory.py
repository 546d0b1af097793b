"""Estimates a model's memory use by device: weights, KV cache, compute buffers, outputs, drafter, scorer.

Computed from the header alone: no weight is read and nothing is allocated. Weights and KV cache are exact (except with
Intel's AMX, whose weight layout takes a thousandth more than the file), compute buffers are at most 32 MiB larger
than llama.cpp's own figures on the CPU, and never smaller (tests compare). A GPU driver's overhead is `RUNTIME`.

A compute buffer holds the intermediate results of llama.cpp's graph for one micro-batch: what is alive at the largest
operation of a layer or of the output (`src/models/laguna.cpp`, and `build_attn` and `build_moe_ffn` of
`src/llama-graph.cpp`), with a margin for what ggml's allocator cannot reuse. Other architectures are close enough.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate

from laguna_engine.config import DRAFT_CONTEXT, KvType
from laguna_engine.draft.base import MAX_DRAFT
from laguna_engine.draft.dflash_graph import SPARE_ROWS, graphs_room
from laguna_engine.draft.dflash_kv import Ring, header_slots
from laguna_engine.fit.devices import DeviceFacts
from laguna_engine.fit.model_shape import LayerShape, ModelShape
from laguna_engine.gguf.drafter_header import DrafterHeader
from laguna_engine.gguf.formats import TENSOR_FORMATS

_F32, _F16, _INDEX = 4, 2, 8
_HOST_ONLY = "d2t"
_EMBEDDING, _TAP_NORM = "token_embd.weight", "enc.aux_norm"
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
        states: recurrent states that are computed: one for every token that can be taken back, and one more.
    """

    tokens: int
    outputs: int
    cells: int
    sliding_cells: int
    quantized: bool
    converted: bool = False
    states: int = 1

    def cells_of(self, sliding: bool) -> int:
        return self.sliding_cells if sliding else self.cells


def inputs_size(shape: ModelShape, work: Work) -> int:
    """Return the bytes of the graph inputs, mostly masks; they are allocated on the host and on each device."""
    return _masks_size(shape, work) + _ids_size(shape, work)


@cache
def compute_size(shape: ModelShape, work: Work) -> int:
    """Return the bytes of the compute buffer on a device that computes every layer, at most."""
    layers = max(_layer_size(shape, layer, work) for layer in set(shape.layers))
    # The masks are free again when the logits are computed, but one kind's rotations may lie where nothing else fits.
    rotations = sum(_F32 * width * width for width in _rotations(shape, work))
    logits = _F32 * work.outputs * (shape.n_vocab + 3 * shape.n_embd)
    largest = max(_masks_size(shape, work) + layers, logits + rotations)
    return _ids_size(shape, work) + largest


def _ids_size(shape: ModelShape, work: Work) -> int:
    """Return the bytes of the inputs that exist once: tokens, their embeddings and positions, the rows with outputs."""
    return _F32 * ((2 + shape.n_embd) * work.tokens + work.outputs)


def _masks_size(shape: ModelShape, work: Work) -> int:
    """Return the bytes of the inputs per kind of layer: the mask, cell indices of keys and of values, rotations."""
    kinds = {layer.sliding for layer in shape.layers}
    rotations = sum(_F32 * width * width for width in _rotations(shape, work))
    return sum(rotations + (2 * _INDEX + _F16 * work.cells_of(sliding)) * work.tokens for sliding in kinds)


def _rotations(shape: ModelShape, work: Work) -> list[int]:
    """Return the widths of the matrices that rotate keys and values before quantization; none for other heads."""
    if not work.quantized or shape.head % _ROTATION:
        return []
    return [shape.head & -shape.head, _ROTATION]


def _layer_size(shape: ModelShape, layer: LayerShape, work: Work) -> int:
    """Return the bytes alive at once in a layer: the residual, its norm, and the values of the largest part."""
    embd = shape.n_embd
    values = 2 * layer.values if _rotations(shape, work) else layer.values
    copied = work.cells_of(layer.sliding) if work.converted and work.quantized else 0
    copies = _F16 * copied * (layer.keys + layer.values)
    projected = max(2 * layer.queries, layer.queries + 2 * layer.keys + values)
    if layer.state:
        # What goes through the convolution, before it and after it, and its three parts.
        projected = max(projected, 4 * layer.queries)
    # Gate, up and their product leave holes that are too small for what comes down.
    routed = layer.experts + layer.experts_used * (3 * layer.expert_ff + embd + 1)
    shared = embd + 3 * layer.shared_ff
    rows = _F32 * work.tokens
    computed = rows * (_MARGIN * embd + max(projected, 3 * layer.ff, routed, shared))
    # A layer's share is of all layers, and about three quarters of them have a state.
    computed += 2 * work.states * layer.state
    return 2 * rows * embd + max(computed, rows * (embd + 2 * layer.queries) + copies)


@dataclass(frozen=True, slots=True)
class DrafterShape:
    """The sizes of a drafter that determine its memory.

    Attributes:
        n_embd: width of its hidden states.
        taps: target layers it reads.
        tap_norms: whether each tap has a norm of its own.
        block: tokens of a draft block.
        window: positions that sliding-window layers look back.
        sliding_width: keys and values of all sliding-window layers, in numbers per token.
        full_width: keys and values of all full-attention layers, in numbers per token.
        vocabulary: tokens it drafts from.
        weights: bytes on the device.
    """

    n_embd: int
    taps: int
    tap_norms: bool
    block: int
    window: int
    sliding_width: int
    full_width: int
    vocabulary: int
    weights: int

    @classmethod
    def of(cls, drafter: DrafterHeader, vocabulary: int) -> "DrafterShape":
        """Create from a checked header; `vocabulary` is the target's number of tokens."""
        tensors = drafter.tensors
        host = {_HOST_ONLY} | ({_EMBEDDING} - {drafter.own_head or ""})
        layers = list(zip(drafter.kv_heads, drafter.sliding, strict=True))
        head = tensors.get(drafter.own_head or "")
        mapped = _F32 * tensors[_HOST_ONLY].shape[0] if _HOST_ONLY in tensors else 0
        return cls(
            n_embd=drafter.n_embd,
            taps=len(drafter.taps),
            tap_norms=any(name.startswith(_TAP_NORM) for name in tensors),
            block=drafter.block,
            window=drafter.window,
            sliding_width=sum(2 * heads * drafter.head_size for heads, sliding in layers if sliding),
            full_width=sum(2 * heads * drafter.head_size for heads, sliding in layers if not sliding),
            vocabulary=head.shape[1] if head is not None else vocabulary,
            weights=sum(info.size for name, info in tensors.items() if name not in host) + mapped,
        )


def ring_size(shape: DrafterShape, context: int) -> int:
    """Return the bytes of keys and values; full-attention layers look back `context` positions."""
    sliding, full = _slots(shape, context)
    return _F16 * (sliding * shape.sliding_width + full * shape.full_width)


def features_size(shape: DrafterShape, ubatch: int) -> int:
    """Return the bytes of the feature buffer: hidden states not yet injected."""
    return _F32 * shape.n_embd * shape.taps * (ubatch + SPARE_ROWS)


def graphs_size(shape: DrafterShape, ubatch: int, context: int = DRAFT_CONTEXT) -> int:
    """Return the bytes of intermediate results of all graphs together, at most."""
    sliding, full = _slots(shape, context)
    return graphs_room(
        shape.n_embd,
        shape.taps,
        ubatch + SPARE_ROWS,
        shape.block,
        shape.vocabulary,
        (sliding if shape.sliding_width else 0) + (full if shape.full_width else 0),
        tap_norms=shape.tap_norms,
    )


def drafter_size(shape: DrafterShape, ubatch: int, context: int = DRAFT_CONTEXT) -> int:
    parts = (ring_size(shape, context), features_size(shape, ubatch), graphs_size(shape, ubatch, context))
    return shape.weights + sum(parts)


def _slots(shape: DrafterShape, context: int) -> tuple[int, int]:
    header = header_slots(shape.block)
    return Ring(min(max(shape.window - 1, 0), context), header).slots, Ring(context, header).slots


HOST = "CPU"
ALL = -1
"""Value of `gpu_layers`: every layer and the output matrix."""

VERIFY_OUTPUTS = MAX_DRAFT + 1
"""Rows of logits of a batch that verifies a draft, at most."""

RUNTIME = 256 << 20
"""Bytes that CUDA, Vulkan or Metal takes on a GPU at run time: matrix product workspaces, captured graphs."""

ROLLBACK_BYTES = 512 << 20
"""Most memory of the recurrent states that rejected drafts go back to: those of Qwen3.5 take 50 MiB each."""

_GRAIN = 256
"""llama.cpp rounds every KV cache up to a multiple of this many cells."""

_HOST_OUTPUT_BYTES = 16
"""Per row and token of the vocabulary: logits twice, probabilities, candidates (`output_reserve` with a graph hook)."""

_PIPELINE_COPIES = 4
"""Copies of the graph inputs when several GPUs are pipelined (`GGML_SCHED_MAX_COPIES`)."""


@dataclass(frozen=True, slots=True)
class Load:
    """How a model is opened: the options that determine its memory.

    Attributes:
        n_ctx: tokens of context.
        kv: type of the KV cache.
        n_ubatch: tokens of a micro-batch.
        gpu_layers: layers on the GPU, from the last one down, ALL for every one; the output matrix counts as one more.
        experts_in_ram: layers on the GPU whose experts stay in RAM.
        split: share of the layers for each of several GPUs; by their free memory if empty.
        outputs: most rows of logits of one decode.
        hooked: whether the graph hook is installed, as with any speculation.
        swa_full: whether sliding-window layers have full-length caches.
        draft_context: positions that a drafter's full-attention layers look back.
    """

    n_ctx: int
    kv: KvType
    n_ubatch: int = 512
    gpu_layers: int = ALL
    experts_in_ram: tuple[int, ...] = ()
    split: tuple[float, ...] = ()
    outputs: int = VERIFY_OUTPUTS
    hooked: bool = True
    swa_full: bool = False
    draft_context: int = DRAFT_CONTEXT


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """Bytes on one device.

    Attributes:
        name: ggml's name of the device.
        weights: the target's weights.
        kv: the KV cache.
        compute: the compute buffer.
        output: rows of logits in host memory.
        drafter: the drafter.
        scorer: the prompt scorer.
        runtime: overhead of the driver.
    """

    name: str
    weights: int = 0
    kv: int = 0
    compute: int = 0
    output: int = 0
    drafter: int = 0
    scorer: int = 0
    runtime: int = 0

    @property
    def total(self) -> int:
        """Sum of all parts."""
        return self.weights + self.kv + self.compute + self.output + self.drafter + self.scorer + self.runtime


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Memory use of all devices.

    Attributes:
        gpus: in the machine's order.
        host: RAM.
    """

    gpus: tuple[DeviceMemory, ...]
    host: DeviceMemory

    @property
    def devices(self) -> tuple[DeviceMemory, ...]:
        """All devices, GPUs first."""
        return (*self.gpus, self.host)

    @property
    def total(self) -> int:
        """Bytes on all devices."""
        return sum(device.total for device in self.devices)

    def with_scorer(self, name: str, size: int) -> "MemoryUse":
        gpus = tuple(replace(gpu, scorer=size) if gpu.name == name else gpu for gpu in self.gpus)
        return MemoryUse(gpus, replace(self.host, scorer=size) if self.host.name == name else self.host)

    def sum(self, part: str) -> int:
        """Return the bytes of one part, such as "kv", on all devices."""
        return sum(getattr(device, part) for device in self.devices)


def cells(shape: ModelShape, load: Load) -> tuple[int, int]:
    """Return the KV cells of a full-attention and of a sliding-window layer (`llama_kv_cache_iswa`)."""
    full = _padded(load.n_ctx)
    return full, full if load.swa_full else _padded(min(full, shape.window + load.n_ubatch))


def window_size(shape: ModelShape, kv: KvType) -> int:
    """Return the bytes of keys and values in the sliding window and of the recurrent state: a checkpoint's size."""
    kind = TENSOR_FORMATS[kv.ggml]
    width = sum(layer.keys + layer.values for layer in shape.layers if layer.sliding)
    return shape.window * width // kind.block * kind.size + shape.state


def rollback(shape: ModelShape) -> int:
    """Return how many tokens of a draft a recurrent state should be able to go back by: the longest draft."""
    return min(MAX_DRAFT, ROLLBACK_BYTES // shape.state) if shape.rolls_back and shape.state else 0


def kv_size(shape: ModelShape, load: Load, layers: Sequence[LayerShape]) -> int:
    """Return the bytes of keys and values of `layers`, and of their recurrent states."""
    full, sliding = cells(shape, load)
    kind = TENSOR_FORMATS[load.kv.ggml]
    cached = sum(
        (layer.keys + layer.values) * (sliding if layer.sliding else full) // kind.block * kind.size for layer in layers
    )
    return cached + _states(shape, load) * sum(layer.state for layer in layers)


def _states(shape: ModelShape, load: Load) -> int:
    """Return how many recurrent states are held: one for every token that can be taken back, and one more."""
    return 1 + (rollback(shape) if load.hooked else 0)


def kv_per_token(shape: ModelShape, kv: KvType) -> int:
    """Return the bytes per token of context; sliding-window layers cost the same at any length."""
    kind = TENSOR_FORMATS[kv.ggml]
    return sum((layer.keys + layer.values) // kind.block * kind.size for layer in shape.layers if not layer.sliding)


def memory_of(
    shape: ModelShape,
    load: Load,
    gpus: Sequence[DeviceFacts] = (),
    drafter: DrafterShape | None = None,
) -> MemoryUse:
    """Return the memory use of a model opened by `load`; with `gpu_layers` 0, `gpus` is ignored."""
    places = _layer_devices(shape, load, gpus)
    found = [_on_gpu(shape, load, gpu, index, places) for index, gpu in enumerate(gpus)] if load.gpu_layers else []
    host = _on_host(shape, load, places, alone=not found)
    # The drafter runs where the logits are: on the last device.
    size = 0 if drafter is None else drafter_size(drafter, load.n_ubatch, load.draft_context)
    extra = replace(found[-1] if found else host, drafter=size)
    return MemoryUse((*found[:-1], extra), host) if found else MemoryUse((), extra)


def _layer_devices(shape: ModelShape, load: Load, gpus: Sequence[DeviceFacts]) -> list[int]:
    """Return the GPU index of each layer, then of the output matrix; -1 for the CPU (`load_tensors`)."""
    count = len(shape.layers) + 1
    offloaded = count if load.gpu_layers == ALL else min(load.gpu_layers, count)
    if not gpus or not offloaded:
        return [-1] * count
    shares = list(accumulate(load.split or [gpu.free for gpu in gpus]))
    borders = [part / shares[-1] if shares[-1] else 1.0 for part in shares]
    first = count - offloaded
    spread = [min(bisect_right(borders, index / offloaded), len(gpus) - 1) for index in range(offloaded)]
    return [-1] * first + spread


def _on_gpu(shape: ModelShape, load: Load, gpu: DeviceFacts, index: int, places: Sequence[int]) -> DeviceMemory:
    mine = [layer for layer, place in zip(shape.layers, places, strict=False) if place == index]
    if not mine and places[-1] != index:
        return DeviceMemory(gpu.name)
    moved = _experts_in_ram(shape, load, [place == index for place in places])
    weights = sum(layer.size + layer.experts_size for layer in mine) - moved
    weights += shape.output_size * (places[-1] == index)
    work = _work(shape, load, converted=gpu.copies_cache)
    compute = compute_size(shape, work)
    if len(set(places)) > 1 and -1 not in places and not load.experts_in_ram:
        compute += (_PIPELINE_COPIES - 1) * inputs_size(shape, work)
    if moved or -1 in places:
        # Prefill still runs on the GPU: the matrices in RAM are copied over one at a time.
        compute += max(_largest_matrix(layer) for layer in shape.layers)
    return DeviceMemory(gpu.name, weights, kv_size(shape, load, mine), compute, runtime=RUNTIME)


def _experts_in_ram(shape: ModelShape, load: Load, elsewhere: Sequence[bool]) -> int:
    """Return the bytes of experts in RAM whose layer is `elsewhere`."""
    return sum(shape.layers[layer].experts_size for layer in load.experts_in_ram if elsewhere[layer])


def _largest_matrix(layer: LayerShape) -> int:
    """Return an upper bound of a layer's largest matrix: nearly half of its experts, as one of three has more bits."""
    return max(layer.experts_size // 2, layer.size // 3)


def _on_host(shape: ModelShape, load: Load, places: Sequence[int], *, alone: bool) -> DeviceMemory:
    mine = [layer for layer, place in zip(shape.layers, places, strict=False) if place < 0]
    moved = _experts_in_ram(shape, load, [place >= 0 for place in places])
    # Tied embeddings are held twice only on two devices.
    output = shape.output_size - (shape.embedding_size if shape.tied else 0) if places[-1] < 0 else 0
    weights = shape.embedding_size + output + moved + sum(layer.size + layer.experts_size for layer in mine)
    work = _work(shape, load, converted=False)
    compute = compute_size(shape, work) if alone or mine or moved else inputs_size(shape, work)
    return DeviceMemory(HOST, weights, kv_size(shape, load, mine), compute, _output_size(shape, load))


def _work(shape: ModelShape, load: Load, *, converted: bool) -> Work:
    full, sliding = cells(shape, load)
    tokens = min(load.n_ubatch, full)
    quantized = load.kv is not KvType.F16
    return Work(tokens, min(load.outputs, tokens), full, sliding, quantized, converted, _states(shape, load))


def _output_size(shape: ModelShape, load: Load) -> int:
    return (_HOST_OUTPUT_BYTES * load.outputs if load.hooked else 4) * shape.n_vocab


def _padded(count: int) -> int:
    return -(-count // _GRAIN) * _GRAIN
