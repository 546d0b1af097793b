"""ggml's tensors, their number formats and the contexts that own them: what a tensor is, never what is in it.

Its facts are read from the native struct once. Handing one to an operation checks that the owner of its struct is still
there, because a dead handle crashes the process.
"""

import ctypes
from enum import IntEnum
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from laguna_engine.errors import GraphError, GraphOutOfMemory
from laguna_engine.gguf.formats import TENSOR_FORMATS
from laguna_engine.native import tensor_layout
from laguna_engine.native.library import lib
from laguna_engine.native.structs import BufferHandle, BufferTypeHandle, GgmlContextHandle, GgmlInitParams, TensorHandle
from laguna_engine.native.tensor_layout import TENSOR_BYTES

_NUMPY: dict[int, DTypeLike] = {0: np.float32, 1: np.float16, 26: np.int32, 27: np.int64}


class Type(IntEnum):
    """A tensor's number format; the value is its `ggml_type`. Quantized ones come in blocks."""

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
        """The type that GGUF headers call `name`, such as "q4_K"; GraphError for one that is not handled."""
        for number, known in TENSOR_FORMATS.items():
            if known.name == name and number in cls._value2member_map_:
                return cls(number)
        raise GraphError(f"tensors of the type {name} cannot be computed with; use f16, q8_0 or q4_K weights")

    @property
    def block(self) -> int:
        """Elements that are stored together."""
        return TENSOR_FORMATS[self].block

    @property
    def block_bytes(self) -> int:
        """Bytes of one block; of one element where nothing is quantized."""
        return TENSOR_FORMATS[self].size

    @property
    def quantized(self) -> bool:
        """Whether elements share a scale."""
        return self.block > 1

    @property
    def numpy(self) -> DTypeLike:
        """The same format in numpy; GraphError where there is none."""
        if self not in _NUMPY:
            raise GraphError(f"{self.name} has no numpy format; cast the tensor first")
        return _NUMPY[self]

    def row_bytes(self, elements: int) -> int:
        """Bytes of a contiguous row."""
        return elements // self.block * self.block_bytes


Shape = tuple[int, int, int, int]
"""Row length first, as ggml has it; trailing dimensions are 1."""


class Owner(Protocol):
    """Whoever keeps the structs of some tensors alive."""

    @property
    def alive(self) -> bool:
        """Whether they may still be used."""
        ...


class Tensor:
    """type, shape, strides (bytes) and name of one tensor; `nbytes` if it is contiguous."""

    __slots__ = ("_handle", "_owner", "name", "shape", "strides", "type")

    def __init__(self, handle: TensorHandle, owner: Owner) -> None:
        """GraphError for a type that is not handled."""
        address = handle.value
        if not address:
            raise GraphError("there is no such tensor; the graph was put together wrongly")
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
        """For native calls; GraphError once its owner is closed."""
        if not self._owner.alive:
            raise GraphError(f"the tensor {self.name or self.shape} is gone; its memory was freed")
        return self._handle

    @property
    def elements(self) -> int:
        """How many numbers it holds."""
        one, two, three, four = self.shape
        return one * two * three * four

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self.shape[1] * self.shape[2] * self.shape[3]

    @property
    def nbytes(self) -> int:
        """Bytes of its elements, without gaps."""
        return self.type.row_bytes(self.shape[0]) * self.rows

    @property
    def contiguous(self) -> bool:
        """Whether there are no gaps and nothing is permuted."""
        row = self.type.row_bytes(self.shape[0])
        return self.strides == (self.type.block_bytes, row, row * self.shape[1], row * self.shape[1] * self.shape[2])

    @property
    def contiguous_rows(self) -> bool:
        """Whether every row by itself is without gaps."""
        return self.strides[0] == self.type.block_bytes

    @property
    def transposed(self) -> bool:
        """Whether rows and columns are swapped in memory."""
        return self.strides[0] > self.strides[1]

    @property
    def buffer(self) -> BufferHandle | None:
        """The memory it lies in; None before there is any."""
        address = self.handle.value
        assert address is not None, "handles of living owners are never empty"
        return tensor_layout.buffer_of(address)

    def __repr__(self) -> str:
        return f"{self.name or 'tensor'} {self.type.name} {list(self.shape)}"


_SPARE = 16
"""Structs beyond those asked for: ggml aborts when a context is full."""

MAX_NAME_BYTES = 63


class TensorContext:
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


class BorrowedContext(TensorContext):
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


class Port:
    """An array and the beginning of a tensor it is copied to or from, checked once: for what moves on every run.

    values: the array; change it in place. A copy takes about 1 us of Python.
    """

    __slots__ = ("_address", "_size", "_tensor", "values")

    def __init__(self, tensor: Tensor, values: NDArray[Any]) -> None:
        """GraphError for an array of another format, not contiguous, or larger than the tensor."""
        check_array(tensor, values)
        self.values = values
        self._tensor = tensor
        self._address = ctypes.c_void_p(values.ctypes.data)
        self._size = values.nbytes

    def push(self) -> None:
        """Copy the array into the tensor."""
        lib.ggml_backend_tensor_set(self._tensor.handle, self._address, 0, self._size)

    def push_first(self, values: NDArray[Any]) -> None:
        """Copy `values`, at most as many as the array has, into its beginning and into that of the tensor."""
        self.values[: len(values)] = values
        size = len(values) * self.values.itemsize
        lib.ggml_backend_tensor_set(self._tensor.handle, self._address, 0, size)

    def pull(self) -> None:
        """Copy the tensor into the array. Waits for the device."""
        lib.ggml_backend_tensor_get(self._tensor.handle, self._address, 0, self._size)


def check_array(tensor: Tensor, values: NDArray[Any]) -> None:
    if values.dtype != tensor.type.numpy or not values.flags.c_contiguous:
        raise GraphError(f"{tensor} cannot be read into {values.dtype} values; give a contiguous array of its format")
    if not tensor.contiguous or values.nbytes > tensor.nbytes or tensor.buffer is None:
        raise GraphError(f"{tensor} cannot be read as {values.nbytes} bytes; it is not contiguous, smaller or nowhere")
