"""How many bytes a model takes, and where: weights, keys and values, compute buffers, outputs, drafter, scorer.

Everything follows from the header: no weight is looked at and nothing is allocated. Weights, keys and values are exact
(but for Intel's AMX, whose order of weights takes a thousandth more than the file), compute buffers within a thousandth
of llama.cpp's own figures on the CPU (tests compare); what a GPU's driver takes on top is in `RUNTIME`.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from laguna_engine.config import DRAFT_CONTEXT, KvType
from laguna_engine.draft.base import MAX_DRAFT
from laguna_engine.draft.dflash_graph import SPARE_ROWS, graphs_room
from laguna_engine.draft.dflash_kv import Ring, header_slots
from laguna_engine.fit.compute_buffer import Work, compute_size, inputs_size
from laguna_engine.fit.devices import DeviceFacts
from laguna_engine.fit.model_shape import LayerShape, ModelShape
from laguna_engine.gguf.drafter_header import DrafterHeader
from laguna_engine.gguf.formats import TENSOR_FORMATS

_F16, _F32 = 2, 4
_HOST_ONLY = "d2t"
_EMBEDDING, _TAP_NORM = "token_embd.weight", "enc.aux_norm"


@dataclass(frozen=True, slots=True)
class DrafterShape:
    """weights: bytes on the device. widths: of keys and values together, a layer of each kind: sliding, full.

    tap_norms: whether each tap is normed by itself. window: positions that sliding layers look back. vocabulary: tokens
    it chooses among.
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
        """From a checked header. vocabulary: the target's tokens."""
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
    """Bytes of keys and values; context: positions that its full layers look back."""
    sliding, full = _slots(shape, context)
    return _F16 * (sliding * shape.sliding_width + full * shape.full_width)


def features_size(shape: DrafterShape, ubatch: int) -> int:
    """Bytes of the hidden states that wait to be taken in."""
    return _F32 * shape.n_embd * shape.taps * (ubatch + SPARE_ROWS)


def graphs_size(shape: DrafterShape, ubatch: int, context: int = DRAFT_CONTEXT) -> int:
    """Bytes of intermediate results: what all graphs together may take."""
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
    """All of it."""
    parts = (ring_size(shape, context), features_size(shape, ubatch), graphs_size(shape, ubatch, context))
    return shape.weights + sum(parts)


def _slots(shape: DrafterShape, context: int) -> tuple[int, int]:
    """Of a sliding and of a full layer's ring."""
    header = header_slots(shape.block)
    return Ring(min(max(shape.window - 1, 0), context), header).slots, Ring(context, header).slots


HOST = "CPU"
ALL = -1
"""Layers on the GPU: every one, and the output matrix."""

VERIFY_OUTPUTS = MAX_DRAFT + 1
"""Rows of logits that a decode of a draft may have."""

RUNTIME = 256 << 20
"""What CUDA, Vulkan or Metal takes on a GPU while it computes: workspaces of its matrix products, captured graphs."""

_GRAIN = 256
"""llama.cpp rounds every cache to whole steps of this many cells."""

_HOST_OUTPUT_BYTES = 16
"""A token of the vocabulary a row: logits twice, probabilities and candidates (`output_reserve` with a graph hook)."""

_PIPELINE_COPIES = 4
"""Of a computation's inputs, when several GPUs work one after another (`GGML_SCHED_MAX_COPIES`)."""

_SCORER_WINDOW, _SCORER_TOKENS = 4096, 512
"""A scorer reads a prompt in windows, so it never holds more than one."""


@dataclass(frozen=True, slots=True)
class Load:
    """How a model would be opened, as far as it decides about memory.

    gpu_layers: from the last one down, ALL for every one; the output matrix counts as one more. home_experts: layers
    whose experts stay on the CPU all the same. split: shares of the layers for several GPUs, by their free memory if
    empty. outputs: most rows of logits in one decode. hooked: whether they pass the graph hook, as with any
    speculation. draft_context: positions that a drafter's full layers look back.
    """

    n_ctx: int
    kv: KvType
    n_ubatch: int = 512
    gpu_layers: int = ALL
    home_experts: tuple[int, ...] = ()
    split: tuple[float, ...] = ()
    outputs: int = VERIFY_OUTPUTS
    hooked: bool = True
    swa_full: bool = False
    draft_context: int = DRAFT_CONTEXT


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """Bytes on one device. runtime: what its driver takes on top; output: rows of logits for the host to read."""

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
        """All of it."""
        return self.weights + self.kv + self.compute + self.output + self.drafter + self.scorer + self.runtime


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """gpus: in the machine's order. host: the machine's own memory."""

    gpus: tuple[DeviceMemory, ...]
    host: DeviceMemory

    @property
    def devices(self) -> tuple[DeviceMemory, ...]:
        """GPUs first."""
        return (*self.gpus, self.host)

    @property
    def total(self) -> int:
        """On all devices together."""
        return sum(device.total for device in self.devices)

    def sum(self, part: str) -> int:
        """One part, such as "kv", on all devices."""
        return sum(getattr(device, part) for device in self.devices)


