"""The pre-check: what a GGUF file says about itself, in Python, before native code sees the file.

llama.cpp trusts a header in many places: some wrong numbers make it abort, some made it write out of bounds
(CVE-2025-53630, CVE-2026-27940, CVE-2026-33298). Reads only the header, in bounded memory; no weight is looked at.
Every error is a ModelFileError: which file, what is wrong with it, what to do.
"""

import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO

from laguna_engine.errors import ModelFileError
from laguna_engine.gguf import architecture, vocabulary
from laguna_engine.gguf.formats import MAGIC, VERSIONS
from laguna_engine.gguf.reader import Damaged, Reader, Value
from laguna_engine.gguf.tensors import TensorInfo, alignment_of, read_tensors
from laguna_engine.gguf.unsuitable import Unsuitable

MAX_KEYS = 4096
"""Metadata entries; files have 30 to 100."""

_SMALLEST_HEADER = 24
"""Magic, version, two counts."""

_DOWNLOAD_AGAIN = "the file is damaged: download it again"


@dataclass(frozen=True, slots=True)
class Header:
    """A checked header.

    size: of the file, in bytes. metadata: keys to values; arrays longer than `reader.SHORT_ARRAY` are `LongArray`s.
    tensors: in file order. alignment: of tensor data, in bytes.
    """

    path: Path
    size: int
    version: int
    architecture: str
    metadata: Mapping[str, Value]
    tensors: tuple[TensorInfo, ...]
    alignment: int


def check(path: Path) -> Header:
    """Read and check the header of a target model; ModelFileError if native code must not see the file."""
    return read(path, lambda header: architecture.check(header.architecture, header.metadata, header.tensors))


def read(path: Path, judge: Callable[[Header], None]) -> Header:
    """Read a header of any kind; what `judge` raises about it (Damaged, Unsuitable) becomes a ModelFileError too."""
    try:
        with _open_regular(path) as file:
            header = _read(path, file, os.fstat(file.fileno()).st_size)
        judge(header)
    except Damaged as error:
        raise ModelFileError(f"{path}: {error}; {_DOWNLOAD_AGAIN}") from error
    except Unsuitable as error:
        raise ModelFileError(f"{path}: {error}") from error
    except (OSError, ValueError) as error:
        raise ModelFileError(
            f"{path}: cannot be read ({_reason(error)}); check the path and its permissions"
        ) from error
    return header


def _open_regular(path: Path) -> BinaryIO:
    """Open a regular file and nothing else: a FIFO would block for ever, a device may do anything."""
    # Non-blocking, so that a FIFO put in the file's place after a look at it cannot block either.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Unsuitable("is not a regular file; give the path of a .gguf file")
        return os.fdopen(descriptor, "rb", buffering=0)
    except BaseException:
        os.close(descriptor)
        raise


def _read(path: Path, file: BinaryIO, size: int) -> Header:
    if size == 0:
        raise Damaged("it is empty")
    reader = Reader(file, size)
    version, tensor_count, key_count = _read_start(reader, size)
    metadata = _read_metadata(reader, key_count)
    alignment = alignment_of(metadata)
    tensors = read_tensors(reader, tensor_count, alignment, size)
    return Header(path, size, version, _architecture(metadata), MappingProxyType(metadata), tensors, alignment)


def _read_start(reader: Reader, size: int) -> tuple[int, int, int]:
    magic = reader.take(min(len(MAGIC), size), "its first bytes")
    if magic != MAGIC:
        raise Unsuitable("is not a GGUF file; choose a .gguf file, or download it again if it is one")
    if size < _SMALLEST_HEADER:
        raise Damaged("it ends in the middle of its header")
    version = reader.number("I", "the version")
    if version not in VERSIONS:
        other_endian = int.from_bytes(version.to_bytes(4, "little"), "big") in VERSIONS
        why = "was made for a big-endian machine" if other_endian else f"is GGUF version {version}"
        raise Unsuitable(f"{why}, this engine reads little-endian versions 2 and 3; download a current conversion")
    return version, reader.number("Q", "the tensor count"), reader.number("Q", "the key count")


def _read_metadata(reader: Reader, count: int) -> dict[str, Value]:
    if count > MAX_KEYS:
        raise Damaged(f"it claims {count} metadata entries, more than {MAX_KEYS}")
    metadata: dict[str, Value] = {}
    for index in range(count):
        key = reader.string(f"the name of entry {index}")
        if not key or key in metadata:
            raise Damaged(f"metadata entry {index} has {'an empty name' if not key else f'the name {key!r} again'}")
        kind = reader.kind(key)
        metadata[key] = vocabulary.read(reader, key, kind)
    return metadata


def _architecture(metadata: Mapping[str, Value]) -> str:
    name = metadata.get("general.architecture")
    if not isinstance(name, str) or not name:
        raise Damaged("it does not name its architecture")
    return name


def _reason(error: OSError | ValueError) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)
