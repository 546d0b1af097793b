"""Taps of the target: hidden states, best tokens and candidates, read inside its graph.

Hidden states stay on the device, where a drafter's graph reads them. Of the logits only the requested part is copied to
the host, where a row sampler selects tokens row by row, in order. Layers are counted from 0; a tap is the output of a
layer (`l_out-<layer>` in llama.cpp's graphs).

`Taps` add nodes to the graph through a sampler (`GraphHook`), an experimental API of llama.cpp. `CallbackTaps` provide
the same features by its eval callback: slower, and the fallback if the hook fails its check (`taps_check`).
"""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laguna_engine.errors import ContextError, GraphError
from laguna_engine.ggml.device import ComputeBackend, Device
from laguna_engine.ggml.operations import Operations
from laguna_engine.ggml.tensor import BorrowedContext, DeviceTensors, Port, Tensor, Type
from laguna_engine.llama.sampler import BEST, CANDIDATE, LOGITS, MAX_CANDIDATES, Readout, ReadoutKind, SamplerChain
from laguna_engine.native import tensor_layout
from laguna_engine.native.library import lib
from laguna_engine.native.structs import (
    BufferTypeHandle,
    ContextHandle,
    ContextParams,
    DeviceHandle,
    EvalCallback,
    GgmlContextHandle,
    GraphHandle,
    SamplerApply,
    SamplerBackendApply,
    SamplerBackendInit,
    SamplerEvent,
    SamplerHandle,
    SamplerInterface,
    SamplerName,
    SequenceSampler,
    TensorHandle,
)

_SEQUENCE = 0


class GraphHook:
    """A custom sampler on the device, through which nodes are added to the graph that llama.cpp builds.

    llama.cpp calls `backend_apply` while it builds a graph, once per output row, and not at all when it reuses a graph.
    Exceptions must not escape from a callback: they are stored and raised by the next `check` (`llama_sampler_i` in
    `llama.h`).

    Args:
        place: called once with the buffer type of the logits.
        insert: called for every graph; returns whether the logits are still needed on the host.

    Attributes:
        error: exception stored by a callback.
        sequences: the argument for `llama_context_params.samplers`.
    """

    def __init__(
        self,
        place: Callable[[BufferTypeHandle | None], None],
        insert: Callable[[GgmlContextHandle, GraphHandle], bool],
    ) -> None:
        self._place = place
        self._insert = insert
        self._fresh = True
        self._wanted = True
        self.error: BaseException | None = None
        self._interface = SamplerInterface(
            name=SamplerName(lambda _: b"taps"),
            apply=SamplerApply(lambda *_: None),
            backend_init=SamplerBackendInit(self._on_init),
            backend_apply=SamplerBackendApply(self._on_apply),
            backend_reset=SamplerEvent(self._on_reset),
        )
        # The attached chain is the last one. llama.cpp also keeps pointers to the one before until the next decode.
        self._chains: list[SamplerHandle] = []
        self.sequences = (SequenceSampler * 1)()
        self.sequences[0].seq_id = _SEQUENCE
        self.sequences[0].sampler = self._new_chain().value

    def renew(self, context: ContextHandle) -> None:
        """Make `context` rebuild its graphs, because `insert` would now add other nodes.

        A chain can be attached only once (llama.cpp aborts the second time), so a new one is created. The replaced one
        is freed by the next `renew`: old graphs refer to it until then but are not used again.
        """
        lib.llama_set_sampler(context, _SEQUENCE, self._new_chain())
        while len(self._chains) > 2:
            lib.llama_sampler_free(self._chains.pop(0))
        self.check()

    def check(self) -> None:
        """Raise the exception stored by a callback, if there is one."""
        if self.error is not None:
            error, self.error = self.error, None
            raise error

    def close(self) -> None:
        """Free the chains; close the context that used them first."""
        for chain in self._chains:
            lib.llama_sampler_free(chain)
        self._chains.clear()

    def _new_chain(self) -> SamplerHandle:
        chain: SamplerHandle = lib.llama_sampler_chain_init(lib.llama_sampler_chain_default_params())
        lib.llama_sampler_chain_add(chain, lib.llama_sampler_init(ctypes.byref(self._interface), None))
        self._chains.append(chain)
        return chain

    def _on_init(self, _sampler: int, buffer_type: int | None, _outputs: int) -> bool:
        try:
            self._place(BufferTypeHandle(buffer_type) if buffer_type else None)
        except BaseException as error:
            self.error = error
            return False
        return True

    def _on_reset(self, _sampler: int) -> None:
        self._fresh = True

    def _on_apply(self, _sampler: int, context: int, graph: int, data: Any) -> None:
        """Add nodes for the first row; llama.cpp calls this for every row."""
        try:
            if self._fresh:
                self._fresh = False
                self._wanted = self._insert(GgmlContextHandle(context), GraphHandle(graph))
            if not self._wanted:
                data.contents.logits = None
        except BaseException as error:
            self.error = error


