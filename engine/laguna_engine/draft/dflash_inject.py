"""Taking in what the target has computed: its tapped hidden states become keys and values of every drafter layer.

The features never leave the device. Graphs are built for a few row counts; spare rows go to a slot nobody looks at.
"""

import numpy as np

from laguna_engine.draft.dflash_graph import Builder, Memory
from laguna_engine.draft.dflash_weights import TAP_NORMS, DrafterWeights
from laguna_engine.ggml.device import Backend
from laguna_engine.ggml.graph import Graph
from laguna_engine.ggml.tensor import Tensor
from laguna_engine.ggml.types import Type
from laguna_engine.gguf.drafter import DrafterHeader

LARGEST = 512
"""Rows taken in at once; more only cost memory."""

SPARE_ROWS = 64
"""Positions whose features wait beside those of a micro-batch: some rounds need no drafter."""

LAST_LAYER_OUTPUTS = 64
"""Rows of the last layer computed at once while a prompt is read for a drafter that taps it: 64 take 77 MB of memory
for their logits at a vocabulary of 100,000."""

_NODES, _NODES_A_LAYER = 64, 48


class Injection:
    """The graph for `rows` positions at once."""

    def __init__(
        self,
        rows: int,
        drafter: DrafterHeader,
        weights: DrafterWeights,
        memory: Memory,
        features: Tensor,
        adapter: str | None,
        backend: Backend,
    ) -> None:
        self._memory = memory
        self._feature_rows = features.shape[1]
        self._graph = Graph(backend, _NODES + _NODES_A_LAYER * drafter.n_layer)
        builder = Builder(self._graph, drafter, weights, adapter, rows)
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
            # What fills the graph up goes where nobody looks.
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

    def _build(self, builder: Builder, drafter: DrafterHeader, features: Tensor) -> None:
        graph, rows = self._graph, builder.n
        positions = graph.input("positions", Type.I32, rows)
        wanted = graph.input("rows", Type.I32, rows)
        slots = {sliding: graph.input(_slots(sliding), Type.I64, rows) for sliding in self._memory.rings}
        fused = _fused(builder, graph.get_rows(features, wanted))
        for layer in range(drafter.n_layer):
            x = builder.norm(fused, f"blk.{layer}.attn_norm.weight") if drafter.context_norm else fused
            builder.remember(layer, x, positions, slots[drafter.sliding[layer]], self._memory)


def _fused(builder: Builder, features: Tensor) -> Tensor:
    """[n_embd * taps, rows] -> [n_embd, rows]."""
    graph, drafter = builder.graph, builder.drafter
    if TAP_NORMS in builder.weights:
        taps = graph.reshape(features, drafter.n_embd, len(drafter.taps), builder.n)
        features = graph.reshape(builder.norm(taps, TAP_NORMS), drafter.n_embd * len(drafter.taps), builder.n)
    return builder.norm(builder.product("fc.weight", features), "enc.output_norm.weight")


def _slots(sliding: bool) -> str:
    return "sliding slots" if sliding else "full slots"
