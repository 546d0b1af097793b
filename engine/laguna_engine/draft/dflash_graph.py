"""A drafter's two graphs: one drafts a block of tokens, the other takes in what the target has computed.

A block begins with the newest token and is masks from there on. KV injection turns the target's tapped hidden states
into keys and values of every drafter layer; they never leave the device. Spare rows go to a slot that no mask shows.

Graphs are built when they are first needed and cached while there is room: a few shapes serve all lengths. Every graph
has memory of its own. The room is enough for one answer, drawn or not: the largest graph that takes features in and all
of a round's. Another adapter, or attention that looks further back, needs others, and the graph that was used longest
ago makes room for a new one; building it again takes 1 to 3 ms.
"""

from collections import OrderedDict
from math import sqrt
from typing import NamedTuple

import numpy as np

from laguna_engine.draft.dflash_kv import KvMemory, Mask
from laguna_engine.draft.dflash_weights import MARKOV, TAP_NORMS, DrafterWeights, LayerBuilder
from laguna_engine.draft.heads import HEAD_NODES, HEAD_NODES_A_ROW, Proposals, build_heads
from laguna_engine.ggml.device import ComputeBackend
from laguna_engine.ggml.graph import Graph
from laguna_engine.ggml.tensor import Tensor, Type
from laguna_engine.ggml.weights import HostEmbedding
from laguna_engine.gguf.drafter_header import DrafterHeader

_NODES_A_LAYER = 80

_Kind = tuple[bool, bool]
"""Layers see the same if they agree in sliding or not, and in being causal inside the block or not."""


class BlockShape(NamedTuple):
    """What a draft graph is built for.

    rows: of the block. keys: memory slots that full layers look at. adapter: the one in place. top_k: candidates to
    return a token, 0 for none.
    """

    rows: int
    keys: int
    adapter: str | None
    top_k: int


