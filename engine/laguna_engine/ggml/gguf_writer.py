"""Writes GGUF files: the header with ggml's own functions, quantized weights with llama.cpp's own quantizers.

Files are written atomically. Weights are read and converted in pieces, so memory stays at a few tens of megabytes
whatever their size. A quantized drafter has its source's metadata.
"""

import ctypes
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from math import prod
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from laguna_engine.errors import ModelFileError
from laguna_engine.files import replacing, unfinished_files
from laguna_engine.ggml.tensor import TensorContext, Type
from laguna_engine.gguf.formats import ValueType
from laguna_engine.gguf.quantization import FILE_TYPES, QUANTIZATION_VERSION, QuantizationPlan, padded
from laguna_engine.gguf.tensors import TensorInfo
from laguna_engine.native.library import lib, recent_log
from laguna_engine.native.structs import GgufHandle, GgufInitParams

Written = bool | int | float | str | tuple[int, ...] | tuple[bool, ...]
"""A metadata value: integers are written as uint32, floats as float32, tuples as arrays of int32 or bool."""

_PIECE = 1 << 22
"""Weights converted at once: 16 MB as float32, a few milliseconds, so that Ctrl-C takes effect."""

_ABANDONED_S = 3600.0
_FLOATS = ("f32", "f16", "bf16")


@contextmanager
def whole_file(target: Path, needed: int) -> Iterator[BinaryIO]:
    """Open a file for writing and reading, moved to `target` when the block ends without an error.

    Until then it lies beside it under a name of its own, and is removed on any error, Ctrl-C included.

    Args:
        target: the final path.
        needed: approximate size in bytes.

    Raises:
        ModelFileError: there is not enough space, `target` is not a regular file, or writing fails.
    """
    try:
        for path in unfinished_files(Path(os.path.realpath(target))):
            # Left by a killed process: nobody has written to it for an hour.
            with suppress(OSError):
                if time.time() - path.lstat().st_mtime > _ABANDONED_S:
                    path.unlink()
        free = shutil.disk_usage(Path(os.path.realpath(target)).parent).free
        if free < needed:
            raise ModelFileError(
                f"{target}: needs {needed / 1e9:.2f} GB, {free / 1e9:.2f} GB are free; "
                "free some, or choose another folder"
            )
        with replacing(target, mode=0o666, keep_mode=True, durable=True) as file:
            yield file
    except OSError as error:
        raise ModelFileError(
            f"{target}: cannot be written ({error.strerror}); check the folder and its space"
        ) from error


def head(
    metadata: Mapping[str, Written], tensors: Iterable[tuple[str, str, tuple[int, ...]]], source: Path | None = None
) -> bytes:
    """Return the bytes of a GGUF header, up to the tensors' data.

    Args:
        metadata: keys and values.
        tensors: names, formats and shapes, in file order.
        source: a GGUF file whose metadata is copied first.

    Raises:
        ModelFileError: llama.cpp cannot read `source`.
    """
    table = list(tensors)
    made: GgufHandle = lib.gguf_init_empty()
    arena = TensorContext(len(table))
    try:
        if source is not None:
            _copy_metadata(made, source)
        for key, value in metadata.items():
            _set(made, key.encode(), value)
        for name, kind, shape in table:
            lib.gguf_add_tensor(made, arena.new(name, Type.from_name(kind), *shape).handle)
        data = ctypes.create_string_buffer(lib.gguf_get_meta_size(made))
        lib.gguf_get_meta_data(made, data)
        return data.raw
    finally:
        arena.close()
        lib.gguf_free(made)


def _copy_metadata(made: GgufHandle, path: Path) -> None:
    source: GgufHandle = lib.gguf_init_from_file(os.fsencode(path), GgufInitParams(True, None))
    if not source:
        raise ModelFileError(f"{path}: llama.cpp cannot read it ({recent_log()}); download it again")
    lib.gguf_set_kv(made, source)
    lib.gguf_free(source)
    # ggml copies this key but ignores it: tensors are laid out with the default alignment.
    lib.gguf_remove_key(made, b"general.alignment")


