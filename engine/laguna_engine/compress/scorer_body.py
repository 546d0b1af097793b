"""One window through the model's layers: hidden states stay on the device, how the query looks at texts comes back."""

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from laguna_engine.compress.scorer_file import LAST_NORM, ScorerFile
from laguna_engine.compress.scorer_windows import NOT_ITS_OWN, TAIL, Window, slots
from laguna_engine.errors import ModelFileError
from laguna_engine.ggml.device import Backend
from laguna_engine.ggml.graph import Graph
from laguna_engine.ggml.rows import HostRows
from laguna_engine.ggml.tensor import Tensor
from laguna_engine.ggml.types import Type
from laguna_engine.ggml.weights import Weights

_NODES, _NODES_A_LAYER = 32, 64


class Body:
    """The graph for windows of `rows` rows through the first `layers` layers, with at most `asked` rows asked for."""

    def __init__(
        self,
        rows: int,
        asked: int,
        layers: int,
        model: ScorerFile,
        weights: Weights,
        embedding: HostRows,
        hidden: Tensor | None,
        backend: Backend,
    ) -> None:
        """hidden: F32 [n_embd, asked or more], where the normed output of rows asked for goes; None leaves it out."""
        self._model, self._weights, self._embedding = model, weights, embedding
        self._rows, self._asked, self._layers, self._slots = rows, asked, layers, slots(rows)
        self._whole = hidden is not None
        self._graph = Graph(backend, _NODES + _NODES_A_LAYER * layers)
        try:
            self._build(hidden)
            self._graph.finish()
        except BaseException:
            self.close()
            raise
        count = self._slots * model.heads
        self._looks = [self._graph.port(_name(layer), np.zeros(count, np.float32)) for layer in range(layers)]

    def run(self, window: Window) -> NDArray[np.float32]:
        """The largest score q·k / sqrt(head) of each block's tail over its text, [layers, heads, blocks].

        Leaves the hidden states of `window.asked`, flat, in the first rows of `hidden`.
        """
        graph = self._graph
        graph.write("embeddings", self._embedding.rows(window.tokens.tolist()))
        graph.write("positions", window.positions)
        graph.write("mask", window.mask)
        graph.write("tails", window.tails)
        graph.write("own", window.own)
        if self._whole:
            graph.write("asked", window.asked.ravel())
        graph.compute()
        for look in self._looks:
            look.pull()
        found = np.stack([look.values.reshape(self._model.heads, self._slots) for look in self._looks])
        found = found[:, :, : window.blocks]
        if (found >= -NOT_ITS_OWN).any():
            raise ModelFileError(f"{self._model.file.path}: its weights give no numbers; download it again")
        return (found / sqrt(self._model.head_size)).astype(np.float32)

    @property
    def nbytes(self) -> int:
        """Bytes of inputs and intermediate results."""
        return self._graph.nbytes

    def close(self) -> None:
        """Free the graph; harmless when repeated."""
        self._graph.close()

    def _build(self, hidden: Tensor | None) -> None:
        graph, rows = self._graph, self._rows
        x = graph.input("embeddings", Type.F32, self._model.n_embd, rows)
        positions = graph.input("positions", Type.I32, rows)
        mask = graph.input("mask", Type.F16, rows, rows)
        tails = graph.input("tails", Type.I32, self._slots * TAIL)
        own = graph.input("own", Type.F32, rows, self._slots * TAIL)
        for layer in range(self._layers):
            last = layer == self._layers - 1
            normed = self._norm(x, f"blk.{layer}.attn_norm.weight")
            queries = self._heads(layer, "q", normed, positions, self._model.heads)
            keys = self._by_head(self._heads(layer, "k", normed, positions, self._model.kv_heads))
            graph.output(_name(layer), self._look(queries, keys, tails, own))
            if last and hidden is None:
                # Whoever wants no hidden states needs nothing that comes after the last scores.
                return
            x = graph.add(x, self._attended(layer, normed, queries, keys, mask))
            if last:
                x = graph.get_rows(x, graph.input("asked", Type.I32, self._asked))
            x = graph.add(x, self._fed_forward(layer, x))
        assert hidden is not None, "without it the last layer ends the graph"
        kept = graph.view(hidden, (self._model.n_embd, self._asked))
        graph.keep(graph.copy(self._norm(x, LAST_NORM), kept))

    def _norm(self, x: Tensor, name: str) -> Tensor:
        return self._graph.mul(self._graph.rms_norm(x, self._model.epsilon), self._weights[name])

    def _product(self, layer: int, name: str, x: Tensor) -> Tensor:
        return self._graph.mul_mat(self._weights[f"blk.{layer}.{name}.weight"], x)

    def _heads(self, layer: int, kind: str, x: Tensor, positions: Tensor, count: int) -> Tensor:
        """Queries or keys of x: projected, each head normed and rotated -> [head, count, rows]."""
        head = self._model.head_size
        split = self._graph.reshape(self._product(layer, f"attn_{kind}", x), head, count, self._rows)
        normed = self._norm(split, f"blk.{layer}.attn_{kind}_norm.weight")
        return self._graph.rope(normed, positions, head, self._model.rope_base)

    def _by_head(self, x: Tensor) -> Tensor:
        """[head, kv heads, rows] -> half precision [head, rows, kv heads], as llama.cpp's cache holds them."""
        return self._graph.permute(self._graph.cast(x, Type.F16), 0, 2, 1, 3)

    def _attended(self, layer: int, normed: Tensor, queries: Tensor, keys: Tensor, mask: Tensor) -> Tensor:
        graph, model = self._graph, self._model
        values = self._product(layer, "attn_v", normed)
        values = self._by_head(graph.reshape(values, model.head_size, model.kv_heads, self._rows))
        queries = graph.permute(queries, 0, 2, 1, 3)
        found = graph.flash_attention(queries, keys, values, mask, 1 / sqrt(model.head_size))
        return self._product(layer, "attn_output", graph.reshape(found, model.head_size * model.heads, self._rows))

    def _fed_forward(self, layer: int, x: Tensor) -> Tensor:
        x = self._norm(x, f"blk.{layer}.ffn_norm.weight")
        gated = self._graph.swiglu(self._product(layer, "ffn_gate", x), self._product(layer, "ffn_up", x))
        return self._product(layer, "ffn_down", gated)

    def _look(self, queries: Tensor, keys: Tensor, tails: Tensor, own: Tensor) -> Tensor:
        """The largest q·k of each slot's tail over its own text, for each head -> [slots * heads], slots first."""
        graph, model = self._graph, self._model
        flat = graph.reshape(queries, model.head_size * model.heads, self._rows)
        picked = graph.reshape(graph.get_rows(flat, tails), model.head_size, model.heads, self._slots * TAIL)
        picked = graph.cont(graph.permute(picked, 0, 2, 1, 3))
        scores = graph.add(graph.mul_mat(keys, picked), own)
        bounded = graph.clamp(scores, float(NOT_ITS_OWN), -float(NOT_ITS_OWN))
        over_keys = graph.largest(graph.reshape(bounded, self._rows, self._slots * TAIL * model.heads))
        return graph.largest(graph.reshape(over_keys, TAIL, self._slots * model.heads))


def _name(layer: int) -> str:
    return f"looks of layer {layer}"
