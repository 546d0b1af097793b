"""Tensors with memory of their own, which outlive any one computation: KV rings, tap buffers, graph inputs."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from laguna_engine.ggml import transfer
from laguna_engine.ggml.arena import Arena
from laguna_engine.ggml.device import Backend
from laguna_engine.ggml.tensor import Tensor
from laguna_engine.ggml.types import Type


class Store:
    """Named tensors in one piece of a device's memory, zeroed at first."""

    def __init__(self, backend: Backend, tensors: Mapping[str, tuple[Type, tuple[int, ...]]]) -> None:
        """GraphError when there is not enough memory."""
        self._arena = Arena(len(tensors))
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
        """Copy `values` into the tensor `name`, beginning `offset` bytes in."""
        transfer.write(self._tensors[name], values, offset)

    def read(self, name: str) -> NDArray[Any]:
        """A copy of the tensor `name`, its shape reversed."""
        return transfer.read(self._tensors[name])

    def read_into(self, name: str, values: NDArray[Any]) -> None:
        """Fill `values` with the first elements of the tensor `name`."""
        transfer.read_into(self._tensors[name], values)

    def clear(self) -> None:
        """Set everything to 0."""
        self._arena.clear()

    def close(self) -> None:
        """Free the memory; harmless when repeated."""
        self._arena.close()
