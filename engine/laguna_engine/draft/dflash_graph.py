"""What the drafter's two graphs have in common: products, norms, and the K/V memory they share.

Source of the forward pass: `src/models/dflash.cpp` of llama.cpp and poolside's serving code.
"""

from collections.abc import Mapping

from laguna_engine.draft.dflash_ring import Ring
from laguna_engine.draft.dflash_weights import DrafterWeights
from laguna_engine.ggml.device import Backend
from laguna_engine.ggml.graph import Graph
from laguna_engine.ggml.store import Store
from laguna_engine.ggml.tensor import Tensor
from laguna_engine.ggml.types import Type
from laguna_engine.gguf.drafter import DrafterHeader


class Memory:
    """Keys and values of every layer. rings: by whether the layers slide."""

    def __init__(self, drafter: DrafterHeader, rings: Mapping[bool, Ring], backend: Backend, kind: Type) -> None:
        shapes: dict[str, tuple[Type, tuple[int, ...]]] = {}
        for layer, kv_heads in enumerate(drafter.kv_heads):
            shape = (kv_heads * drafter.head_size, rings[drafter.sliding[layer]].slots)
            shapes |= {f"k{layer}": (kind, shape), f"v{layer}": (kind, shape)}
        self.rings = rings
        self._store = Store(backend, shapes)

    def keys(self, layer: int) -> Tensor:
        """[kv heads * head, slots]."""
        return self._store[f"k{layer}"]

    def values(self, layer: int) -> Tensor:
        """[kv heads * head, slots]."""
        return self._store[f"v{layer}"]

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return self._store.nbytes

    def clear(self) -> None:
        """Forget every position, and what lay there: what is not a number would show through any mask."""
        for ring in self.rings.values():
            ring.clear()
        self._store.clear()

    def close(self) -> None:
        """Free it; harmless when repeated."""
        self._store.close()


class Builder:
    """One graph in the making, with `adapter` in place; n: its rows."""

    def __init__(
        self, graph: Graph, drafter: DrafterHeader, weights: DrafterWeights, adapter: str | None, n: int
    ) -> None:
        self.graph = graph
        self.drafter = drafter
        self.weights = weights
        self.n = n
        self._adapter = adapter

    def product(self, name: str, x: Tensor) -> Tensor:
        """The matrix `name` times x, with what the adapter adds."""
        graph = self.graph
        whole = graph.mul_mat(self.weights[name], x)
        added = self.weights.halves(self._adapter, name) if self._adapter is not None else None
        if added is None:
            return whole
        down, up, scale = added
        return graph.add(whole, graph.mul_mat(up, graph.scale(graph.mul_mat(down, x), scale)))

    def norm(self, x: Tensor, name: str) -> Tensor:
        """x over its root mean square, times the weights `name`."""
        return self.graph.mul(self.graph.rms_norm(x, self.drafter.epsilon), self.weights[name])

    def heads(self, name: str, norm: str, x: Tensor, positions: Tensor, count: int) -> Tensor:
        """Queries or keys of x: projected, each head normed and rotated -> [head, count, n]."""
        drafter = self.drafter
        split = self.graph.reshape(self.product(name, x), drafter.head_size, count, self.n)
        return self.graph.rope(self.norm(split, norm), positions, drafter.rope_dims, drafter.rope_base)

    def remember(
        self, layer: int, x: Tensor, positions: Tensor, slots: Tensor, memory: Memory
    ) -> tuple[Tensor, Tensor]:
        """Put keys and values of x into a layer's memory at `slots` -> the memory as it is afterwards."""
        graph, prefix, count = self.graph, f"blk.{layer}.", self.drafter.kv_heads[layer]
        keys = self.heads(prefix + "attn_k.weight", prefix + "attn_k_norm.weight", x, positions, count)
        keys = graph.reshape(keys, count * self.drafter.head_size, self.n)
        values = self.product(prefix + "attn_v.weight", x)
        stored_keys = graph.keep(graph.set_rows(memory.keys(layer), keys, slots))
        stored_values = graph.keep(graph.set_rows(memory.values(layer), values, slots))
        return stored_keys, stored_values
