"""Sparse model files with a complete header and no weights: full apparent size, a few megabytes on disk."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from pathlib import Path

from tests.engine import tiny

F32, F16, Q4_K, Q6_K = 0, 1, 12, 14
_BLOCKS = {F32: (1, 4), F16: (1, 2), Q4_K: (256, 144), Q6_K: (256, 210)}


@dataclass(frozen=True)
class _Outline:
    """A tensor without data, used in place of an array."""

    dtype: int
    shape: tuple[int, ...]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        block, size = _BLOCKS[self.dtype]
        return prod(self.shape) // block * size


def write(path: Path, shape: tiny.Shape, kind: Callable[[str], int]) -> Path:
    """Write a Laguna of this shape; `kind` maps a matrix's name to its format."""
    file = tiny.GgufFile()
    tiny.describe(file, shape)
    tiny.add_tokenizer(file, shape.n_vocab)

    def matrix(name: str, *dims: int, scale: float = 1.0) -> None:
        file.tensors[name] = _Outline(kind(name), dims)

    def vector(name: str, *dims: int, mean: float = 1.0) -> None:
        file.tensors[name] = _Outline(F32, dims)

    tiny.list_tensors(shape, matrix, vector)
    size = 0
    for tensor in file.tensors.values():
        size += -size % file.alignment + tensor.nbytes
    with path.open("wb") as out:
        out.write(file.header())
        out.truncate(out.tell() + size)
    return path


def q4_k_m(name: str) -> int:
    """The formats of the published Laguna XS, except that `use_more_bits` applies to every layer."""
    fine = any(part in f"/{name}" for part in (".attn_v.", ".ffn_down", "/output."))
    return Q6_K if fine else Q4_K
