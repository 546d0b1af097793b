"""ggml's tensors, their number formats, the contexts that own them, and copies between them and numpy arrays.

A tensor's properties are read from the native struct once. Its handle is checked on every use, because a handle whose
context was freed would crash the process.
"""

import ctypes
from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from laguna_engine.errors import GraphError, GraphOutOfMemory
from laguna_engine.ggml.device import ComputeBackend
from laguna_engine.gguf.formats import TENSOR_FORMATS
from laguna_engine.native import tensor_layout
from laguna_engine.native.library import lib
from laguna_engine.native.structs import BufferHandle, BufferTypeHandle, GgmlContextHandle, GgmlInitParams, TensorHandle
from laguna_engine.native.tensor_layout import TENSOR_BYTES

_PIECE = 4 << 20
"""Bytes per copy: other Python threads are blocked meanwhile."""

_NUMPY: dict[int, DTypeLike] = {0: np.float32, 1: np.float16, 26: np.int32, 27: np.int64}


class Type(IntEnum):
    """A tensor's number format; the value is its `ggml_type`. Quantized formats consist of blocks."""

    F32 = 0
    F16 = 1
    Q4_0 = 2
    Q4_1 = 3
    Q5_0 = 6
    Q5_1 = 7
    Q8_0 = 8
    Q2_K = 10
    Q3_K = 11
    Q4_K = 12
    Q5_K = 13
    Q6_K = 14
    IQ4_NL = 20
    IQ4_XS = 23
    I32 = 26
    I64 = 27
    BF16 = 30
    MXFP4 = 39
    NVFP4 = 40

    @classmethod
    def from_name(cls, name: str) -> "Type":
        """Return the type with ggml's name `name`, such as "q4_K"; GraphError for one that is not supported."""
        for number, known in TENSOR_FORMATS.items():
            if known.name == name and number in cls._value2member_map_:
                return cls(number)
        raise GraphError(f"tensors of the type {name} cannot be computed with; use f16, q8_0 or q4_K weights")

    @property
    def block(self) -> int:
        """Elements of a block; 1 if not quantized."""
        return TENSOR_FORMATS[self].block

    @property
    def block_bytes(self) -> int:
        """Bytes of one block; of one element if not quantized."""
        return TENSOR_FORMATS[self].size

    @property
    def quantized(self) -> bool:
        """Whether elements of a block share a scale."""
        return self.block > 1

    @property
    def numpy(self) -> DTypeLike:
        """The numpy dtype; GraphError if there is none."""
        if self not in _NUMPY:
            raise GraphError(f"{self.name} has no numpy format; cast the tensor first")
        return _NUMPY[self]

    def row_bytes(self, elements: int) -> int:
        """Return the bytes of a contiguous row of `elements`."""
        return elements // self.block * self.block_bytes


Shape = tuple[int, int, int, int]
"""ggml's order: row length first; trailing dimensions are 1."""


class Owner(Protocol):
    """The owner of tensor structs."""

    @property
    def alive(self) -> bool:
        """Whether its structs may still be used."""
        ...


