"""Weights from a checked GGUF file onto a device: mapped, never unpacked, quantized as they are.

On the CPU a matrix goes into the repacking buffer where ggml has faster kernels for its format, as llama.cpp does with
its own models, and where those kernels work (`extra_buffers`).
"""

import mmap
from collections.abc import Sequence

from laguna_engine.errors import ModelFileError
from laguna_engine.ggml import extra_buffers, transfer
from laguna_engine.ggml.arena import Arena
from laguna_engine.ggml.device import Backend
from laguna_engine.ggml.tensor import Tensor
from laguna_engine.ggml.types import Type
from laguna_engine.gguf.header import Header
from laguna_engine.gguf.tensors import TensorInfo
from laguna_engine.native.structs import BufferTypeHandle

_PLAIN = (Type.F32, Type.F16, Type.BF16, Type.I32, Type.I64)
"""Formats without an order of their own to be repacked into."""


class Weights:
    """Tensors of one file on one device, by name."""

    def __init__(self, header: Header, names: Sequence[str], backend: Backend, *, repack: bool = True) -> None:
        """Load `names`; ModelFileError for one that the file has not, GraphError when memory is short."""
        self._arenas: list[Arena] = []
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
        """Free them; harmless when repeated."""
        for arena in self._arenas:
            arena.close()

    def _load(self, header: Header, infos: list[TensorInfo], backend: Backend, *, repack: bool) -> None:
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
        arena = Arena(len(infos))
        self._arenas.append(arena)
        tensors = {info.name: arena.new(info.name, Type.from_name(info.format), *info.shape) for info in infos}
        arena.allocate(buffer_type, weights=True)
        with header.path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            whole = memoryview(mapped)
            for info in infos:
                part = whole[info.offset : info.offset + info.size]
                transfer.write_bytes(tensors[info.name], part, at_once=repacked)
                part.release()
            whole.release()
        self._tensors.update(tensors)


def _repacking_type(info: TensorInfo, backend: Backend) -> BufferTypeHandle | None:
    """Memory in which the backend multiplies such a matrix faster, or None."""
    kind = Type.from_name(info.format)
    if kind in _PLAIN or len(info.shape) != 2 or not backend.device.is_cpu:
        return None
    for buffer_type in backend.extra_buffer_types():
        if extra_buffers.multiplies(kind, info.shape, buffer_type, backend) and extra_buffers.works(buffer_type):
            return buffer_type
    return None
