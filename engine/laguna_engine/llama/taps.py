"""Hidden states, the best tokens and the likeliest candidates, taken inside the target's own graph.

They stay on the device: the hidden states go where a drafter's graph reads them, and of the logits only what is asked
for comes to the host, where a row sampler picks from it a row at a time, in order. Layers are counted from 0, and a tap
is what a layer puts out (`l_out-<layer>` in llama.cpp's graphs). The way into the graph is `graph_hook`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from laguna_engine.errors import GraphError
from laguna_engine.ggml.device import Backend, Device
from laguna_engine.ggml.device_tensors import DeviceTensors
from laguna_engine.ggml.operations import Operations
from laguna_engine.ggml.tensor import BorrowedContext, Port, Tensor, Type
from laguna_engine.llama.graph_hook import GraphHook
from laguna_engine.llama.sampler import BEST, CANDIDATE, LOGITS, MAX_CANDIDATES, Readout, ReadoutKind, SamplerChain
from laguna_engine.native import tensor_layout
from laguna_engine.native.library import lib
from laguna_engine.native.structs import (
    BufferTypeHandle,
    ContextHandle,
    DeviceHandle,
    GgmlContextHandle,
    GraphHandle,
    TensorHandle,
)


@dataclass(frozen=True, slots=True)
class TargetShape:
    """Of the target: n_embd, the width of its hidden states, and n_layer, its layers."""

    n_embd: int
    n_layer: int


class HiddenStates:
    """F32 [n_embd * taps, rows]: position p lies in row p % rows, its taps one after the other."""

    def __init__(self, backend: Backend, taps: int, n_embd: int, rows: int) -> None:
        """GraphError when memory is short."""
        self.backend = backend
        self.rows = rows
        self._store = DeviceTensors(backend, {"features": (Type.F32, (n_embd * taps, rows))})
        self._row_bytes = 4 * n_embd * taps

    @property
    def tensor(self) -> Tensor:
        """For a drafter's graphs."""
        return self._store["features"]

    def rows_of(self, start: int, count: int) -> NDArray[np.int64]:
        """The rows of the positions from `start` on."""
        return np.arange(start, start + count, dtype=np.int64) % self.rows

    def upload(self, start: int, values: NDArray[np.float32]) -> None:
        """Write values [positions, n_embd * taps] of the positions from `start` on, from the host."""
        first = start % self.rows
        split = min(len(values), self.rows - first)
        self._store.write("features", values[:split], first * self._row_bytes)
        if split < len(values):
            self._store.write("features", values[split:])

    def read(self) -> NDArray[np.float32]:
        """A copy of everything, [rows, n_embd * taps]: for checks."""
        values: NDArray[np.float32] = self._store.read("features").reshape(self.rows, -1)
        return values

    def close(self) -> None:
        """Free the memory; harmless when repeated."""
        self._store.close()


_STRUCTS = 512
"""Most tensors that are added to one graph: a handful a tap, and a few for the readout."""

_OUTPUT = b"result_output"
"""llama.cpp's name of the logits in every architecture's graph."""


class _Weights:
    """The target's weights live until its model is closed, which the taps do not outlive."""

    alive = True


