"""Drafting: one pass over a block that begins with the newest token and is masks from there on."""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from laguna_engine.draft.dflash_graph import Builder, Memory
from laguna_engine.draft.dflash_heads import HEAD_NODES, HEAD_NODES_A_ROW, Proposals, build_heads, read_proposals
from laguna_engine.draft.dflash_ring import Mask
from laguna_engine.draft.dflash_weights import MARKOV, DrafterWeights
from laguna_engine.ggml.device import Backend
from laguna_engine.ggml.graph import Graph
from laguna_engine.ggml.rows import HostRows
from laguna_engine.ggml.tensor import Tensor
from laguna_engine.ggml.types import Type
from laguna_engine.gguf.drafter import DrafterHeader

_NODES_A_LAYER = 80

_Kind = tuple[bool, bool]
"""Layers see the same if they agree in sliding or not, and in being causal inside the block or not."""


@dataclass(frozen=True, slots=True)
class Shape:
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
        self._newest = np.zeros((1, drafter.n_embd), np.float32)
        self._steps = np.arange(shape.rows, dtype=np.int32)
        self._chained, self._confident = MARKOV in weights, "conf_proj.weight" in weights
        try:
            self._build(Builder(self._graph, drafter, weights, shape.adapter, shape.rows))
            self._graph.finish()
            self._graph.write("slots", np.arange(shape.rows, dtype=np.int64))
            self._graph.write("embeddings", embedding.rows([drafter.mask_id] * shape.rows))
        except BaseException:
            self.close()
            raise

    def run(self, last: int, length: int) -> Proposals:
        """Draft what follows `last`, the token at position `length`."""
        graph = self._graph
        # Every other row is a mask and stays what it is.
        self._embedding.fill([last], self._newest)
        graph.write("embeddings", self._newest)
        if self._chained:
            graph.write("newest", np.array([last], np.int32))
        graph.write("positions", self._steps + np.int32(length))
        for kind, mask in self._masks.items():
            graph.write(_mask_name(kind), mask.at(length))
        graph.compute()
        return read_proposals(graph, confident=self._confident, sampled=self._shape.top_k > 0)

    def close(self) -> None:
        """Free the graph; harmless when repeated."""
        self._graph.close()

    def _build(self, builder: Builder) -> None:
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
        build_heads(builder, builder.norm(x, "output_norm.weight"), newest, self._shape.top_k)

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
