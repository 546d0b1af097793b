"""Rows of an embedding table, looked up on the host straight from the mapped file.

A target's token embeddings stay in ordinary memory even when everything else is on a GPU, where a device graph cannot
read them; and a draft needs no more than 16 rows.
"""

import ctypes
import mmap
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from laguna_engine.errors import ModelFileError
from laguna_engine.ggml.types import Type
from laguna_engine.gguf.header import Header
from laguna_engine.native.library import lib

_CACHED_ROWS = 4096
"""The tokens of code repeat: 32 MB at a width of 2048."""


class HostRows:
    """A table of `count` rows of `width` numbers, in any of ggml's formats."""

    def __init__(self, header: Header, name: str) -> None:
        """ModelFileError if the file has no such table."""
        info = next((info for info in header.tensors if info.name == name), None)
        if info is None or len(info.shape) != 2:
            raise ModelFileError(f"{header.path}: it has no table {name}; download it again")
        self.width, self.count = info.shape
        self._type = Type.from_name(info.format)
        self._row_bytes = self._type.row_bytes(self.width)
        with header.path.open("rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._base = np.frombuffer(self._map, np.uint8, info.size, info.offset).ctypes.data
        self._convert = None if self._type is Type.F32 else lib.ggml_get_type_traits(self._type).contents.to_float
        self._cache: dict[int, NDArray[np.float32]] = {}

    def fill(self, ids: Sequence[int], into: NDArray[np.float32]) -> None:
        """Write the rows `ids` into `into` [n, width]; IndexError for a row that is not there."""
        cache = self._cache
        for place, index in enumerate(ids):
            row = cache.get(index)
            into[place] = self._row(index) if row is None else row

    def rows(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """The rows `ids`, float32 [n, width]."""
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