class Taps:
    """The graph hook's side: `readout` may be changed between decodes."""

    def __init__(self, layers: tuple[int, ...], shape: TargetShape, rows: int, outputs: int, threads: int = 1) -> None:
        """rows: positions whose features are held. outputs: most rows of logits that one decode may have.

        threads: for drafts on the CPU.
        """
        self.layers = layers
        self.outputs = outputs
        self.head: Tensor | None = None
        self.hook = GraphHook(self._place, self._insert)
        self._rows = rows
        self._n_embd = shape.n_embd
        self._n_layer = shape.n_layer
        self._threads = threads
        self._backend: Backend | None = None
        self._features: HiddenStates | None = None
        self._store: DeviceTensors | None = None
        self._readout = BEST
        self._best: dict[int, Port] = {}
        self._ids: dict[str, Port] = {}
        self._owner = _Weights()

    @property
    def backend(self) -> Backend:
        """The device that the logits and the features lie on; GraphError before there was a context."""
        if self._backend is None:
            raise GraphError("no context was made with these taps yet; make one first")
        return self._backend

    @property
    def features(self) -> HiddenStates | None:
        """Where the hidden states are; None without taps."""
        return self._features

    @property
    def readout(self) -> Readout:
        """What is taken of the logits."""
        return self._readout

    def read_out(self, readout: Readout, context: ContextHandle) -> None:
        """Take something else of the logits from the next decode on; `context` builds its graphs again."""
        if readout != self._readout:
            self._readout = readout
            self.hook.renew(context)

    def before(self, start: int, count: int, outputs: range) -> None:
        """Say where the features of the next decode go."""
        if self._features is None:
            return
        rows = self._features.rows_of(start, count)
        self._ids["ids"].push_first(rows)
        if len(outputs):
            self._ids["output_ids"].push_first(rows[outputs.start : outputs.stop])

    def after(self) -> None:
        """Raise what went wrong while a graph was built."""
        if self.hook.error is not None:
            self.hook.check()

    def best(self, rows: int) -> NDArray[np.int32]:
        """The best token of each of the first `rows` output rows, int32 [rows]; valid until the next call."""
        if rows not in self._best:
            self._best[rows] = Port(self._tensors["best"], np.empty(rows, np.int32))
        port = self._best[rows]
        port.pull()
        return port.values

    def candidates(self, rows: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Ids and logits of the k likeliest tokens of the first `rows` output rows, in no order, both [rows, k]."""
        ids = np.empty((rows, self._readout.k), np.int32)
        logits = np.empty((rows, self._readout.k), np.float32)
        self._tensors.read_into("candidates", ids)
        self._tensors.read_into("candidate_logits", logits)
        return ids, logits

    def close(self) -> None:
        """Free everything; only after the context, and after whatever computes with `features` and `head`."""
        self.hook.close()
        for part in (self._features, self._store, self._backend):
            if part is not None:
                part.close()

    @property
    def _tensors(self) -> DeviceTensors:
        if self._store is None:
            raise GraphError("no context was made with these taps yet; make one first")
        return self._store

    def _place(self, buffer_type: BufferTypeHandle | None) -> None:
        """Take memory beside the logits; called again whenever the hook is renewed."""
        if self._backend is not None:
            return
        device = _device_of(buffer_type)
        self._backend = Backend(device, self._threads)
        width, rows, outputs = self._n_embd, self._rows, self.outputs
        self._store = DeviceTensors(
            self._backend,
            {
                "ids": (Type.I64, (rows,)),
                "output_ids": (Type.I64, (outputs,)),
                "best": (Type.I32, (outputs,)),
                "candidates": (Type.I32, (outputs * MAX_CANDIDATES,)),
                "candidate_logits": (Type.F32, (outputs * MAX_CANDIDATES,)),
            },
        )
        sizes = {"ids": rows, "output_ids": outputs}
        self._ids = {name: Port(self._store[name], np.zeros(size, np.int64)) for name, size in sizes.items()}
        if self.layers:
            self._features = HiddenStates(self._backend, len(self.layers), width, rows)

    def _insert(self, context: GgmlContextHandle, graph: GraphHandle) -> bool:
        """Add our nodes to a graph that is being built; whether the logits are still wanted on the host."""
        arena = BorrowedContext(context, _STRUCTS)
        operations = Operations(arena)
        for place, layer in enumerate(self.layers):
            self._tap(operations, graph, place, layer, arena)
        self._read_logits(operations, graph, arena)
        arena.give_back()
        return self._readout == LOGITS

    def _tap(self, ops: Operations, graph: GraphHandle, place: int, layer: int, arena: BorrowedContext) -> None:
        found: TensorHandle = lib.ggml_graph_get_tensor(graph, b"l_out-%d" % layer)
        # Graphs that are only measured have no layers; without outputs the last layer has no rows.
        if not found or not tensor_layout.shape_of(found.value or 0)[1]:
            return
        hidden = Tensor(found, arena)
        features = self._features
        assert features is not None, "there are taps, so there is a place for them"
        width, count, step = self._n_embd, hidden.shape[1], features.tensor.strides[1]
        if hidden.shape != (width, count, 1, 1) or count > features.rows:
            raise GraphError(f"{hidden} is no hidden state of width {width}; this model cannot be tapped")
        into = ops.view(features.tensor, (width, features.rows), (step,), 4 * width * place)
        # llama.cpp computes the last layer only for the rows that have outputs.
        name = "output_ids" if layer == self._n_layer - 1 else "ids"
        ids = ops.view(self._tensors[name], (count,))
        lib.ggml_build_forward_expand(graph, ops.set_rows(into, hidden, ids).handle)

    def _read_logits(self, ops: Operations, graph: GraphHandle, arena: BorrowedContext) -> None:
        found: TensorHandle = lib.ggml_graph_get_tensor(graph, _OUTPUT)
        if not found or not tensor_layout.shape_of(found.value or 0)[1]:
            return
        logits = Tensor(found, arena)
        rows = logits.shape[1]
        if rows > self.outputs:
            raise GraphError(f"{rows} rows of logits in one decode, at most {self.outputs} were planned for")
        self._note_head(found)
        if self._readout.wanted is ReadoutKind.BEST:
            ops_result = [ops.copy(ops.argmax(logits), ops.view(self._tensors["best"], (rows,)))]
        elif self._readout.wanted is ReadoutKind.CANDIDATES:
            ops_result = self._candidates(ops, logits, rows)
        else:
            ops_result = []
        for node in ops_result:
            lib.ggml_build_forward_expand(graph, node.handle)

    def _candidates(self, ops: Operations, logits: Tensor, rows: int) -> list[Tensor]:
        k, vocabulary = self._readout.k, logits.shape[0]
        ids = ops.top_k(logits, k)
        values = ops.get_rows(ops.reshape(logits, 1, vocabulary, rows), ids)
        return [
            ops.copy(ids, ops.view(self._tensors["candidates"], (k, rows))),
            ops.copy(ops.reshape(values, k, rows), ops.view(self._tensors["candidate_logits"], (k, rows))),
        ]

    def _note_head(self, logits: TensorHandle) -> None:
        """The matrix that made the logits, so that a drafter can share it."""
        if self.head is not None or lib.ggml_op_desc(logits) != b"MUL_MAT":
            return
        matrix = Tensor(tensor_layout.sources_of(logits.value or 0)[0], self._owner)
        if matrix.shape[:1] == (self._n_embd,):
            self.head = matrix


def _device_of(buffer_type: BufferTypeHandle | None) -> Device:
    handle: DeviceHandle | None = lib.ggml_backend_buft_get_device(buffer_type) if buffer_type else None
    return Device(handle) if handle else Device.cpu()


class BestRowSampler:
    """The best token of each row: all that greedy sampling wants to know."""

    def __init__(self, best: NDArray[np.int32]) -> None:
        self._best: list[int] = best.tolist()

    def pick(self, _chain: SamplerChain, row: int) -> int:
        """The best token; a greedy chain has nothing to remember."""
        return self._best[row]


class CandidateRowSampler:
    """The likeliest tokens of each row, [rows, k] both, in no order: all that a chain with top-k looks at."""

    def __init__(self, ids: NDArray[np.int32], logits: NDArray[np.float32]) -> None:
        # As llama.cpp's own top-k leaves them, so that the same seed draws the same token; ties go to the lower id.
        order = np.lexsort((ids, -logits), axis=-1)
        self._rows = np.zeros(ids.shape, CANDIDATE)
        self._rows["id"] = np.take_along_axis(ids, order, axis=1)
        self._rows["logit"] = np.take_along_axis(logits, order, axis=1)

    def pick(self, chain: SamplerChain, row: int) -> int:
        """What `chain` picks, which remembers it and may leave its candidates in another order."""
        return chain.choose(self._rows[row].copy())


def row_sampler(taps: Taps, rows: int) -> BestRowSampler | CandidateRowSampler:
    """Bring the readout of the last decode, which had `rows` output rows, to the host."""
    if taps.readout.wanted is ReadoutKind.BEST:
        return BestRowSampler(taps.best(rows))
    return CandidateRowSampler(*taps.candidates(rows))
