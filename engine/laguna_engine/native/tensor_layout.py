"""Byte offsets of the fields of `ggml_tensor` that have no accessor, and functions to read them.

Valid for the pinned build only, which `selftest` checks. A dangling address crashes the process.
"""

import ctypes

from laguna_engine.native.structs import BufferHandle, TensorHandle

TENSOR_BYTES = 368
"""`ggml_tensor_overhead`: the struct and its entry in a context."""

TYPE, BUFFER, SHAPE, STRIDES, SOURCES, VIEWED, NAME = 0, 8, 16, 48, 152, 232, 256
DIMENSIONS = 4
SOURCE_COUNT = 10
"""`GGML_MAX_SRC`."""

_Shape = ctypes.c_int64 * DIMENSIONS
_Strides = ctypes.c_size_t * DIMENSIONS


def type_of(address: int) -> int:
    return ctypes.c_int32.from_address(address + TYPE).value


def shape_of(address: int) -> tuple[int, int, int, int]:
    """Return the elements in each dimension, row length first."""
    one, two, three, four = _Shape.from_address(address + SHAPE)
    return one, two, three, four


def strides_of(address: int) -> tuple[int, int, int, int]:
    """Return the bytes between elements, rows, planes and cubes."""
    one, two, three, four = _Strides.from_address(address + STRIDES)
    return one, two, three, four


def buffer_of(address: int) -> BufferHandle | None:
    """Return the buffer of the tensor, or of the tensor it is a view of; None before allocation."""
    own = _pointer(address + BUFFER)
    viewed = _pointer(address + VIEWED)
    pointer = own or (_pointer(viewed + BUFFER) if viewed else None)
    return BufferHandle(pointer) if pointer else None


def sources_of(address: int) -> list[TensorHandle]:
    """Return the operands of the tensor's operation."""
    pointers = (_pointer(address + SOURCES + 8 * index) for index in range(SOURCE_COUNT))
    return [TensorHandle(pointer) for pointer in pointers if pointer]


def name_of(address: int) -> str:
    return ctypes.string_at(address + NAME).decode("utf-8", "replace")


def _pointer(address: int) -> int | None:
    return ctypes.c_void_p.from_address(address).value
