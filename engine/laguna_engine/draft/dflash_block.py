"""Drafting: one pass over a block that begins with the newest token and is masks from there on."""

from math import sqrt
from typing import NamedTuple

import numpy as np

from laguna_engine.draft.dflash_graph import Builder, Memory
from laguna_engine.draft.dflash_heads import HEAD_NODES, HEAD_NODES_A_ROW, Proposals, Readout, build_heads
from laguna_engine.draft.dflash_ring import Mask
from laguna_engine.draft.dflash_weights import DrafterWeights
from laguna_engine.ggml.device import Backend
from laguna_engine.ggml.graph import Graph
from laguna_engine.ggml.rows import HostRows
from laguna_engine.ggml.tensor import Tensor
from laguna_engine.ggml.types import Type
from laguna_engine.gguf.drafter import DrafterHeader

_NODES_A_LAYER = 80

_Kind = tuple[bool, bool]
"""Layers see the same if they agree in sliding or not, and in being causal inside the block or not."""


class Shape(NamedTuple):
    """What a draft graph is built for.

    rows: of the block. keys: memory slots that full layers look at. adapter: the one in place. top_k: candidates to
    return a token, 0 for none.
    """

    rows: int
    keys: int
    adapter: str | None
    top_k: int


class Block:
    """The graph for one shape."""

    def __init__(
        self,
        shape: Shape,
        drafter: DrafterHeader,
        weights: DrafterWeights,
        memory: Memory,
        embedding: HostRows,
        backend: Backend,
    ) -> None:
        nodes = HEAD_NODES + HEAD_NODES_A_ROW * shape.rows + _NODES_A_LAYER * drafter.n_layer
        self._graph = Graph(backend, nodes)
        self._memory, self._embedding, self._shape = memory, embedding, shape
        self._masks: dict[_Kind, Mask] = {}
        try:
            readout = self._build(Builder(self._graph, drafter, weights, shape.adapter, shape.rows))
            self._graph.finish()
            self._connect(drafter, readout)
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
        return self._readout.read()

    @property
    def nbytes(self) -> int:
        """Bytes of intermediate results and inputs on the device."""
        return self._graph.nbytes

    def close(self) -> None:
        """Free the graph; harmless when repeated."""
        self._graph.close()

    def _connect(self, drafter: DrafterHeader, readout: Readout) -> None:
        """Write what never changes, and prepare what does."""
        graph, rows = self._graph, self._shape.rows
        graph.write("slots", np.arange(rows, dtype=np.int64))
        # Only the first row's embedding ever changes: every other one is a mask's.
        graph.write("embeddings", self._embedding.rows([drafter.mask_id] * rows))
        self._first = graph.port("embeddings", np.zeros((1, drafter.n_embd), np.float32))
        self._newest = graph.port("newest", np.zeros(1, np.int32)) if readout.chained else None
        self._steps = np.arange(rows, dtype=np.int32)
        self._positions = graph.port("positions", self._steps.copy())
        self._seen = [(mask, graph.port(_mask_name(kind), mask.values)) for kind, mask in self._masks.items()]
        self._readout = readout
        readout.connect(graph)

    def _build(self, builder: Builder) -> Readout:
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
        self, builder: Builder, layer: int, x: Tensor, positions: Tensor, slots: Tensor, mask: Tensor
    ) -> Tensor:
        graph, drafter, prefix = self._graph, builder.drafter, f"blk.{layer}."
        head, heads, rows = drafter.head_size, drafter.heads[layer], self._shape.rows
        x = builder.norm(x, prefix + "attn_norm.weight")
        queries = builder.heads(prefix + "attn_q.weight", prefix + "attn_q_norm.weight", x, positions, heads)
        stored = builder.remember(layer, x, positions, slots, self._memory)
        keys, values = (_by_head(graph, memory, head, mask.shape[0]) for memory in stored)
        found = graph.flash_attention(graph.permute(queries, 0, 2, 1, 3), keys, values, mask, 1 / sqrt(head))
        if prefix + "attn_gate.weight" in builder.weights:
            gate = graph.softplus(builder.product(prefix + "attn_gate.weight", x))
            found = graph.mul(found, graph.reshape(gate, 1, heads, rows))
        return builder.product(prefix + "attn_output.weight", graph.reshape(found, head * heads, rows))


def _by_head(graph: Graph, memory: Tensor, head: int, keys: int) -> Tensor:
    """[kv heads * head, slots] -> the first `keys` slots as [head, keys, kv heads], nothing copied."""
    slot, one = memory.strides[1], memory.type.row_bytes(head)
    return graph.view(memory, (head, keys, memory.shape[0] // head), (slot, one))


def _fed_forward(builder: Builder, prefix: str, x: Tensor) -> Tensor:
    x = builder.norm(x, prefix + "norm.weight")
    gate, up = builder.product(prefix + "gate.weight", x), builder.product(prefix + "up.weight", x)
    return builder.product(prefix + "down.weight", builder.graph.swiglu(gate, up))


def _mask_name(kind: _Kind) -> str:
    sliding, causal = kind
    return f"{'sliding' if sliding else 'full'} {'causal' if causal else 'open'} mask"
