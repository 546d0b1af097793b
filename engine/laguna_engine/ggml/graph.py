"""A computation graph that is built once and run many times.

Inputs have a buffer of their own, because later nodes of a run overwrite values in the allocator's buffer. `finish`
checks that the device supports every node and leaf, because ggml aborts on one that it does not.
"""

from typing import Any

from numpy.typing import NDArray

from laguna_engine.errors import GraphError, GraphOutOfMemory, Stopped
from laguna_engine.ggml.device import ComputeBackend
from laguna_engine.ggml.operations import STRUCTS_PER_OPERATION, Operations
from laguna_engine.ggml.tensor import Port, Tensor, TensorContext, Type
from laguna_engine.native import tensor_layout
from laguna_engine.native.library import lib
from laguna_engine.native.structs import AllocatorHandle, GraphHandle, TensorHandle

_MAX_INPUTS = 32

_ABORTED = 1
"""`GGML_STATUS_ABORTED`."""


class Graph(Operations):
    """A graph on one backend, with named inputs and outputs."""

    def __init__(self, backend: ComputeBackend, nodes: int) -> None:
        """Create a graph of at most `nodes` operations, views and reshapes included."""
        super().__init__(TensorContext(STRUCTS_PER_OPERATION * nodes, nodes))
        self._backend = backend
        self._backend_handle = backend.handle
        self._inputs = TensorContext(_MAX_INPUTS)
        self._graph: GraphHandle = lib.ggml_new_graph_custom(self._arena.handle, nodes, False)
        self._allocator: AllocatorHandle | None = None
        self._named: dict[str, Tensor] = {}
        self._has_inputs = False

    def input(self, name: str, kind: Type, *shape: int) -> Tensor:
        """Add an input to `write` before a run; it keeps its values until the next write."""
        tensor = self._inputs.new(name, kind, *shape)
        lib.ggml_set_input(tensor.handle)
        self._named[name] = tensor
        self._has_inputs = True
        return tensor

    def output(self, name: str, tensor: Tensor) -> Tensor:
        """Mark `tensor` as an output: it is computed and can be `read` until the next run."""
        lib.ggml_set_name(tensor.handle, name.encode())
        lib.ggml_set_output(tensor.handle)
        lib.ggml_build_forward_expand(self._graph, tensor.handle)
        self._named[name] = tensor
        return tensor

    def attention(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: float) -> Tensor:
        """Add `flash_attention`, or the same from products where the device has no kernel for these heads.

        CUDA has none for heads of 32, which the bundled drafter has.
        """
        found = self.flash_attention(q, k, v, mask, scale)
        if lib.ggml_backend_dev_supports_op(self._backend.device.handle, found.handle):
            return found
        return self.attention_by_products(q, k, v, mask, scale)

    def keep(self, tensor: Tensor) -> Tensor:
        """Compute `tensor` for its side effect, such as `set_rows`."""
        lib.ggml_build_forward_expand(self._graph, tensor.handle)
        return tensor

    def finish(self) -> "Graph":
        """Check all nodes and allocate memory; GraphError for an operation that the device does not support."""
        if self._has_inputs:
            self._inputs.allocate(self._backend.buffer_type)
            self._inputs.clear()
        for index in range(lib.ggml_graph_n_nodes(self._graph)):
            self._check(lib.ggml_graph_node(self._graph, index))
        self._allocator = lib.ggml_gallocr_new(self._backend.buffer_type)
        if not lib.ggml_gallocr_alloc_graph(self._allocator, self._graph):
            raise GraphOutOfMemory(
                f"{self._backend.device.name} has not enough free memory; use a smaller context or the CPU"
            )
        return self

    @property
    def nbytes(self) -> int:
        """Bytes of intermediate results and inputs on the device."""
        results = lib.ggml_gallocr_get_buffer_size(self._allocator, 0) if self._allocator else 0
        return int(results) + self._inputs.nbytes

    def write(self, name: str, values: NDArray[Any]) -> None:
        """Write `values` to the beginning of an input."""
        self._named[name].write(values)

    def compute(self) -> None:
        """Run the graph; GraphError if the device fails, Stopped if its abort flag was set (`ComputeBackend.heed`)."""
        if self._allocator is None:
            raise GraphError("the graph is not finished; call finish first")
        code = lib.ggml_backend_graph_compute(self._backend_handle or self._backend.handle, self._graph)
        if code == _ABORTED:
            raise Stopped("the computation was stopped; ask again for its result")
        if code:
            raise GraphError(f"{self._backend.device.name} failed to compute ({code}); do without it, or use the CPU")

    def port(self, name: str, values: NDArray[Any]) -> Port:
        """Create a fast copy between `values` and the beginning of an input or output, for data copied on every run."""
        return Port(self._named[name], values)

    def read(self, name: str) -> NDArray[Any]:
        """Return a copy of an output, its shape reversed."""
        return self._named[name].read()

    def close(self) -> None:
        """Free everything. Idempotent."""
        if self._allocator is not None:
            lib.ggml_gallocr_free(self._allocator)
            self._allocator = None
        self._inputs.close()
        self._arena.close()

    def _check(self, node: TensorHandle) -> None:
        address = node.value
        assert address is not None, "ggml's own nodes exist"
        for source in tensor_layout.sources_of(address):
            self._check_leaf(source)
        if not lib.ggml_backend_dev_supports_op(self._backend.device.handle, node):
            operation = lib.ggml_op_desc(node).decode()
            what = f"{operation} to {list(tensor_layout.shape_of(address))}"
            raise GraphError(f"{self._backend.device.name} cannot compute {what}; use the CPU, or do without")

    def _check_leaf(self, source: TensorHandle) -> None:
        """Check that an allocated leaf is in a buffer that the device can read: ggml does not, and crashes."""
        address = source.value
        assert address is not None, "sources_of leaves empty ones out"
        buffer = tensor_layout.buffer_of(address)
        if buffer and not self._backend.reads(lib.ggml_backend_buffer_get_type(buffer)):
            name = tensor_layout.name_of(address)
            raise GraphError(f"{name} is not in memory that {self._backend.device.name} can read; keep a copy there")