@dataclass(frozen=True, slots=True)
class TargetShape:
    """Dimensions of the target.

    Attributes:
        n_embd: width of the hidden states.
        n_layer: number of layers.
    """

    n_embd: int
    n_layer: int


class HiddenStates:
    """A ring buffer of tapped hidden states, F32 [n_embd * taps, rows]: position p is row p % rows.

    Attributes:
        backend: the device of the buffer.
        rows: positions that it holds.
    """

    def __init__(self, backend: ComputeBackend, taps: int, n_embd: int, rows: int) -> None:
        """Allocate the buffer; GraphOutOfMemory if memory is short."""
        self.backend = backend
        self.rows = rows
        self._store = DeviceTensors(backend, {"features": (Type.F32, (n_embd * taps, rows))})
        self._row_bytes = 4 * n_embd * taps

    @property
    def tensor(self) -> Tensor:
        """The buffer's tensor, for a drafter's graphs."""
        return self._store["features"]

    def rows_of(self, start: int, count: int) -> NDArray[np.int64]:
        """Return the rows of `count` positions from `start` on."""
        return np.arange(start, start + count, dtype=np.int64) % self.rows

    def upload(self, start: int, values: NDArray[np.float32]) -> None:
        """Write `values` [positions, n_embd * taps] for the positions from `start` on."""
        first = start % self.rows
        split = min(len(values), self.rows - first)
        self._store["features"].write(values[:split], first * self._row_bytes)
        if split < len(values):
            self._store["features"].write(values[split:])

    def read(self) -> NDArray[np.float32]:
        """Return a copy of the buffer, [rows, n_embd * taps], for checks."""
        values: NDArray[np.float32] = self._store["features"].read().reshape(self.rows, -1)
        return values

    def close(self) -> None:
        """Free the memory. Idempotent."""
        self._store.close()


_STRUCTS = 512
"""Most tensors added to one graph: a handful per tap, and a few for the readout."""

_OUTPUT = b"result_output"
"""llama.cpp's name of the logits in every architecture's graph."""


class _Weights:
    """Owner of the target's weights, which outlive the taps."""

    alive = True


