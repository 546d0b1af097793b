"""Bytes between numpy arrays and tensors on a device."""

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laguna_engine.errors import GraphError
from laguna_engine.ggml.tensor import Tensor
from laguna_engine.native.library import lib

_PIECE = 4 << 20
"""Bytes copied at once: nothing else of the program runs meanwhile."""


class Port:
    """An array and the beginning of a tensor it is copied to or from, checked once: for what moves on every run.

    values: the array; change it in place. A copy takes about 1 us of Python.
    """

    __slots__ = ("_address", "_size", "_tensor", "values")

    def __init__(self, tensor: Tensor, values: NDArray[Any]) -> None:
        """GraphError for an array of another format, not contiguous, or larger than the tensor."""
        _check(tensor, values)
        self.values = values
        self._tensor = tensor
        self._address = ctypes.c_void_p(values.ctypes.data)
        self._size = values.nbytes

    def push(self) -> None:
        """Copy the array into the tensor."""
        lib.ggml_backend_tensor_set(self._tensor.handle, self._address, 0, self._size)

    def pull(self) -> None:
        """Copy the tensor into the array. Waits for the device."""
        lib.ggml_backend_tensor_get(self._tensor.handle, self._address, 0, self._size)


def write(tensor: Tensor, values: NDArray[Any], offset: int = 0) -> None:
    """Copy `values`, of the tensor's own number format, into it, beginning `offset` bytes in.

    About 3 us of Python. GraphError for another number format, or if it would not fit.
    """
    if values.dtype != tensor.type.numpy:
        raise GraphError(f"{tensor} cannot take {values.dtype} values; convert them first")
    if not values.flags.c_contiguous:
        values = np.ascontiguousarray(values)
    _put(tensor, values.ctypes.data, offset, values.nbytes)


def write_bytes(tensor: Tensor, data: memoryview, *, at_once: bool = False) -> None:
    """Copy a tensor's whole raw content, quantized blocks included; GraphError for another size.

    at_once: in one piece, which memory with an order of its own needs: ggml aborts on parts.
    """
    if data.nbytes != tensor.nbytes:
        raise GraphError(f"{tensor} takes {tensor.nbytes} bytes, not {data.nbytes}")
    address = np.frombuffer(data, np.uint8).ctypes.data
    piece = data.nbytes if at_once else _PIECE
    for start in range(0, data.nbytes, piece):
        _put(tensor, address + start, start, min(piece, data.nbytes - start))


def read(tensor: Tensor) -> NDArray[Any]:
    """A copy of its content; the array's shape is the tensor's reversed, without leading ones. Waits for the device."""
    values = np.empty(tensor.shape[::-1], tensor.type.numpy)
    read_into(tensor, values)
    return values.reshape(values.shape[next((i for i, size in enumerate(values.shape) if size > 1), 3) :])


def read_into(tensor: Tensor, values: NDArray[Any]) -> None:
    """Fill `values` (contiguous, of the tensor's format) with the tensor's first elements."""
    _check(tensor, values)
    lib.ggml_backend_tensor_get(tensor.handle, ctypes.c_void_p(values.ctypes.data), 0, values.nbytes)


def read_rows(tensor: Tensor, start: int, values: NDArray[Any]) -> None:
    """Fill `values` [count, row length] (contiguous, of the tensor's format) with a matrix's rows from `start` on."""
    _check(tensor, values)
    row = tensor.type.row_bytes(tensor.shape[0])
    if not 0 <= start * row <= tensor.nbytes - values.nbytes or values.nbytes != len(values) * row:
        raise GraphError(f"{tensor} has no {len(values)} rows from row {start} on")
    lib.ggml_backend_tensor_get(tensor.handle, ctypes.c_void_p(values.ctypes.data), start * row, values.nbytes)


def _check(tensor: Tensor, values: NDArray[Any]) -> None:
    if values.dtype != tensor.type.numpy or not values.flags.c_contiguous:
        raise GraphError(f"{tensor} cannot be read into {values.dtype} values; give a contiguous array of its format")
    if not tensor.contiguous or values.nbytes > tensor.nbytes or tensor.buffer is None:
        raise GraphError(f"{tensor} cannot be read as {values.nbytes} bytes; it is not contiguous, smaller or nowhere")


def _put(tensor: Tensor, address: int, offset: int, size: int) -> None:
    if not tensor.contiguous or tensor.buffer is None:
        raise GraphError(f"{tensor} cannot be written; it is not contiguous or has no memory")
    if not 0 <= offset <= tensor.nbytes - size:
        raise GraphError(f"{tensor} has {tensor.nbytes} bytes; {size} at {offset} would not fit")
    lib.ggml_backend_tensor_set(tensor.handle, ctypes.c_void_p(address), offset, size)