class BlockGraph:
    """The graph for one shape."""

    def __init__(
        self,
        shape: BlockShape,
        drafter: DrafterHeader,
        weights: DrafterWeights,
        memory: KvMemory,
        embedding: HostEmbedding,
        backend: ComputeBackend,
    ) -> None:
        nodes = HEAD_NODES + HEAD_NODES_A_ROW * shape.rows + _NODES_A_LAYER * drafter.n_layer
        self._graph = Graph(backend, nodes)
        self._memory, self._embedding, self._shape = memory, embedding, shape
        self._masks: dict[_Kind, Mask] = {}
        try:
            self._proposals = self._build(LayerBuilder(self._graph, drafter, weights, shape.adapter, shape.rows))
            self._graph.finish()
            self._connect(drafter, chained=MARKOV in weights)
        except BaseException:
            self.close()
            raise

    def run(self, last: int, length: int) -> Proposals:
        """Draft what follows `last`, the token at position `length`; the arrays are valid until the next run."""
        self._embedding.fill([last], self._first.values)
        self._first.push()
        if self._newest is not None:
            self._newest.values[0] = last
            self._newest.push()
        np.add(self._steps, length, out=self._positions.values)
        self._positions.push()
        for mask, port in self._seen:
            mask.look(length)
            port.push()
        self._graph.compute()
        for output in self._outputs:
            output.pull()
        return self._proposals

    @property
    def nbytes(self) -> int:
        """Bytes of intermediate results and inputs on the device."""
        return self._graph.nbytes

    def close(self) -> None:
        """Free the graph; harmless when repeated."""
        self._graph.close()

    def _connect(self, drafter: DrafterHeader, *, chained: bool) -> None:
        """Write what never changes, and prepare what does. chained: a Markov head looks at the newest token."""
        graph, rows = self._graph, self._shape.rows
        graph.write("slots", np.arange(rows, dtype=np.int64))
        # Only the first row's embedding ever changes: every other one is a mask's.
        graph.write("embeddings", self._embedding.rows([drafter.mask_id] * rows))
        self._first = graph.port("embeddings", np.zeros((1, drafter.n_embd), np.float32))
        self._newest = graph.port("newest", np.zeros(1, np.int32)) if chained else None
        self._steps = np.arange(rows, dtype=np.int32)
        self._positions = graph.port("positions", self._steps.copy())
        self._seen = [(mask, graph.port(_mask_name(kind), mask.values)) for kind, mask in self._masks.items()]
        found = self._proposals
        arrays = {
            "tokens": found.tokens, "confidence": found.confidence, "best": found.best, "logits": found.logits
        }  # fmt: skip
        self._outputs = [graph.port(name, values) for name, values in arrays.items() if values is not None]

    def _build(self, builder: LayerBuilder) -> Proposals:
        graph, drafter, rows = self._graph, builder.drafter, self._shape.rows
        x = graph.input("embeddings", Type.F32, drafter.n_embd, rows)
        newest = graph.input("newest", Type.I32, 1)
        positions = graph.input("positions", Type.I32, rows)
        slots = graph.input("slots", Type.I64, rows)
        masks = {
            kind: self._mask_input(kind, drafter)
            for kind in sorted({*zip(drafter.sliding, drafter.causal, strict=True)})
        }
        for layer in range(drafter.n_layer):
            mask = masks[drafter.sliding[layer], drafter.causal[layer]]
            x = graph.add(x, self._attended(builder, layer, x, positions, slots, mask))
            x = graph.add(x, _fed_forward(builder, f"blk.{layer}.ffn_", x))
        return build_heads(builder, builder.norm(x, "output_norm.weight"), newest, self._shape.top_k)

    def _mask_input(self, kind: _Kind, drafter: DrafterHeader) -> Tensor:
        sliding, causal = kind
        ring, rows = self._memory.rings[sliding], self._shape.rows
        keys = ring.slots if sliding else self._shape.keys
        self._masks[kind] = Mask(ring, rows, keys, window=drafter.window if sliding else 0, causal=causal)
        return self._graph.input(_mask_name(kind), Type.F16, keys, rows)

    def _attended(
        self, builder: LayerBuilder, layer: int, x: Tensor, positions: Tensor, slots: Tensor, mask: Tensor
    ) -> Tensor:
        graph, drafter, prefix = self._graph, builder.drafter, f"blk.{layer}."
        head, heads, rows = drafter.head_size, drafter.heads[layer], self._shape.rows
        x = builder.norm(x, prefix + "attn_norm.weight")
        queries = builder.heads(prefix + "attn_q.weight", prefix + "attn_q_norm.weight", x, positions, heads)
        stored = builder.store(layer, x, positions, slots, self._memory)
        keys, values = (_by_head(graph, memory, head, mask.shape[0]) for memory in stored)
        found = graph.attention(graph.permute(queries, 0, 2, 1, 3), keys, values, mask, 1 / sqrt(head))
        if prefix + "attn_gate.weight" in builder.weights:
            gate = graph.softplus(builder.product(prefix + "attn_gate.weight", x))
            found = graph.mul(found, graph.reshape(gate, 1, heads, rows))
        return builder.product(prefix + "attn_output.weight", graph.reshape(found, head * heads, rows))