class Taps:
    """Taps by the graph hook. The readout may be changed between decodes.

    Attributes:
        layers: the tapped layers.
        outputs: most rows of logits of one decode.
        head: the target's output matrix, None until a graph was built.
        features: the feature buffer; None without tapped layers, and before a context was created.
        readout: the part of the logits that is copied to the host.
        hook: the graph hook.
    """

    def __init__(self, layers: tuple[int, ...], shape: TargetShape, rows: int, outputs: int, threads: int = 1) -> None:
        """Set up the hook; memory is allocated when a context is created with it.

        Args:
            layers: layers to tap.
            shape: dimensions of the target.
            rows: positions of the feature buffer.
            outputs: most rows of logits of one decode.
            threads: threads of a drafter on the CPU.
        """
        self.layers = layers
        self.outputs = outputs
        self.head: Tensor | None = None
        self.hook = GraphHook(self._place, self._insert)
        self._rows = rows
        self._n_embd = shape.n_embd
        self._n_layer = shape.n_layer
        self._threads = threads
        self.features: HiddenStates | None = None
        self.readout = BEST
        self._backend: ComputeBackend | None = None
        self._store: DeviceTensors | None = None
        self._logits: int | None = None
        self._best: dict[int, Port] = {}
        self._ids: dict[str, Port] = {}
        self._owner = _Weights()

    @property
    def backend(self) -> ComputeBackend:
        """The device of the logits and the features; GraphError before a context was created."""
        if self._backend is None:
            raise GraphError("no context was created with these taps yet; create one first")
        return self._backend

    def attach(self, params: ContextParams) -> None:
        """Have the context that is created with `params` call the hook."""
        params.samplers, params.n_samplers = ctypes.addressof(self.hook.sequences), 1

    def read_out(self, readout: Readout, context: ContextHandle) -> None:
        """Change the readout from the next decode on; `context` rebuilds its graphs."""
        if readout != self.readout:
            self.readout = readout
            self.hook.renew(context)

    def before(self, start: int, count: int, outputs: range) -> None:
        """Set the rows for the features of the next decode."""
        if self.features is None:
            return
        rows = self.features.rows_of(start, count)
        self._ids["ids"].push_first(rows)
        if len(outputs):
            self._ids["output_ids"].push_first(rows[outputs.start : outputs.stop])

    def after(self) -> None:
        """Raise an exception stored while the graph was built."""
        if self.hook.error is not None:
            self.hook.check()

    def row_sampler(self, rows: int) -> "BestRowSampler | CandidateRowSampler":
        """Copy the readout of the last decode, which had `rows` output rows, to the host."""
        if self.readout.wanted is ReadoutKind.BEST:
            return BestRowSampler(self.best(rows))
        return CandidateRowSampler(*self.candidates(rows))

    def best(self, rows: int) -> NDArray[np.int32]:
        """Return the best token of each of the first `rows` output rows, int32 [rows]; valid until the next call."""
        if rows not in self._best:
            self._best[rows] = Port(self._tensors["best"], np.empty(rows, np.int32))
        port = self._best[rows]
        port.pull()
        return port.values

    def candidates(self, rows: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return ids and logits of the k most likely tokens of the first output rows, unordered, both [rows, k]."""
        ids = np.empty((rows, self.readout.k), np.int32)
        logits = np.empty((rows, self.readout.k), np.float32)
        self._tensors["candidates"].read_into(ids)
        self._tensors["candidate_logits"].read_into(logits)
        return ids, logits

    def logits(self, row: int) -> NDArray[np.float32]:
        """Return all logits of output row `row` of the last decode, float32 [vocabulary], whatever the readout is.

        llama.cpp marks the logits as an output of its graph, so they stay where they were computed until the next one.
        """
        address = self._logits
        if address is None:
            raise GraphError("the last graph computed no logits; decode with outputs first")
        vocabulary, rows, *_ = tensor_layout.shape_of(address)
        if not 0 <= row < rows:
            raise GraphError(f"row {row} of the last decode has no logits; it had {rows} rows with outputs")
        values = np.empty(vocabulary, np.float32)
        offset = row * tensor_layout.strides_of(address)[1]
        lib.ggml_backend_tensor_get(TensorHandle(address), ctypes.c_void_p(values.ctypes.data), offset, values.nbytes)
        return values

    def close(self) -> None:
        """Free everything; close the context, and all graphs that use `features` and `head`, first."""
        self.hook.close()
        for part in (self.features, self._store, self._backend):
            if part is not None:
                part.close()

    @property
    def _tensors(self) -> DeviceTensors:
        if self._store is None:
            raise GraphError("no context was created with these taps yet; create one first")
        return self._store

    def _place(self, buffer_type: BufferTypeHandle | None) -> None:
        """Allocate memory on the device of the logits; called again whenever the hook is renewed."""
        if self._backend is not None:
            return
        handle: DeviceHandle | None = lib.ggml_backend_buft_get_device(buffer_type) if buffer_type else None
        self._backend = ComputeBackend(Device(handle) if handle else Device.cpu(), self._threads)
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
            self.features = HiddenStates(self._backend, len(self.layers), width, rows)

    def _insert(self, context: GgmlContextHandle, graph: GraphHandle) -> bool:
        """Add the nodes to a graph being built; returns whether the logits are still needed on the host."""
        arena = BorrowedContext(context, _STRUCTS)
        operations = Operations(arena)
        for place, layer in enumerate(self.layers):
            self._tap(operations, graph, place, layer, arena)
        self._read_logits(operations, graph, arena)
        arena.give_back()
        return self.readout == LOGITS

    def _tap(self, ops: Operations, graph: GraphHandle, place: int, layer: int, arena: BorrowedContext) -> None:
        found: TensorHandle = lib.ggml_graph_get_tensor(graph, b"l_out-%d" % layer)
        # Graphs built only to measure memory have no layers; without outputs the last layer has no rows.
        if not found or not tensor_layout.shape_of(found.value or 0)[1]:
            return
        hidden = Tensor(found, arena)
        features = self.features
        assert features is not None, "there are taps, so there is a place for them"
        width, count, step = self._n_embd, hidden.shape[1], features.tensor.strides[1]
        if hidden.shape != (width, count, 1, 1) or count > features.rows:
            raise GraphError(f"{hidden} is not a hidden state of width {width}; this model cannot be tapped")
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
        self._logits = found.value
        rows = logits.shape[1]
        if rows > self.outputs:
            raise GraphError(f"{rows} rows of logits in one decode, at most {self.outputs} were planned for")
        self._note_head(found)
        if self.readout.wanted is ReadoutKind.BEST:
            ops_result = [ops.copy(ops.argmax(logits), ops.view(self._tensors["best"], (rows,)))]
        elif self.readout.wanted is ReadoutKind.CANDIDATES:
            ops_result = self._candidates(ops, logits, rows)
        else:
            ops_result = []
        for node in ops_result:
            lib.ggml_build_forward_expand(graph, node.handle)

    def _candidates(self, ops: Operations, logits: Tensor, rows: int) -> list[Tensor]:
        k, vocabulary = self.readout.k, logits.shape[0]
        ids = ops.top_k(logits, k)
        values = ops.get_rows(ops.reshape(logits, 1, vocabulary, rows), ids)
        return [
            ops.copy(ids, ops.view(self._tensors["candidates"], (k, rows))),
            ops.copy(ops.reshape(values, k, rows), ops.view(self._tensors["candidate_logits"], (k, rows))),
        ]

    def _note_head(self, logits: TensorHandle) -> None:
        """Record the output matrix, so that a drafter can share it."""
        if self.head is not None or lib.ggml_op_desc(logits) != b"MUL_MAT":
            return
        matrix = Tensor(tensor_layout.sources_of(logits.value or 0)[0], self._owner)
        if matrix.shape[:1] == (self._n_embd,):
            self.head = matrix


class BestRowSampler:
    """Selects the best token of each row, which is all that greedy sampling needs."""

    def __init__(self, best: NDArray[np.int32]) -> None:
        self._best: list[int] = best.tolist()

    def pick(self, _chain: SamplerChain, row: int) -> int:
        """Return the best token of `row`; a greedy chain without penalties has no state to update."""
        return self._best[row]

    def top(self, row: int) -> NDArray[np.void]:
        """Return the best token of `row` alone, `CANDIDATE` [1] without its logit."""
        return np.array([(self._best[row], 0, 0)], CANDIDATE)


class CandidateRowSampler:
    """Selects from the k most likely tokens of each row, as a chain with top-k needs; ids and logits [rows, k]."""

    def __init__(self, ids: NDArray[np.int32], logits: NDArray[np.float32]) -> None:
        # Ordered as by llama.cpp's own top-k, so that the same seed samples the same token; ties go to the lower id.
        order = np.lexsort((ids, -logits), axis=-1)
        self._rows = np.zeros(ids.shape, CANDIDATE)
        self._rows["id"] = np.take_along_axis(ids, order, axis=1)
        self._rows["logit"] = np.take_along_axis(logits, order, axis=1)

    def pick(self, chain: SamplerChain, row: int) -> int:
        """Return the token that `chain` selects from `row`, and accepts."""
        return chain.choose(self.top(row))

    def top(self, row: int) -> NDArray[np.void]:
        """Return a copy of the k most likely tokens of `row`, most likely first, `CANDIDATE` [k]."""
        candidates: NDArray[np.void] = self._rows[row].copy()
        return candidates


class CallbackTaps:
    """Provides the same features as `Taps`, copied over the host.

    llama.cpp calls back for each of some thousand nodes, taking the GIL, and synchronises the device at tapped ones.

    Attributes:
        layers, outputs, backend, features: as for `Taps`.
        readout: always whole rows.
    """

    readout = LOGITS

    def __init__(self, layers: tuple[int, ...], shape: TargetShape, rows: int, outputs: int, threads: int = 1) -> None:
        """Set up the callback; arguments as for `Taps`. The features are in host memory, the drafter on the CPU."""
        self.layers = layers
        self.outputs = outputs
        self.backend = ComputeBackend.cpu(threads)
        self._callback = EvalCallback(self._on_node)
        self.features = HiddenStates(self.backend, len(layers), shape.n_embd, rows) if layers else None
        self._names = {b"l_out-%d" % layer: place for place, layer in enumerate(layers)}
        self._last = layers.index(shape.n_layer - 1) if shape.n_layer - 1 in layers else None
        self._n_embd = shape.n_embd
        self._taken: dict[int, NDArray[np.float32]] = {}
        self._start, self._count, self._outputs = 0, 0, range(0)
        self._error: BaseException | None = None

    def attach(self, params: ContextParams) -> None:
        """Have the context that is created with `params` call back for every node."""
        if self.layers:
            params.cb_eval = ctypes.cast(self._callback, ctypes.c_void_p).value

    def before(self, start: int, count: int, outputs: range) -> None:
        """Set the positions and outputs of the next decode."""
        self._taken.clear()
        self._start, self._count, self._outputs = start, count, outputs

    def after(self) -> None:
        """Upload the features of the decode; raises a stored exception of the callback."""
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        if self.features is None:
            return
        values = np.zeros((self._count, len(self.layers), self._n_embd), np.float32)
        for place, taken in self._taken.items():
            rows = self._outputs if place == self._last else range(self._count)
            values[rows.start : rows.stop, place] = taken
        self.features.upload(self._start, values.reshape(self._count, -1))

    def close(self) -> None:
        """Free everything; close the context first."""
        if self.features is not None:
            self.features.close()
        self.backend.close()

    def _on_node(self, tensor: int, ask: bool, _: object) -> bool:
        """Return, with `ask`, whether the node is tapped.

        Afterwards True to continue, as False would leave garbage behind.
        """
        place = self._names.get(ctypes.string_at(tensor + tensor_layout.NAME))
        if ask:
            return place is not None
        try:
            if place is not None:
                self._taken[place] = self._values(tensor)
        except BaseException as error:
            self._error = error
        return True

    def _values(self, tensor: int) -> NDArray[np.float32]:
        width, count, *_ = tensor_layout.shape_of(tensor)
        if width != self._n_embd or tensor_layout.type_of(tensor):
            raise ContextError(f"a hidden state of width {width} cannot be tapped; use this model without a drafter")
        values = np.empty((count, width), np.float32)
        if count:
            lib.ggml_backend_tensor_get(TensorHandle(tensor), ctypes.c_void_p(values.ctypes.data), 0, values.nbytes)
        return values
