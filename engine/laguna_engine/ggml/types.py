"""Number formats of tensors, by ggml's numbers."""

from enum import IntEnum

import numpy as np
from numpy.typing import DTypeLike

from laguna_engine.errors import GraphError
from laguna_engine.gguf.formats import TENSOR_FORMATS

_NUMPY: dict[int, DTypeLike] = {0: np.float32, 1: np.float16, 26: np.int32, 27: np.int64}


class Type(IntEnum):
    """A tensor's number format; the value is its `ggml_type`. Quantized ones come in blocks."""

    F32 = 0
    F16 = 1
    Q4_0 = 2
    Q4_1 = 3
    Q5_0 = 6
    Q5_1 = 7
    Q8_0 = 8
    Q2_K = 10
    Q3_K = 11
    Q4_K = 12
    Q5_K = 13
    Q6_K = 14
    IQ4_NL = 20
    IQ4_XS = 23
    I32 = 26
    I64 = 27
    BF16 = 30
    MXFP4 = 39
    NVFP4 = 40

    @classmethod
    def from_name(cls, name: str) -> "Type":
        """The type that GGUF headers call `name`, such as "q4_K"; GraphError for one that is not handled."""
        for number, known in TENSOR_FORMATS.items():
            if known.name == name and number in cls._value2member_map_:
                return cls(number)
        raise GraphError(f"tensors of the type {name} cannot be computed with; use f16, q8_0 or q4_K weights")

    @property
    def block(self) -> int:
        """Elements that are stored together."""
        return TENSOR_FORMATS[self].block

    @property
    def block_bytes(self) -> int:
        """Bytes of one block; of one element where nothing is quantized."""
        return TENSOR_FORMATS[self].size

    @property
    def quantized(self) -> bool:
        """Whether elements share a scale."""
        return self.block > 1

    @property
    def numpy(self) -> DTypeLike:
        """The same format in numpy; GraphError where there is none."""
        if self not in _NUMPY:
            raise GraphError(f"{self.name} has no numpy format; cast the tensor first")
        return _NUMPY[self]

    def row_bytes(self, elements: int) -> int:
        """Bytes of a contiguous row."""
        return elements // self.block * self.block_bytes
