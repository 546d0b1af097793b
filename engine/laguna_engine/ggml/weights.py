"""Weights of a checked GGUF file: loaded to a device in their own format, or looked up by row on the host.

A target's token embeddings stay in host memory even when everything else is on a GPU, so a device graph cannot read
them; a draft needs at most 16 of their rows (`HostEmbedding`).
"""

import ctypes
import mmap
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from laguna_engine.errors import ModelFileError
from laguna_engine.ggml import extra_buffers
from laguna_engine.ggml.device import ComputeBackend
from laguna_engine.ggml.tensor import Tensor, TensorContext, Type
from laguna_engine.gguf.header import Header
from laguna_engine.gguf.tensors import TensorInfo
from laguna_engine.native.library import lib
from laguna_engine.native.structs import BufferTypeHandle

_PLAIN = (Type.F32, Type.F16, Type.BF16, Type.I32, Type.I64)
"""Formats that are never repacked."""


class Weights:
    """Tensors of one file on one device, by name."""

    def __init__(self, header: Header, names: Sequence[str], backend: ComputeBackend, *, repack: bool = True) -> None:
        """Load the tensors `names`; ModelFileError if the file lacks one, GraphOutOfMemory if memory is short."""
        self._arenas: list[TensorContext] = []
        self._tensors: dict[str, Tensor] = {}
        infos = {info.name: info for info in header.tensors}
        missing = [name for name in names if name not in infos]
        if missing:
            raise ModelFileError(f"{header.path}: it has no tensor {missing[0]}; download it again")
        try:
            self._load(header, [infos[name] for name in names], backend, repack=repack)
        except BaseException:
            self.close()
            raise

    def __getitem__(self, name: str) -> Tensor:
        return self._tensors[name]

    def __contains__(self, name: str) -> bool:
        return name in self._tensors

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return sum(arena.nbytes for arena in self._arenas)

    def close(self) -> None:
        """Free the weights. Idempotent."""
        for arena in self._arenas:
            arena.close()

    def _load(self, header: Header, infos: list[TensorInfo], backend: ComputeBackend, *, repack: bool) -> None:
        plain: list[TensorInfo] = []
        groups: dict[int, tuple[BufferTypeHandle, list[TensorInfo]]] = {}
        for info in infos:
            kind = _repacking_type(info, backend) if repack else None
            if kind is None:
                plain.append(info)
            else:
                groups.setdefault(kind.value or 0, (kind, []))[1].append(info)
        if plain:
            self._place(header, plain, backend.buffer_type, repacked=False)
        for buffer_type, members in groups.values():
            self._place(header, members, buffer_type, repacked=True)

    def _place(self, header: Header, infos: list[TensorInfo], buffer_type: BufferTypeHandle, *, repacked: bool) -> None:
        arena = TensorContext(len(infos))
        self._arenas.append(arena)
        tensors = {info.name: arena.new(info.name, Type.from_name(info.format), *info.shape) for info in infos}
        arena.allocate(buffer_type, weights=True)
        for path in dict.fromkeys(header.file_of(info) for info in infos):
            with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
                whole = memoryview(mapped)
                for info in infos:
                    if header.file_of(info) == path:
                        part = whole[info.offset : info.offset + info.size]
                        tensors[info.name].write_bytes(part, at_once=repacked)
                        part.release()
                whole.release()
        self._tensors.update(tensors)


def _repacking_type(info: TensorInfo, backend: ComputeBackend) -> BufferTypeHandle | None:
    """Return an extra buffer type in which the backend multiplies such a matrix faster, or None."""
    kind = Type.from_name(info.format)
    if kind in _PLAIN or len(info.shape) != 2 or not backend.device.is_cpu:
        return None
    for buffer_type in backend.extra_buffer_types():
        if extra_buffers.multiplies(kind, info.shape, buffer_type, backend) and extra_buffers.works(buffer_type):
            return buffer_type
    return None


_CACHED_ROWS = 4096
"""Rows cached as float32, because the tokens of code repeat: 32 MB at a width of 2048."""


class HostEmbedding:
    """An embedding table on the host, in any of ggml's formats.

    Attributes:
        width: numbers of a row.
        count: rows of the table.
    """

    def __init__(self, header: Header, name: str) -> None:
        """Map the table `name`; ModelFileError if the file lacks it."""
        info = next((info for info in header.tensors if info.name == name), None)
        if info is None or len(info.shape) != 2:
            raise ModelFileError(f"{header.path}: it has no table {name}; download it again")
        self.width, self.count = info.shape
        self._type = Type.from_name(info.format)
        self._row_bytes = self._type.row_bytes(self.width)
        with header.file_of(info).open("rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._base = np.frombuffer(self._map, np.uint8, info.size, info.offset).ctypes.data
        self._convert = None if self._type is Type.F32 else lib.ggml_get_type_traits(self._type).contents.to_float
        self._cache: dict[int, NDArray[np.float32]] = {}

    def fill(self, ids: Sequence[int], into: NDArray[np.float32]) -> None:
        """Write the rows `ids` to `into` [n, width]; IndexError for a row outside the table."""
        cache = self._cache
        for place, index in enumerate(ids):
            row = cache.get(index)
            into[place] = self._row(index) if row is None else row

    def rows(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """Return the rows `ids`, float32 [n, width]."""
        found = np.empty((len(ids), self.width), np.float32)
        self.fill(ids, found)
        return found

    def _row(self, index: int) -> NDArray[np.float32]:
        if not 0 <= index < self.count:
            raise IndexError(f"row {index} of a table of {self.count}")
        row = np.empty(self.width, np.float32)
        address = self._base + index * self._row_bytes
        if self._convert is None:
            ctypes.memmove(row.ctypes.data, address, row.nbytes)
        else:
            self._convert(address, row.ctypes.data, self.width)
        if len(self._cache) < _CACHED_ROWS:
            self._cache[index] = row
        return row
