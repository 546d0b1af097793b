"""Tensors allocated on a device, and copies between them and numpy arrays.

`DeviceTensors` outlive a single computation: KV rings, tap buffers, a drafter's maps.
"""

import ctypes
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laguna_engine.errors import GraphError
from laguna_engine.ggml.device import ComputeBackend
from laguna_engine.ggml.tensor import Tensor, TensorContext, Type, check_array
from laguna_engine.native.library import lib

_PIECE = 4 << 20
"""Bytes per copy: other Python threads are blocked meanwhile."""


def write(tensor: Tensor, values: NDArray[Any], offset: int = 0) -> None:
    """Copy `values` into the tensor, from byte `offset` on. Takes about 3 us of Python.

    Raises:
        GraphError: `values` has another number format than the tensor, or does not fit.
    """
    if values.dtype != tensor.type.numpy:
        raise GraphError(f"{tensor} cannot take {values.dtype} values; convert them first")
    if not values.flags.c_contiguous:
        values = np.ascontiguousarray(values)
    _put(tensor, values.ctypes.data, offset, values.nbytes)


def write_bytes(tensor: Tensor, data: memoryview, *, at_once: bool = False) -> None:
    """Write the raw bytes of a whole tensor, quantized blocks included.

    Args:
        tensor: the tensor.
        data: its bytes.
        at_once: in a single copy, as extra buffer types need: ggml aborts on partial writes to them.

    Raises:
        GraphError: `data` has another size than the tensor.
    """
    if data.nbytes != tensor.nbytes:
        raise GraphError(f"{tensor} takes {tensor.nbytes} bytes, not {data.nbytes}")
    address = np.frombuffer(data, np.uint8).ctypes.data
    piece = data.nbytes if at_once else _PIECE
    for start in range(0, data.nbytes, piece):
        _put(tensor, address + start, start, min(piece, data.nbytes - start))


def read(tensor: Tensor) -> NDArray[Any]:
    """A copy of the tensor; the array's shape is the tensor's reversed, without leading ones. Waits for the device."""
    values = np.empty(tensor.shape[::-1], tensor.type.numpy)
    read_into(tensor, values)
    return values.reshape(values.shape[next((i for i, size in enumerate(values.shape) if size > 1), 3) :])


def read_into(tensor: Tensor, values: NDArray[Any]) -> None:
    """Fill `values` (contiguous, in the tensor's format) with the tensor's first elements."""
    check_array(tensor, values)
    lib.ggml_backend_tensor_get(tensor.handle, ctypes.c_void_p(values.ctypes.data), 0, values.nbytes)


def read_rows(tensor: Tensor, start: int, values: NDArray[Any]) -> None:
    """Fill `values` [count, row length] (contiguous, in the tensor's format) with a matrix's rows from `start` on."""
    check_array(tensor, values)
    row = tensor.type.row_bytes(tensor.shape[0])
    if not 0 <= start * row <= tensor.nbytes - values.nbytes or values.nbytes != len(values) * row:
        raise GraphError(f"{tensor} has no {len(values)} rows from row {start} on")
    lib.ggml_backend_tensor_get(tensor.handle, ctypes.c_void_p(values.ctypes.data), start * row, values.nbytes)


def _put(tensor: Tensor, address: int, offset: int, size: int) -> None:
    if not tensor.contiguous or tensor.buffer is None:
        raise GraphError(f"{tensor} cannot be written; it is not contiguous or has no memory")
    if not 0 <= offset <= tensor.nbytes - size:
        raise GraphError(f"{tensor} has {tensor.nbytes} bytes; {size} at {offset} would not fit")
    lib.ggml_backend_tensor_set(tensor.handle, ctypes.c_void_p(address), offset, size)


class DeviceTensors:
    """Named tensors in one device buffer, initialised to zero."""

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

    def write(self, name: str, values: NDArray[Any], offset: int = 0) -> None:
        """Copy `values` into the tensor `name`, from byte `offset` on."""
        write(self._tensors[name], values, offset)

    def read(self, name: str) -> NDArray[Any]:
        """A copy of the tensor `name`, its shape reversed."""
        return read(self._tensors[name])

    def read_into(self, name: str, values: NDArray[Any]) -> None:
        """Fill `values` with the first elements of the tensor `name`."""
        read_into(self._tensors[name], values)

    def clear(self) -> None:
        """Zero all tensors."""
        self._arena.clear()

    def close(self) -> None:
        """Free the memory. Idempotent."""
        self._arena.close()