class Tensor:
    """A tensor.

    Attributes:
        type: number format.
        shape: row length first.
        strides: bytes between elements, rows, planes and cubes.
        name: ggml's name.
    """

    __slots__ = ("_handle", "_owner", "name", "shape", "strides", "type")

    def __init__(self, handle: TensorHandle, owner: Owner) -> None:
        """Read the native struct; GraphError for NULL or an unsupported type."""
        address = handle.value
        if not address:
            raise GraphError("there is no such tensor; the graph was built wrongly")
        number = tensor_layout.type_of(address)
        if number not in Type._value2member_map_:
            raise GraphError(f"a tensor of ggml's type {number} cannot be used; use f16, q8_0 or q4_K weights")
        self._handle = handle
        self._owner = owner
        self.type = Type(number)
        self.shape: Shape = tensor_layout.shape_of(address)
        self.strides: Shape = tensor_layout.strides_of(address)
        self.name = tensor_layout.name_of(address)

    @property
    def handle(self) -> TensorHandle:
        """ggml's handle; GraphError after its owner is closed."""
        if not self._owner.alive:
            raise GraphError(f"the tensor {self.name or self.shape} was freed; build the graph again")
        return self._handle

    @property
    def elements(self) -> int:
        """Number of elements."""
        one, two, three, four = self.shape
        return one * two * three * four

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.shape[1] * self.shape[2] * self.shape[3]

    @property
    def nbytes(self) -> int:
        """Bytes of its elements without gaps; its size if it is contiguous."""
        return self.type.row_bytes(self.shape[0]) * self.rows

    @property
    def contiguous(self) -> bool:
        """Whether it has no gaps and is not permuted."""
        row = self.type.row_bytes(self.shape[0])
        return self.strides == (self.type.block_bytes, row, row * self.shape[1], row * self.shape[1] * self.shape[2])

    @property
    def contiguous_rows(self) -> bool:
        """Whether each row has no gaps."""
        return self.strides[0] == self.type.block_bytes

    @property
    def transposed(self) -> bool:
        """Whether rows and columns are swapped in memory."""
        return self.strides[0] > self.strides[1]

    @property
    def buffer(self) -> BufferHandle | None:
        """Its buffer; None before allocation."""
        address = self.handle.value
        assert address is not None, "handles of living owners are never empty"
        return tensor_layout.buffer_of(address)

    def __repr__(self) -> str:
        return f"{self.name or 'tensor'} {self.type.name} {list(self.shape)}"

    def write(self, values: NDArray[Any], offset: int = 0) -> None:
        """Copy `values` into the tensor, from byte `offset` on. Takes about 3 us of Python.

        Raises:
            GraphError: `values` has another number format than the tensor, or does not fit.
        """
        if values.dtype != self.type.numpy:
            raise GraphError(f"{self} cannot take {values.dtype} values; convert them first")
        if not values.flags.c_contiguous:
            values = np.ascontiguousarray(values)
        self._put(values.ctypes.data, offset, values.nbytes)

    def write_bytes(self, data: memoryview, *, at_once: bool = False) -> None:
        """Write the raw bytes of the whole tensor, quantized blocks included.

        Args:
            data: its bytes.
            at_once: in a single copy, as extra buffer types need: ggml aborts on partial writes to them.

        Raises:
            GraphError: `data` has another size than the tensor.
        """
        if data.nbytes != self.nbytes:
            raise GraphError(f"{self} takes {self.nbytes} bytes, not {data.nbytes}")
        address = np.frombuffer(data, np.uint8).ctypes.data
        piece = data.nbytes if at_once else _PIECE
        for start in range(0, data.nbytes, piece):
            self._put(address + start, start, min(piece, data.nbytes - start))

    def read(self) -> NDArray[Any]:
        """Return a copy; its shape is the tensor's reversed, without leading ones. Waits for the device."""
        values = np.empty(self.shape[::-1], self.type.numpy)
        self.read_into(values)
        return values.reshape(values.shape[next((i for i, size in enumerate(values.shape) if size > 1), 3) :])

    def read_into(self, values: NDArray[Any]) -> None:
        """Fill `values` (contiguous, in the tensor's format) with the tensor's first elements."""
        check_array(self, values)
        lib.ggml_backend_tensor_get(self.handle, ctypes.c_void_p(values.ctypes.data), 0, values.nbytes)

    def read_rows(self, start: int, values: NDArray[Any]) -> None:
        """Fill `values` [count, row length] (contiguous, in the tensor's format) with a matrix's rows from `start`."""
        check_array(self, values)
        row = self.type.row_bytes(self.shape[0])
        if not 0 <= start * row <= self.nbytes - values.nbytes or values.nbytes != len(values) * row:
            raise GraphError(f"{self} does not have {len(values)} rows from row {start} on")
        lib.ggml_backend_tensor_get(self.handle, ctypes.c_void_p(values.ctypes.data), start * row, values.nbytes)

    def _put(self, address: int, offset: int, size: int) -> None:
        if not self.contiguous or self.buffer is None:
            raise GraphError(f"{self} cannot be written; it is not contiguous or has no memory")
        if not 0 <= offset <= self.nbytes - size:
            raise GraphError(f"{self} has {self.nbytes} bytes; {size} at {offset} would not fit")
        lib.ggml_backend_tensor_set(self.handle, ctypes.c_void_p(address), offset, size)


_SPARE = 16
"""Additional structs per context: ggml aborts when a context is full."""

MAX_NAME_BYTES = 63