def cells(shape: ModelShape, load: Load) -> tuple[int, int]:
    """Positions a full and a sliding layer's cache holds (`llama_kv_cache_iswa`)."""
    full = _padded(load.n_ctx)
    return full, full if load.swa_full else _padded(min(full, shape.window + load.n_ubatch))


def window_size(shape: ModelShape, kv: KvType) -> int:
    """Bytes of keys and values that one position sees in sliding layers: what a checkpoint of them takes."""
    kind = TENSOR_FORMATS[kv.ggml]
    width = sum(layer.keys + layer.values for layer in shape.layers if layer.sliding)
    return shape.window * width // kind.block * kind.size


def kv_size(shape: ModelShape, load: Load, layers: Sequence[LayerShape]) -> int:
    """Bytes of keys and values of these layers."""
    full, sliding = cells(shape, load)
    kind = TENSOR_FORMATS[load.kv.ggml]
    return sum(
        (layer.keys + layer.values) * (sliding if layer.sliding else full) // kind.block * kind.size for layer in layers
    )


def kv_per_token(shape: ModelShape, kv: KvType) -> int:
    """Bytes that one more token of context costs: sliding layers cost the same at any length."""
    kind = TENSOR_FORMATS[kv.ggml]
    return sum((layer.keys + layer.values) // kind.block * kind.size for layer in shape.layers if not layer.sliding)


def memory_of(
    shape: ModelShape,
    load: Load,
    gpus: Sequence[DeviceFacts] = (),
    drafter: DrafterShape | None = None,
    scorer: ModelShape | None = None,
) -> MemoryUse:
    """Bytes on every device."""
    places = _places(shape, load, gpus)
    found = [_on_gpu(shape, load, gpu, index, places) for index, gpu in enumerate(gpus)] if load.gpu_layers else []
    host = _on_host(shape, load, places, alone=not found)
    # The drafter works where the logits are, the scorer wherever a whole model fits best: both on the last device.
    extra = replace(
        found[-1] if found else host,
        drafter=0 if drafter is None else drafter_size(drafter, load.n_ubatch, load.draft_context),
        scorer=0 if scorer is None else _scorer_size(scorer),
    )
    return MemoryUse((*found[:-1], extra), host) if found else MemoryUse((), extra)


def _places(shape: ModelShape, load: Load, gpus: Sequence[DeviceFacts]) -> list[int]:
    """For each layer, and at last the output matrix: its GPU's index, -1 for the CPU (`load_tensors`)."""
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
    moved = _at_home(shape, load, [place == index for place in places])
    weights = sum(layer.size + layer.experts_size for layer in mine) - moved
    weights += shape.output_size * (places[-1] == index)
    work = _work(shape, load, converted=gpu.copies_cache)
    compute = compute_size(shape, work)
    if len(set(places)) > 1 and -1 not in places and not load.home_experts:
        compute += (_PIPELINE_COPIES - 1) * inputs_size(shape, work)
    if moved or -1 in places:
        # Long prompts are computed on the GPU all the same: one of the matrices left at home at a time comes over.
        compute += max(_largest_matrix(layer) for layer in shape.layers)
    return DeviceMemory(gpu.name, weights, kv_size(shape, load, mine), compute, runtime=RUNTIME)


def _at_home(shape: ModelShape, load: Load, elsewhere: Sequence[bool]) -> int:
    """Bytes of experts that stay at home though their layer is `elsewhere`."""
    return sum(shape.layers[layer].experts_size for layer in load.home_experts if elsewhere[layer])


def _largest_matrix(layer: LayerShape) -> int:
    """Nearly half of a layer's experts: of three matrices one has more bits than the others."""
    return max(layer.experts_size // 2, layer.size // 3)


def _on_host(shape: ModelShape, load: Load, places: Sequence[int], *, alone: bool) -> DeviceMemory:
    mine = [layer for layer, place in zip(shape.layers, places, strict=False) if place < 0]
    moved = _at_home(shape, load, [place >= 0 for place in places])
    # A model that uses its embeddings as output matrix has them twice only on two devices.
    output = shape.output_size - (shape.embedding_size if shape.tied else 0) if places[-1] < 0 else 0
    weights = shape.embedding_size + output + moved + sum(layer.size + layer.experts_size for layer in mine)
    work = _work(shape, load, converted=False)
    compute = compute_size(shape, work) if alone or mine or moved else inputs_size(shape, work)
    return DeviceMemory(HOST, weights, kv_size(shape, load, mine), compute, _output_size(shape, load))


def _work(shape: ModelShape, load: Load, *, converted: bool) -> Work:
    full, sliding = cells(shape, load)
    tokens = min(load.n_ubatch, full)
    return Work(tokens, min(load.outputs, tokens), full, sliding, load.kv is not KvType.F16, converted)


def _output_size(shape: ModelShape, load: Load) -> int:
    return (_HOST_OUTPUT_BYTES * load.outputs if load.hooked else 4) * shape.n_vocab


def _scorer_size(shape: ModelShape) -> int:
    load = Load(_SCORER_WINDOW, KvType.F16, _SCORER_TOKENS, outputs=1)
    return shape.size + kv_size(shape, load, shape.layers) + compute_size(shape, _work(shape, load, converted=False))


def _padded(count: int) -> int:
    return -(-count // _GRAIN) * _GRAIN
