"""Writes a quantized drafter: header by ggml's own GGUF functions, weights by llama.cpp's own quantizers.

Reads the source mapped and a piece at a time, so memory stays at a few tens of megabytes whatever the file's size. The
target appears whole or not at all.
"""

import ctypes
import mmap
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from math import prod
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from laguna_engine.errors import ModelFileError
from laguna_engine.ggml.arena import Arena
from laguna_engine.ggml.types import Type
from laguna_engine.gguf.quantize import Change, Plan, padded
from laguna_engine.native.library import lib, recent_log
from laguna_engine.native.structs import GgufHandle, GgufInitParams

Progress = Callable[[int, int], None]
"""Told the bytes written and about how many there will be."""

_PIECE = 1 << 22
"""Weights converted at once: 16 MB as float32, a few milliseconds, so that Ctrl-C is heard."""

_QUANTIZATION_VERSION = 2
"""`GGML_QNT_VERSION` of the pinned build."""

_FILE_TYPES = {"q4_0": 2, "q8_0": 7}
"""`llama_ftype`: what a file mostly consists of."""

_UNFINISHED = ".part"


def write(plan: Plan, target: Path, provenance: Mapping[str, str], progress: Progress) -> None:
    """Carry out `plan` and put the result at `target`, replacing what is there; `provenance` goes into the metadata.

    Until it is complete it is called `target` + ".part"; whatever ends the work early, Ctrl-C included, removes that.
    ModelFileError if there is no room, if the source holds weights that are not numbers, or if reading or writing
    fails.
    """
    part = target.with_name(target.name + _UNFINISHED)
    try:
        _check_space(plan, target)
        with part.open("wb") as file:
            _write(plan, file, provenance, progress)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    except OSError as error:
        raise ModelFileError(
            f"{target}: cannot be written ({error.strerror}); check the folder and its space"
        ) from error
    finally:
        part.unlink(missing_ok=True)


def _check_space(plan: Plan, target: Path) -> None:
    needed = plan.file_bytes
    free = shutil.disk_usage(target.parent).free
    if free < needed:
        raise ModelFileError(
            f"{target}: needs {needed / 1e9:.2f} GB, {free / 1e9:.2f} GB are free; free some, or choose another folder"
        )


def _write(plan: Plan, file: BinaryIO, provenance: Mapping[str, str], progress: Progress) -> None:
    head = _header(plan, provenance)
    file.write(head)
    with plan.source.path.open("rb") as source, mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        for change in plan.changes:
            for piece in _pieces(change, mapped, plan.source.path):
                file.write(piece)
                progress(file.tell(), plan.file_bytes)
            file.write(b"\0" * (padded(change.size) - change.size))


def _header(plan: Plan, provenance: Mapping[str, str]) -> bytes:
    """Everything before the tensors' data: the source's metadata, what was done, the new table of tensors."""
    source: GgufHandle = lib.gguf_init_from_file(os.fsencode(plan.source.path), GgufInitParams(True, None))
    if not source:
        raise ModelFileError(f"{plan.source.path}: llama.cpp cannot read it ({recent_log()}); download it again")
    made: GgufHandle = lib.gguf_init_empty()
    arena = Arena(len(plan.changes))
    try:
        lib.gguf_set_kv(made, source)
        # ggml copies the key without following it, and lays tensors out by the default.
        lib.gguf_remove_key(made, b"general.alignment")
        lib.gguf_set_val_u32(made, b"general.quantization_version", _QUANTIZATION_VERSION)
        lib.gguf_set_val_u32(made, b"general.file_type", _FILE_TYPES[plan.kind])
        for key, value in provenance.items():
            lib.gguf_set_val_str(made, key.encode(), value.encode())
        for change in plan.changes:
            tensor = arena.new(change.info.name, Type.from_name(change.format), *change.info.shape)
            lib.gguf_add_tensor(made, tensor.handle)
        head = ctypes.create_string_buffer(lib.gguf_get_meta_size(made))
        lib.gguf_get_meta_data(made, head)
        return head.raw
    finally:
        arena.close()
        lib.gguf_free(made)
        lib.gguf_free(source)


def _pieces(change: Change, mapped: mmap.mmap, path: Path) -> Iterator[bytes]:
    """The tensor's bytes in its new format."""
    info = change.info
    if change.format == info.format:
        yield mapped[info.offset : info.offset + info.size]
        return
    width, rows = info.shape[0], prod(info.shape[1:])
    row_bytes = info.size // rows
    step = max(1, _PIECE // width)
    for first in range(0, rows, step):
        start = info.offset + first * row_bytes
        stop = info.offset + min(first + step, rows) * row_bytes
        weights = _floats(mapped[start:stop], info.format)
        if not np.isfinite(weights).all():
            raise ModelFileError(f"{path}: {info.name} holds weights that are not numbers; download it again")
        yield _quantized(weights, width, Type.from_name(change.format))


def _floats(data: bytes, name: str) -> NDArray[np.float32]:
    """`data` in one of the unquantized formats as numbers."""
    if name == "bf16":
        # The upper half of a float32.
        return (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32)
    return np.frombuffer(data, Type.from_name(name).numpy).astype(np.float32)


def _quantized(weights: NDArray[np.float32], width: int, kind: Type) -> bytes:
    rows = len(weights) // width
    made = ctypes.create_string_buffer(rows * kind.row_bytes(width))
    lib.ggml_quantize_chunk(kind, weights.ctypes.data, made, 0, rows, width, None)
    return made.raw