def _by_head(graph: Graph, memory: Tensor, head: int, keys: int) -> Tensor:
    """View [kv heads * head, slots] as [head, keys, kv heads], the first `keys` slots; nothing is copied."""
    slot, one = memory.strides[1], memory.type.row_bytes(head)
    return graph.view(memory, (head, keys, memory.shape[0] // head), (slot, one))


def _fed_forward(builder: LayerBuilder, prefix: str, x: Tensor) -> Tensor:
    x = builder.norm(x, prefix + "norm.weight")
    gate, up = builder.product(prefix + "gate.weight", x), builder.product(prefix + "up.weight", x)
    return builder.product(prefix + "down.weight", builder.graph.swiglu(gate, up))


def _mask_name(kind: _Kind) -> str:
    sliding, causal = kind
    return f"{'sliding' if sliding else 'full'} {'causal' if causal else 'open'} mask"


LARGEST_INJECTION = 512
"""Rows taken in at once; more only cost memory."""

SPARE_ROWS = 64
"""Positions whose features wait beside those of a micro-batch: some rounds need no drafter."""

LAST_LAYER_OUTPUTS = 64
"""Rows of the last layer computed at once while a prompt is read for a drafter that taps it: 64 take 77 MB of memory
for their logits at a vocabulary of 100,000."""

_INJECTION_NODES, _INJECTION_NODES_A_LAYER = 64, 48


class InjectionGraph:
    """The graph for `rows` positions at once."""

    def __init__(
        self,
        rows: int,
        drafter: DrafterHeader,
        weights: DrafterWeights,
        memory: KvMemory,
        features: Tensor,
        adapter: str | None,
        backend: ComputeBackend,
    ) -> None:
        self._memory = memory
        self._feature_rows = features.shape[1]
        self._graph = Graph(backend, _INJECTION_NODES + _INJECTION_NODES_A_LAYER * drafter.n_layer)
        builder = LayerBuilder(self._graph, drafter, weights, adapter, rows)
        try:
            self._build(builder, drafter, features)
            self._graph.finish()
        except BaseException:
            self.close()
            raise
        self._positions = self._graph.port("positions", np.zeros(rows, np.int32))
        self._wanted = self._graph.port("rows", np.zeros(rows, np.int32))
        self._slots = [
            (ring, self._graph.port(_slots(sliding), np.zeros(rows, np.int64)))
            for sliding, ring in memory.rings.items()
        ]

    def run(self, start: int, count: int) -> None:
        """Take in positions [start, start + count); count is at most `rows` and what every ring holds."""
        positions = np.arange(start, start + count, dtype=np.int32)
        self._positions.values[:count] = positions
        self._positions.push()
        np.remainder(positions, self._feature_rows, out=self._wanted.values[:count])
        self._wanted.push()
        for ring, port in self._slots:
            port.values[:count] = ring.place(positions)
            # Padding rows are written to positions that are never read.
            port.values[count:] = ring.header - 1
            port.push()
        self._graph.compute()

    @property
    def nbytes(self) -> int:
        """Bytes of intermediate results and inputs on the device."""
        return self._graph.nbytes

    def close(self) -> None:
        """Free the graph; harmless when repeated."""
        self._graph.close()

    def _build(self, builder: LayerBuilder, drafter: DrafterHeader, features: Tensor) -> None:
        graph, rows = self._graph, builder.n
        positions = graph.input("positions", Type.I32, rows)
        wanted = graph.input("rows", Type.I32, rows)
        slots = {sliding: graph.input(_slots(sliding), Type.I64, rows) for sliding in self._memory.rings}
        fused = _fused(builder, graph.get_rows(features, wanted))
        for layer in range(drafter.n_layer):
            x = builder.norm(fused, f"blk.{layer}.attn_norm.weight") if drafter.context_norm else fused
            builder.store(layer, x, positions, slots[drafter.sliding[layer]], self._memory)


def _fused(builder: LayerBuilder, features: Tensor) -> Tensor:
    """Fuse features [n_embd * taps, rows] -> [n_embd, rows]."""
    graph, drafter = builder.graph, builder.drafter
    if TAP_NORMS in builder.weights:
        taps = graph.reshape(features, drafter.n_embd, len(drafter.taps), builder.n)
        features = graph.reshape(builder.norm(taps, TAP_NORMS), drafter.n_embd * len(drafter.taps), builder.n)
    return builder.norm(builder.product("fc.weight", features), "enc.output_norm.weight")


def _slots(sliding: bool) -> str:
    return "sliding slots" if sliding else "full slots"


_F32, _F16 = 4, 2

_INPUTS, _STATES = 32, 4
"""Bytes of positions and slots a row; vectors of the width of `n_embd` that exist at the same time."""

_Key = BlockShape | tuple[int, str | None]


def injection_size(rows: int, n_embd: int, taps: int, *, tap_norms: bool) -> int:
    """Return the bytes of a graph that injects `rows` positions: their features, and what is computed of them next."""
    return rows * (_F32 * n_embd * (taps + (taps if tap_norms else 1)) + _INPUTS)


def block_size(rows: int, n_embd: int, vocabulary: int, slots: int) -> int:
    """Return the bytes of a graph that drafts: logits of `rows`, a few states, and masks over `slots` of all rings."""
    return rows * (_F32 * (vocabulary + _STATES * n_embd) + _F16 * slots)


def graphs_room(
    n_embd: int, taps: int, feature_rows: int, block: int, vocabulary: int, slots: int, *, tap_norms: bool
) -> int:
    """Return the bytes that all graphs together may take.

    feature_rows: positions whose features are held. slots: of a sliding and of a full layer's ring together. Graphs
    that draft exist for 1, 2, 4 … rows, so together for twice as many as the largest, once more when answers are drawn.
    """
    taken = power_of_two(min(LARGEST_INJECTION, feature_rows)) + SPARE_ROWS
    drafted = 2 * 2 * power_of_two(block)
    return injection_size(taken, n_embd, taps, tap_norms=tap_norms) + block_size(drafted, n_embd, vocabulary, slots)


class GraphCache:
    """The graphs over one set of weights and one memory, within `graphs_room`."""

    def __init__(
        self,
        drafter: DrafterHeader,
        weights: DrafterWeights,
        memory: KvMemory,
        features: Tensor,
        embedding: HostEmbedding,
        backend: ComputeBackend,
    ) -> None:
        self._drafter, self._weights, self._memory = drafter, weights, memory
        self._features, self._embedding, self._backend = features, embedding, backend
        self._limit = graphs_room(
            drafter.n_embd,
            len(drafter.taps),
            features.shape[1],
            drafter.block,
            weights.head.shape[1],
            self._slots,
            tap_norms=TAP_NORMS in weights,
        )
        # The one that was used longest ago comes first.
        self._kept: OrderedDict[_Key, InjectionGraph | BlockGraph] = OrderedDict()

    @property
    def nbytes(self) -> int:
        """Bytes of all cached graphs."""
        return sum(graph.nbytes for graph in self._kept.values())

    def injection(self, count: int, adapter: str | None) -> InjectionGraph:
        """Return the graph that injects `count` positions or a few more; usable until the next call."""
        key = (power_of_two(count), adapter)
        found = self._used(key)
        if not isinstance(found, InjectionGraph):
            drafter = self._drafter
            tap_norms = TAP_NORMS in self._weights
            self._make_room(injection_size(key[0], drafter.n_embd, len(drafter.taps), tap_norms=tap_norms))
            found = InjectionGraph(key[0], drafter, self._weights, self._memory, self._features, adapter, self._backend)
            self._keep(key, found)
        return found

    def block(self, shape: BlockShape) -> BlockGraph:
        """Return the graph that drafts; usable until the next call."""
        found = self._used(shape)
        if not isinstance(found, BlockGraph):
            self._make_room(block_size(shape.rows, self._drafter.n_embd, self._weights.head.shape[1], self._slots))
            found = BlockGraph(shape, self._drafter, self._weights, self._memory, self._embedding, self._backend)
            self._keep(shape, found)
        return found

    def close(self) -> None:
        """Free them; harmless when repeated."""
        for graph in self._kept.values():
            graph.close()
        self._kept.clear()

    @property
    def _slots(self) -> int:
        return sum(ring.slots for ring in self._memory.rings.values())

    def _used(self, key: _Key) -> InjectionGraph | BlockGraph | None:
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def _keep(self, key: _Key, graph: InjectionGraph | BlockGraph) -> None:
        self._kept[key] = graph
        self._make_room(0)

    def _make_room(self, needed: int) -> None:
        """Free what was used longest ago until `needed` bytes are left; the newest stays when nothing is needed."""
        least = 0 if needed else 1
        while len(self._kept) > least and self.nbytes + needed > self._limit:
            self._kept.popitem(last=False)[1].close()


def power_of_two(count: int) -> int:
    return 1 << (count - 1).bit_length()
