"""Room for tensor and graph structs, and the memory that belongs to some of them."""

from laguna_engine.errors import GraphError, GraphOutOfMemory
from laguna_engine.ggml.tensor import Tensor
from laguna_engine.ggml.types import Type
from laguna_engine.native.layout import TENSOR_BYTES
from laguna_engine.native.library import lib
from laguna_engine.native.structs import BufferHandle, BufferTypeHandle, GgmlContextHandle, GgmlInitParams

_SPARE = 16
"""Structs beyond those asked for: ggml aborts when a context is full."""

MAX_NAME_BYTES = 63


class Arena:
    """A `ggml_context` without data. Owns its tensors; keeps count of them, because a full one makes ggml abort."""

    def __init__(self, tensors: int, graph_nodes: int = 0) -> None:
        """Room for `tensors`, and for a graph of `graph_nodes` if there is to be one."""
        size = TENSOR_BYTES * (tensors + _SPARE)
        if graph_nodes:
            size += lib.ggml_graph_overhead_custom(graph_nodes, False)
        handle: GgmlContextHandle = lib.ggml_init(GgmlInitParams(size, None, True))
        if not handle:
            raise GraphError(f"no memory for {tensors} tensor descriptions; free some")
        self._handle = handle
        self._room = tensors
        self._buffer: BufferHandle | None = None

    @property
    def alive(self) -> bool:
        """Whether its tensors may still be used."""
        return bool(self._handle)

    @property
    def handle(self) -> GgmlContextHandle:
        """For native calls; GraphError after `close`."""
        if not self._handle:
            raise GraphError("this graph's tensors are gone; they were freed")
        return self._handle

    @property
    def nbytes(self) -> int:
        """Bytes of memory its tensors take on their device; 0 before `allocate`."""
        return lib.ggml_backend_buffer_get_size(self._buffer) if self._buffer else 0

    def take(self, count: int = 1) -> None:
        """Count `count` new structs; GraphError instead of ggml's abort when there is no room."""
        self._room -= count
        if self._room < 0:
            raise GraphError("the graph has more nodes than were planned for; plan more")

    def new(self, name: str, kind: Type, *shape: int) -> Tensor:
        """A tensor without memory yet."""
        dims = [*shape, 1, 1, 1, 1][:4]
        if len(shape) > 4 or min(dims) < 1 or dims[0] % kind.block:
            raise GraphError(f"{name}: {list(shape)} is no shape for {kind.name}")
        self.take()
        handle = lib.ggml_new_tensor_4d(self.handle, kind, *dims)
        lib.ggml_set_name(handle, name.encode()[:MAX_NAME_BYTES])
        return Tensor(handle, self)

    def allocate(self, buffer_type: BufferTypeHandle, *, weights: bool = False) -> None:
        """Give every tensor memory; GraphError if there is not enough. `weights` tells devices what it is for."""
        buffer: BufferHandle = lib.ggml_backend_alloc_ctx_tensors_from_buft(self.handle, buffer_type)
        if not buffer:
            where = lib.ggml_backend_buft_name(buffer_type).decode("utf-8", "replace")
            raise GraphOutOfMemory(f"{where} has not enough free memory; use a smaller model or context, or the CPU")
        self._buffer = buffer
        if weights:
            lib.ggml_backend_buffer_set_usage(buffer, _USAGE_WEIGHTS)

    def clear(self) -> None:
        """Set every byte of the memory to 0."""
        if self._buffer:
            lib.ggml_backend_buffer_clear(self._buffer, 0)

    def close(self) -> None:
        """Free memory and structs; harmless when repeated."""
        if self._buffer:
            lib.ggml_backend_buffer_free(self._buffer)
            self._buffer = None
        if self._handle:
            lib.ggml_free(self._handle)
            self._handle.value = None


class Borrowed(Arena):
    """A context that somebody else owns, such as the one llama.cpp builds a graph in; nothing of it is freed here."""

    def __init__(self, handle: GgmlContextHandle, tensors: int) -> None:
        """At most `tensors` structs are added to it."""
        self._handle = handle
        self._room = tensors
        self._buffer = None

    def give_back(self) -> None:
        """Its owner may free it from now on: tensors made here are not to be used any more."""
        self._handle = GgmlContextHandle()


_USAGE_WEIGHTS = 1
"""`GGML_BACKEND_BUFFER_USAGE_WEIGHTS`."""
