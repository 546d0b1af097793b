"""The tensor table: names, shapes, formats and offsets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from laguna_engine.gguf.formats import DEFAULT_ALIGNMENT, MAX_DIMS, MAX_NAME_BYTES, TENSOR_FORMATS
from laguna_engine.gguf.reader import Damaged, Reader, Value

MAX_TENSORS = 65_536
"""More than a 512-layer mixture of experts with every tensor split has."""

MAX_ELEMENTS = 2**63 - 1
"""ggml counts elements in int64."""

MIN_ALIGNMENT, MAX_ALIGNMENT = 32, 1 << 20
"""ggml asserts that mapped tensors are aligned to 32 bytes (`TENSOR_ALIGNMENT`). A larger maximum has no use and would
let a few bytes claim gigabytes."""


NOT_WEIGHTS = frozenset("i8 i16 i32 i64 f64 q8_1 q8_K".split())
"""Formats of indices and intermediate results, which matrix products cannot read."""

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One tensor of a file.

    Attributes:
        name: its name.
        shape: in ggml's order, row length first, without trailing ones.
        format: name of its type, such as "q4_K".
        offset: of its data from the start of the file, in bytes.
        size: of its data, in bytes.
        part: number of its file, of a model in parts.
    """

    name: str
    shape: tuple[int, ...]
    format: str
    offset: int
    size: int
    part: int = 0


def alignment_of(metadata: Mapping[str, Value]) -> int:
    """Return the alignment of tensor data, in bytes."""
    value = metadata.get("general.alignment", DEFAULT_ALIGNMENT)
    if type(value) is not int or not MIN_ALIGNMENT <= value <= MAX_ALIGNMENT or value & (value - 1):
        raise Damaged(f"its alignment {value!r} is not a power of two from {MIN_ALIGNMENT} to {MAX_ALIGNMENT}")
    return value


def read_tensors(reader: Reader, count: int, alignment: int, file_size: int) -> tuple[TensorInfo, ...]:
    """Read the `count` entries of the table and check that their data is inside the file.

    As in llama.cpp, every tensor must start where the one before it ends, rounded up to `alignment`, so none overlap.
    """
    if count > MAX_TENSORS:
        raise Damaged(f"it claims {count} tensors, more than {MAX_TENSORS}")
    entries = [_read_entry(reader, index) for index in range(count)]
    names = {name for name, _, _, _ in entries}
    if len(names) != count:
        raise Damaged("two of its tensors have the same name")
    return _place(entries, _padded(reader.position, alignment), alignment, file_size)


_Entry = tuple[str, tuple[int, ...], int, int]
"""Name, shape, `ggml_type`, offset from the start of the tensor data."""


def _read_entry(reader: Reader, index: int) -> _Entry:
    name = reader.string(f"the name of tensor {index}")
    if not name or len(name.encode()) > MAX_NAME_BYTES:
        raise Damaged(f"tensor {index} has a name of {len(name)} characters")
    dims = reader.number("I", name)
    if not 0 < dims <= MAX_DIMS:
        raise Damaged(f"{name} has {dims} dimensions")
    shape = tuple(reader.number("q", name) for _ in range(dims))
    kind = reader.number("I", name)
    _check_shape(name, shape, kind)
    return name, shape, kind, reader.number("Q", name)


def _check_shape(name: str, shape: Sequence[int], kind: int) -> None:
    if min(shape) <= 0 or prod(shape) > MAX_ELEMENTS:
        raise Damaged(f"{name} has the impossible shape {tuple(shape)}")
    tensor_format = TENSOR_FORMATS.get(kind)
    if tensor_format is None:
        raise Damaged(f"{name} has the unknown tensor type {kind}")
    if shape[0] % tensor_format.block:
        raise Damaged(f"{name} has rows of {shape[0]}, not whole {tensor_format.name} blocks of {tensor_format.block}")


def _place(entries: Sequence[_Entry], start: int, alignment: int, file_size: int) -> tuple[TensorInfo, ...]:
    tensors: list[TensorInfo] = []
    expected = 0
    for name, shape, kind, offset in entries:
        if offset != expected:
            raise Damaged(f"the data of {name} begins at {offset} instead of {expected}")
        tensor_format = TENSOR_FORMATS[kind]
        size = prod(shape) // tensor_format.block * tensor_format.size
        if start + offset + size > file_size:
            raise Damaged(f"it has {_gigabytes(file_size)} of at least {_gigabytes(start + offset + size)} GB")
        tensors.append(TensorInfo(name, trimmed(shape), tensor_format.name, start + offset, size))
        expected = _padded(offset + size, alignment)
    return tuple(tensors)


def check_shape(name: str, found: Shape | None, expected: Shape) -> None:
    """Raise Damaged if the tensor `name` is missing (`found` is None) or has another shape."""
    if found is None:
        raise Damaged(f"the tensor {name} is missing")
    if trimmed(found) != trimmed(expected):
        raise Damaged(f"{name} has the shape {found}, expected {trimmed(expected)}")


def trimmed(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return `shape` without trailing ones: to ggml [8], [8, 1] and [8, 1, 1] are the same."""
    length = len(shape)
    while length > 1 and shape[length - 1] == 1:
        length -= 1
    return shape[:length]


def _padded(position: int, alignment: int) -> int:
    return -(-position // alignment) * alignment


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.3g}"
