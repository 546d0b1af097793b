"""A scorer's weights and graphs on one device. One thread only.

One graph runs a window through the model's layers: hidden states stay on the device, and the query's attention to the
texts is returned. The other applies the output matrix to the query's rows and returns their log-probabilities, reduced
on the device to one number per token.
"""

from math import sqrt
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from laguna_engine.compress import scorer_file
from laguna_engine.compress.scorer_file import EMBEDDINGS, HEAD, LAST_NORM, ScorerFile
from laguna_engine.compress.scorer_memory import graph_size, graphs_room
from laguna_engine.compress.scorer_windows import OUTSIDE_TEXT, TAIL, Window, capacity, sizes, slots
from laguna_engine.errors import ModelFileError, RequestError
from laguna_engine.ggml.device import ComputeBackend, Device
from laguna_engine.ggml.graph import Graph
from laguna_engine.ggml.tensor import DeviceTensors, Tensor, Type
from laguna_engine.ggml.weights import HostEmbedding, Weights
from laguna_engine.gguf import header
from laguna_engine.llama.model import Model
from laguna_engine.native.abort import AbortFlag
from laguna_engine.native.control_groups import physical_cores

_BODY_NODES, _NODES_A_LAYER = 32, 64


class BodyGraph:
    """The graph for windows of `rows` rows through the first `layers` layers, with hidden states of up to `query_rows`
    of them."""

    def __init__(
        self,
        rows: int,
        query_rows: int,
        layers: int,
        model: ScorerFile,
        weights: Weights,
        embedding: HostEmbedding,
        hidden: Tensor | None,
        backend: ComputeBackend,
    ) -> None:
        """Build the graph.

        Args:
            hidden: F32 [n_embd, query_rows or more], receives the normed output of the query's rows; None omits it.
        """
        self._model, self._weights, self._embedding = model, weights, embedding
        self._rows, self._query_rows, self._layers, self._slots = rows, query_rows, layers, slots(rows)
        self._whole = hidden is not None
        self._graph = Graph(backend, _BODY_NODES + _NODES_A_LAYER * layers)
        try:
            self._build(hidden)
            self._graph.finish()
        except BaseException:
            self.close()
            raise
        count = self._slots * model.heads
        self._score_ports = [self._graph.port(_name(layer), np.zeros(count, np.float32)) for layer in range(layers)]

    def run(self, window: Window) -> NDArray[np.float32]:
        """Return the largest score q·k / sqrt(head) of each block's tail over its text, [layers, heads, blocks].

        Writes the hidden states of `window.query_rows`, flattened, to the first rows of `hidden`.
        """
        graph = self._graph
        graph.write("embeddings", self._embedding.rows(window.tokens.tolist()))
        graph.write("positions", window.positions)
        graph.write("mask", window.mask)
        graph.write("tail_rows", window.tail_rows)
        graph.write("text_mask", window.text_mask)
        if self._whole:
            graph.write("query_rows", window.query_rows.ravel())
        graph.compute()
        for port in self._score_ports:
            port.pull()
        found = np.stack([port.values.reshape(self._model.heads, self._slots) for port in self._score_ports])
        found = found[:, :, : window.blocks]
        if (found >= -OUTSIDE_TEXT).any():
            raise ModelFileError(f"{self._model.file.path}: its weights are not finite numbers; download it again")
        return (found / sqrt(self._model.head_size)).astype(np.float32)

    @property
    def nbytes(self) -> int:
        return self._graph.nbytes

    def close(self) -> None:
        """Free the graph. Idempotent."""
        self._graph.close()

    def _build(self, hidden: Tensor | None) -> None:
        graph, rows = self._graph, self._rows
        x = graph.input("embeddings", Type.F32, self._model.n_embd, rows)
        positions = graph.input("positions", Type.I32, rows)
        mask = graph.input("mask", Type.F16, rows, rows)
        tail_rows = graph.input("tail_rows", Type.I32, self._slots * TAIL)
        text_mask = graph.input("text_mask", Type.F32, rows, self._slots * TAIL)
        for layer in range(self._layers):
            last = layer == self._layers - 1
            normed = self._norm(x, f"blk.{layer}.attn_norm.weight")
            queries = self._heads(layer, "q", normed, positions, self._model.heads)
            keys = self._by_head(self._heads(layer, "k", normed, positions, self._model.kv_heads))
            graph.output(_name(layer), self._tail_scores(queries, keys, tail_rows, text_mask))
            if last and hidden is None:
                # Without hidden states nothing after the last scores is needed.
                return
            x = graph.add(x, self._attention(layer, normed, queries, keys, mask))
            if last:
                x = graph.get_rows(x, graph.input("query_rows", Type.I32, self._query_rows))
            x = graph.add(x, self._feed_forward(layer, x))
        assert hidden is not None, "without it the last layer ends the graph"
        kept = graph.view(hidden, (self._model.n_embd, self._query_rows))
        graph.keep(graph.copy(self._norm(x, LAST_NORM), kept))

    def _norm(self, x: Tensor, name: str) -> Tensor:
        return self._graph.mul(self._graph.rms_norm(x, self._model.epsilon), self._weights[name])

    def _product(self, layer: int, name: str, x: Tensor) -> Tensor:
        return self._graph.mul_mat(self._weights[f"blk.{layer}.{name}.weight"], x)

    def _heads(self, layer: int, kind: str, x: Tensor, positions: Tensor, count: int) -> Tensor:
        """Return queries or keys of x: projected, each head normed and rotated, [head, count, rows]."""
        head = self._model.head_size
        split = self._graph.reshape(self._product(layer, f"attn_{kind}", x), head, count, self._rows)
        normed = self._norm(split, f"blk.{layer}.attn_{kind}_norm.weight")
        return self._graph.rope(normed, positions, head, self._model.rope_base)

    def _by_head(self, x: Tensor) -> Tensor:
        """Convert [head, kv heads, rows] to F16 [head, rows, kv heads], as in llama.cpp's KV cache."""
        return self._graph.permute(self._graph.cast(x, Type.F16), 0, 2, 1, 3)

    def _attention(self, layer: int, normed: Tensor, queries: Tensor, keys: Tensor, mask: Tensor) -> Tensor:
        graph, model = self._graph, self._model
        values = self._product(layer, "attn_v", normed)
        values = self._by_head(graph.reshape(values, model.head_size, model.kv_heads, self._rows))
        queries = graph.permute(queries, 0, 2, 1, 3)
        found = graph.flash_attention(queries, keys, values, mask, 1 / sqrt(model.head_size))
        return self._product(layer, "attn_output", graph.reshape(found, model.head_size * model.heads, self._rows))

    def _feed_forward(self, layer: int, x: Tensor) -> Tensor:
        x = self._norm(x, f"blk.{layer}.ffn_norm.weight")
        gated = self._graph.swiglu(self._product(layer, "ffn_gate", x), self._product(layer, "ffn_up", x))
        return self._product(layer, "ffn_down", gated)

    def _tail_scores(self, queries: Tensor, keys: Tensor, tail_rows: Tensor, text_mask: Tensor) -> Tensor:
        """Return the largest q·k of each slot's tail over its own text, for each head: [slots * heads], slots first."""
        graph, model = self._graph, self._model
        flat = graph.reshape(queries, model.head_size * model.heads, self._rows)
        tail_queries = graph.reshape(graph.get_rows(flat, tail_rows), model.head_size, model.heads, self._slots * TAIL)
        tail_queries = graph.cont(graph.permute(tail_queries, 0, 2, 1, 3))
        scores = graph.add(graph.mul_mat(keys, tail_queries), text_mask)
        bounded = graph.clamp(scores, float(OUTSIDE_TEXT), -float(OUTSIDE_TEXT))
        over_keys = graph.largest(graph.reshape(bounded, self._rows, self._slots * TAIL * model.heads))
        return graph.largest(graph.reshape(over_keys, TAIL, self._slots * model.heads))