class TensorContext:
    """A `ggml_context` without data. Owns tensor structs and counts them, because ggml aborts on a full context."""

    def __init__(self, tensors: int, graph_nodes: int = 0) -> None:
        """Reserve structs for `tensors`, and for a graph of `graph_nodes` nodes if not 0."""
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
        """ggml's handle; GraphError after `close`."""
        if not self._handle:
            raise GraphError("this graph's tensors were freed; build the graph again")
        return self._handle

    @property
    def nbytes(self) -> int:
        """Bytes of its tensors on their device; 0 before `allocate`."""
        return lib.ggml_backend_buffer_get_size(self._buffer) if self._buffer else 0

    def take(self, count: int = 1) -> None:
        """Count `count` new structs; GraphError where ggml would abort on a full context."""
        self._room -= count
        if self._room < 0:
            raise GraphError("the graph has more nodes than were planned for; plan more")

    def new(self, name: str, kind: Type, *shape: int) -> Tensor:
        """Create a tensor, not yet allocated; GraphError for an invalid shape."""
        dims = [*shape, 1, 1, 1, 1][:4]
        if len(shape) > 4 or min(dims) < 1 or dims[0] % kind.block:
            raise GraphError(f"{name}: {list(shape)} is not a shape for {kind.name}")
        self.take()
        handle = lib.ggml_new_tensor_4d(self.handle, kind, *dims)
        lib.ggml_set_name(handle, name.encode()[:MAX_NAME_BYTES])
        return Tensor(handle, self)

    def allocate(self, buffer_type: BufferTypeHandle, *, weights: bool = False) -> None:
        """Allocate all tensors; GraphOutOfMemory if memory is short. `weights` marks the buffer as holding weights."""
        buffer: BufferHandle = lib.ggml_backend_alloc_ctx_tensors_from_buft(self.handle, buffer_type)
        if not buffer:
            where = lib.ggml_backend_buft_name(buffer_type).decode("utf-8", "replace")
            raise GraphOutOfMemory(f"{where} has not enough free memory; use a smaller model or context, or the CPU")
        self._buffer = buffer
        if weights:
            lib.ggml_backend_buffer_set_usage(buffer, _USAGE_WEIGHTS)

    def clear(self) -> None:
        """Zero the buffer."""
        if self._buffer:
            lib.ggml_backend_buffer_clear(self._buffer, 0)

    def close(self) -> None:
        """Free the buffer and the structs. Idempotent."""
        if self._buffer:
            lib.ggml_backend_buffer_free(self._buffer)
            self._buffer = None
        if self._handle:
            lib.ggml_free(self._handle)
            self._handle.value = None


class DeviceTensors:
    """Named tensors in one device buffer, initialised to zero: KV rings, tap buffers, a drafter's maps."""

    def __init__(self, backend: ComputeBackend, tensors: Mapping[str, tuple[Type, tuple[int, ...]]]) -> None:
        """Allocate the tensors; GraphOutOfMemory if memory is short."""
        self._arena = TensorContext(len(tensors))
        self._tensors = {name: self._arena.new(name, kind, *shape) for name, (kind, shape) in tensors.items()}
        try:
            self._arena.allocate(backend.buffer_type)
        except BaseException:
            self._arena.close()
            raise
        self.clear()

    def __getitem__(self, name: str) -> Tensor:
        return self._tensors[name]

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return self._arena.nbytes

    def clear(self) -> None:
        """Zero all tensors."""
        self._arena.clear()

    def close(self) -> None:
        """Free the memory. Idempotent."""
        self._arena.close()


class BorrowedContext(TensorContext):
    """A context owned elsewhere, such as the one llama.cpp builds a graph in; never freed here."""

    def __init__(self, handle: GgmlContextHandle, tensors: int) -> None:
        """Allow at most `tensors` structs to be added."""
        self._handle = handle
        self._room = tensors
        self._buffer = None

    def give_back(self) -> None:
        """Invalidate the tensors made here, because the owner may free the context from now on."""
        self._handle = GgmlContextHandle()


_USAGE_WEIGHTS = 1
"""`GGML_BACKEND_BUFFER_USAGE_WEIGHTS`."""


class Port:
    """A checked pair of an array and the beginning of a tensor, for copies on every run, at about 1 us of Python each.

    Attributes:
        values: the array; change it in place.
    """

    __slots__ = ("_address", "_size", "_tensor", "values")

    def __init__(self, tensor: Tensor, values: NDArray[Any]) -> None:
        """Allow at most `tensors` structs to be added."""
        check_array(tensor, values)
        self.values = values
        self._tensor = tensor
        self._address = ctypes.c_void_p(values.ctypes.data)
        self._size = values.nbytes

    def push(self) -> None:
        """Copy the array to the tensor."""
        lib.ggml_backend_tensor_set(self._tensor.handle, self._address, 0, self._size)

    def push_first(self, values: NDArray[Any]) -> None:
        """Copy `values`, at most as many as the array has, to the beginning of the array and of the tensor."""
        self.values[: len(values)] = values
        size = len(values) * self.values.itemsize
        lib.ggml_backend_tensor_set(self._tensor.handle, self._address, 0, size)

    def pull(self) -> None:
        """Copy the tensor to the array. Waits for the device."""
        lib.ggml_backend_tensor_get(self._tensor.handle, self._address, 0, self._size)


def check_array(tensor: Tensor, values: NDArray[Any]) -> None:
    if values.dtype != tensor.type.numpy or not values.flags.c_contiguous:
        raise GraphError(f"{tensor} cannot be read into {values.dtype} values; give a contiguous array of its format")
    if not tensor.contiguous or values.nbytes > tensor.nbytes or tensor.buffer is None:
        raise GraphError(
            f"{tensor} cannot be read as {values.nbytes} bytes; it is not contiguous, smaller or not allocated"
        )
