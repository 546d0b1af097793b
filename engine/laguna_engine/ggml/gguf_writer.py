"""Writes GGUF files: header by ggml's own functions, weights in the format asked for by llama.cpp's own quantizers.

A file appears whole or not at all. Weights are read and converted a piece at a time, so memory stays at a few tens of
megabytes whatever their size. A quantized drafter keeps its source's metadata.
"""

import ctypes
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from laguna_engine.errors import ModelFileError
from laguna_engine.ggml.tensor import TensorContext, Type
from laguna_engine.gguf.formats import ValueType
from laguna_engine.gguf.quantization import FILE_TYPES, QUANTIZATION_VERSION, QuantizationPlan, padded
from laguna_engine.gguf.tensors import TensorInfo
from laguna_engine.native.library import lib, recent_log
from laguna_engine.native.structs import GgufHandle, GgufInitParams

Written = bool | int | float | str | tuple[int, ...] | tuple[bool, ...]
"""A metadata value: whole numbers become uint32, fractions float32, arrays int32 or bool."""

_PIECE = 1 << 22
"""Weights converted at once: 16 MB as float32, a few milliseconds, so that Ctrl-C is heard."""

_UNFINISHED = ".part"
_FLOATS = ("f32", "f16", "bf16")


@contextmanager
def whole_file(target: Path, needed: int) -> Iterator[BinaryIO]:
    """A file to write about `needed` bytes to (and to read back), put at `target` when the block is left without error.

    Until then it is called `target` + ".part"; whatever ends the work early, Ctrl-C included, removes that.
    ModelFileError if there is no room or writing fails.
    """
    part = target.with_name(target.name + _UNFINISHED)
    try:
        _check_space(target, needed)
        with part.open("w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    except OSError as error:
        raise ModelFileError(
            f"{target}: cannot be written ({error.strerror}); check the folder and its space"
        ) from error
    finally:
        part.unlink(missing_ok=True)


def _check_space(target: Path, needed: int) -> None:
    free = shutil.disk_usage(target.parent).free
    if free < needed:
        raise ModelFileError(
            f"{target}: needs {needed / 1e9:.2f} GB, {free / 1e9:.2f} GB are free; free some, or choose another folder"
        )


def head(
    metadata: Mapping[str, Written], tensors: Iterable[tuple[str, str, tuple[int, ...]]], source: Path | None = None
) -> bytes:
    """Everything before the tensors' data; `tensors` are names, formats and shapes in the file's order.

    source: a GGUF whose metadata comes first. ModelFileError if llama.cpp cannot read it.
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
    # ggml copies the key without following it, and lays tensors out by the default.
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
    """The tensor that `info` finds in the open `file`, in the format `kind`; `path` is for messages.

    ModelFileError if the file is shorter than `info` says or its weights are not numbers.
    """
    width, rows = info.shape[0], prod(info.shape[1:])
    row_bytes = info.size // rows
    step = max(1, _PIECE // width)
    for first in range(0, rows, step):
        data = read_exactly(file, path, info.offset + first * row_bytes, min(step, rows - first) * row_bytes)
        yield data if info.format not in _FLOATS else _converted(data, path, info, kind)


def read_exactly(file: BinaryIO, path: Path, offset: int, size: int) -> bytes:
    """`size` bytes from `offset`; ModelFileError if they are not there any more."""
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
    """`data` in one of the unquantized formats as numbers."""
    if name == "bf16":
        # The upper half of a float32.
        return (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32)
    return np.frombuffer(data, Type.from_name(name).numpy).astype(np.float32)


def quantized(weights: NDArray[np.float32], width: int, kind: Type) -> bytes:
    """Flat `weights` in rows of `width`, in the blocks of a quantized type."""
    rows = len(weights) // width
    made = ctypes.create_string_buffer(rows * kind.row_bytes(width))
    lib.ggml_quantize_chunk(kind, weights.ctypes.data, made, 0, rows, width, None)
    return made.raw


Progress = Callable[[int, int], None]
"""Told the bytes written and about how many there will be."""


def write_quantized(plan: QuantizationPlan, target: Path, provenance: Mapping[str, str], progress: Progress) -> None:
    """Carry out `plan` and put the result at `target`, replacing what is there; `provenance` goes into the metadata.

    ModelFileError if there is no room, if the source holds weights that are not numbers, or if reading or writing
    fails; then, and after Ctrl-C, there is no new file.
    """
    with whole_file(target, plan.file_bytes) as file, plan.source.path.open("rb") as source:
        file.write(_head(plan, provenance))
        _copy(plan, source, file, progress)


def _head(plan: QuantizationPlan, provenance: Mapping[str, str]) -> bytes:
    metadata: dict[str, Written] = {
        "general.quantization_version": QUANTIZATION_VERSION,
        "general.file_type": FILE_TYPES[plan.kind],
        **provenance,
    }
    tensors = [(change.info.name, change.format, change.info.shape) for change in plan.changes]
    return head(metadata, tensors, plan.source.path)


def _copy(plan: QuantizationPlan, source: BinaryIO, file: BinaryIO, progress: Progress) -> None:
    for change in plan.changes:
        for piece in pieces(source, plan.source.path, change.info, change.format):
            file.write(piece)
            progress(file.tell(), plan.file_bytes)
        file.write(b"\0" * (padded(change.size) - change.size))