def _name(layer: int) -> str:
    return f"attention of layer {layer}"


_HEAD_NODES = 32

_SIZES = (64, 16)
"""Rows per computation, largest first: the logits of 64 rows over 152,000 tokens take 39 MB."""

_BOUND = np.float32(1e30)
"""Larger than any logit. NaN is clamped to it, because a device's argmax over NaNs is undefined."""


class HeadGraph:
    """Computes log-probabilities from hidden states."""

    def __init__(self, matrix: Tensor, hidden: Tensor, backend: ComputeBackend, path: Path) -> None:
        """Build the graphs.

        Args:
            matrix: the output matrix, [n_embd, tokens].
            hidden: F32 [n_embd, rows], normed.
            path: of the model, for error messages.
        """
        self._path = path
        self._parts: list[_HeadBatch] = []
        try:
            for rows in _SIZES:
                self._parts.append(_HeadBatch(rows, matrix, hidden, backend))
        except BaseException:
            self.close()
            raise

    def run(self, targets: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return log p of `targets`, of any shape, taken in order from the first hidden row on."""
        found, start = np.empty(targets.size, np.float32), 0
        large, small = self._parts
        while start < targets.size:
            part = large if targets.size - start > large.rows // 2 else small
            stop = min(start + part.rows, targets.size)
            found[start:stop] = part.run(start, targets.ravel()[start:stop])
            start = stop
        if not np.isfinite(found).all():
            raise ModelFileError(f"{self._path}: its weights are not finite numbers; download it again")
        return found.reshape(targets.shape)

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self._parts)

    def close(self) -> None:
        """Free the graphs. Idempotent."""
        for part in self._parts:
            part.close()


class _HeadBatch:
    """The graph for `rows` consecutive hidden rows."""

    def __init__(self, rows: int, matrix: Tensor, hidden: Tensor, backend: ComputeBackend) -> None:
        self.rows = rows
        self._graph = graph = Graph(backend, _HEAD_NODES)
        try:
            self._build(matrix, hidden)
            graph.finish()
        except BaseException:
            self.close()
            raise
        self._hidden_rows = graph.port("hidden_rows", np.zeros(rows, np.int32))
        self._targets = graph.port("targets", np.zeros(rows, np.int32))
        self._largest = graph.port("largest", np.zeros(rows, np.float32))
        self._found = graph.port("found", np.zeros(rows, np.float32))

    @property
    def nbytes(self) -> int:
        return self._graph.nbytes

    def run(self, start: int, targets: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return log p of at most `rows` targets, from hidden row `start` on; NaN where the logits are not finite."""
        count = len(targets)
        self._hidden_rows.values[:count], self._targets.values[:count] = np.arange(start, start + count), targets
        self._hidden_rows.push()
        self._targets.push()
        self._graph.compute()
        self._largest.pull()
        self._found.pull()
        sound = abs(self._largest.values[:count]) < _BOUND
        return np.where(sound, self._found.values[:count], np.float32(np.nan))

    def close(self) -> None:
        """Free the graph. Idempotent."""
        self._graph.close()

    def _build(self, matrix: Tensor, hidden: Tensor) -> None:
        """Build log softmax at the targets, relative to the largest logit, whose probability never underflows to 0."""
        graph, rows = self._graph, self.rows
        hidden_rows, targets = graph.input("hidden_rows", Type.I32, rows), graph.input("targets", Type.I32, rows)
        logits = graph.mul_mat(matrix, graph.get_rows(hidden, hidden_rows))
        logits = graph.clamp(logits, -float(_BOUND), float(_BOUND))
        best = graph.argmax(logits)
        largest = graph.output("largest", graph.pick(logits, best))
        share = graph.log(graph.pick(graph.soft_max(logits, None, 1.0), best))
        graph.output("found", graph.add(graph.sub(graph.pick(logits, targets), largest), share))


TailScores = NDArray[np.float32]
"""[layers, heads, blocks]."""


class ScorerModel:
    """A loaded scorer model.

    Attributes:
        vocab: vocabulary of its file.
        newline: its newline token.
        layers: layers that are run.
        window: most rows of one window.
        stop: may be set from any thread; ends a computation on the CPU at once, and `run` raises `Stopped`.
    """

    def __init__(self, vocabulary: Model, file: ScorerFile, layers: int, window: int, backend: ComputeBackend) -> None:
        """Take ownership of `vocabulary` and `backend`, even when it raises."""
        self.vocab, self.file, self.layers, self.window = vocabulary.vocab, file, layers, window
        self._vocabulary, self._backend = vocabulary, backend
        self.stop = AbortFlag()
        self._weights: Weights | None = None
        self._hidden: DeviceTensors | None = None
        self._head: HeadGraph | None = None
        self._bodies: dict[tuple[int, int], BodyGraph] = {}
        try:
            self.newline = self._newline()
            backend.heed(self.stop)
            self._load()
            # An unsupported operation must fail on opening, not at the first scores.
            self._body(sizes(window)[0], 0)
        except BaseException:
            self.close()
            raise

    @classmethod
    def open(cls, path: Path, device: Device | None, threads: int, window: int, layers: int) -> "ScorerModel":
        """Check the file and load it.

        Args:
            path: the GGUF file.
            device: None for the CPU.
            threads: CPU threads; 0 for the physical cores.
            window: most rows of one window; limited to the file's context.
            layers: layers to run; 0 for all.

        Raises:
            ModelFileError: the file is not a scorer.
            RequestError: the number of layers is out of range.
            GraphError: the device cannot run it.
        """
        file = scorer_file.describe(header.check(path))
        vocabulary = Model.open(path, vocab_only=True)
        try:
            if not 0 <= layers <= file.n_layer:
                raise RequestError(f"{layers} layers cannot be run of {file.n_layer}; choose 1 to {file.n_layer}")
            backend = ComputeBackend(device or Device.cpu(), threads or physical_cores())
        except BaseException:
            vocabulary.close()
            raise
        return cls(vocabulary, file, layers or file.n_layer, min(window, file.n_ctx), backend)

    @property
    def whole(self) -> bool:
        """Return whether all layers are run, which log-probabilities need."""
        return self.layers == self.file.n_layer

    @property
    def nbytes(self) -> int:
        """Return the bytes of weights, hidden states and graphs on the device. Callable from any thread."""
        # Copied in one interpreter step: a graph may be added meanwhile.
        held = [*tuple(self._bodies.values()), self._weights, self._hidden, self._head]
        return sum(part.nbytes for part in held if part is not None)

    def run(self, window: Window) -> tuple[TailScores, NDArray[np.float32] | None]:
        """Return the query's attention to each text, and log p of its tokens after each, [blocks, query]."""
        scores = self._body(window.rows, window.query_rows.size if self.whole else 0).run(window)
        return scores, None if self._head is None else self._head.run(window.targets)

    def close(self) -> None:
        """Free everything. Idempotent."""
        for body in self._bodies.values():
            body.close()
        for part in (self._head, self._hidden, self._weights, self._backend, self._vocabulary):
            if part is not None:
                part.close()

    def _newline(self) -> int:
        tokens = self.vocab.tokenize("\n", special=False)
        if not tokens:
            raise ModelFileError(f"{self.file.file.path}: it has no token for a newline; choose another scorer")
        return tokens[-1]

    def _load(self) -> None:
        file, separate = self.file, [EMBEDDINGS, HEAD, LAST_NORM]
        self._embedding = HostEmbedding(file.file, EMBEDDINGS)
        names = [info.name for info in file.file.tensors if info.name not in separate and self._runs(info.name)]
        if self.whole:
            names += [LAST_NORM, file.head]
        self._weights = Weights(file.file, names, self._backend)
        if self.whole:
            self._hidden = DeviceTensors(self._backend, {"hidden": (Type.F32, (file.n_embd, self.window))})
            self._head = HeadGraph(self._weights[file.head], self._hidden["hidden"], self._backend, file.file.path)

    def _runs(self, name: str) -> bool:
        return int(name.split(".")[1]) < self.layers

    def _body(self, rows: int, query_rows: int) -> BodyGraph:
        key = rows, capacity(rows, query_rows)
        found = self._bodies.pop(key, None)
        if found is None:
            assert self._weights is not None, "they are loaded first"
            self._make_room(graph_size(self.file, rows))
            hidden = None if self._hidden is None else self._hidden["hidden"]
            found = BodyGraph(*key, self.layers, self.file, self._weights, self._embedding, hidden, self._backend)
        # The most recently used graph is last.
        self._bodies[key] = found
        return found

    def _make_room(self, nbytes: int) -> None:
        """Evict the least recently used graphs until `nbytes` fit."""
        left = graphs_room(self.file, self.window) - nbytes
        while self._bodies and sum(body.nbytes for body in self._bodies.values()) > left:
            oldest = next(iter(self._bodies))
            self._bodies.pop(oldest).close()