def _set(made: GgufHandle, key: bytes, value: Written) -> None:
    if isinstance(value, str):
        lib.gguf_set_val_str(made, key, value.encode())
    elif isinstance(value, bool):
        lib.gguf_set_val_bool(made, key, value)
    elif isinstance(value, int):
        lib.gguf_set_val_u32(made, key, value)
    elif isinstance(value, float):
        lib.gguf_set_val_f32(made, key, value)
    else:
        yes_or_no = isinstance(value[0], bool)
        data = np.array(value, np.int8 if yes_or_no else np.int32)
        lib.gguf_set_arr_data(made, key, ValueType.BOOL if yes_or_no else ValueType.INT32, data.ctypes.data, len(data))


def pieces(file: BinaryIO, path: Path, info: TensorInfo, kind: str) -> Iterator[bytes]:
    """Yield the data of a tensor, converted to the format `kind`, in pieces.

    Args:
        file: the open file.
        path: its path, for error messages.
        info: the tensor in it.
        kind: the format to convert to; quantized tensors are copied unchanged.

    Raises:
        ModelFileError: the file is too short, or its weights are not finite.
    """
    width, rows = info.shape[0], prod(info.shape[1:])
    row_bytes = info.size // rows
    step = max(1, _PIECE // width)
    for first in range(0, rows, step):
        data = read_exactly(file, path, info.offset + first * row_bytes, min(step, rows - first) * row_bytes)
        yield data if info.format not in _FLOATS else _converted(data, path, info, kind)


def read_exactly(file: BinaryIO, path: Path, offset: int, size: int) -> bytes:
    """Read `size` bytes from `offset`; ModelFileError if the file has become shorter."""
    file.seek(offset)
    data = file.read(size)
    if len(data) != size:
        raise ModelFileError(f"{path}: it became shorter while it was read; download it again")
    return data


def _converted(data: bytes, path: Path, info: TensorInfo, kind: str) -> bytes:
    weights = _floats(data, info.format)
    if not np.isfinite(weights).all():
        raise ModelFileError(f"{path}: {info.name} holds weights that are not numbers; download it again")
    return data if kind == info.format else quantized(weights, info.shape[0], Type.from_name(kind))


def _floats(data: bytes, name: str) -> NDArray[np.float32]:
    """Convert `data` in an unquantized format to float32."""
    if name == "bf16":
        # bf16 is the upper half of a float32.
        return (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32)
    return np.frombuffer(data, Type.from_name(name).numpy).astype(np.float32)


def quantized(weights: NDArray[np.float32], width: int, kind: Type) -> bytes:
    """Quantize flat `weights` with rows of `width` to the type `kind`."""
    rows = len(weights) // width
    made = ctypes.create_string_buffer(rows * kind.row_bytes(width))
    lib.ggml_quantize_chunk(kind, weights.ctypes.data, made, 0, rows, width, None)
    return made.raw


Progress = Callable[[int, int], None]
"""Called with the bytes written and the approximate total."""


def write_quantized(plan: QuantizationPlan, target: Path, provenance: Mapping[str, str], progress: Progress) -> None:
    """Execute `plan` and write the result to `target`, replacing an existing file.

    Args:
        plan: formats of all tensors.
        target: path of the new file; it is not written on an error or Ctrl-C.
        provenance: metadata to add.
        progress: called after every piece.

    Raises:
        ModelFileError: there is not enough space, the source's weights are not finite, or reading or writing fails.
    """
    with whole_file(target, plan.file_bytes) as file, plan.source.path.open("rb") as source:
        metadata: dict[str, Written] = {
            "general.quantization_version": QUANTIZATION_VERSION,
            "general.file_type": FILE_TYPES[plan.kind],
            **provenance,
        }
        tensors = [(change.info.name, change.format, change.info.shape) for change in plan.changes]
        file.write(head(metadata, tensors, plan.source.path))
        for change in plan.changes:
            for piece in pieces(source, plan.source.path, change.info, change.format):
                file.write(piece)
                progress(file.tell(), plan.file_bytes)
            file.write(b"\0" * (padded(change.size) - change.size))
