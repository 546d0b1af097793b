"""Laguna XS in its true shape and Q4_K_M mix, with random blocks: 20 GB that compute as fast as the real ones.

Speed and memory do not depend on what the weights say. The drafter beside it has the shape of XS-2.1's.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path

import numpy as np

from tests.engine import drafters, tiny

XS = replace(tiny.XS, n_ctx=131_072)
XS_DRAFTER = replace(
    drafters.LAGUNA, n_embd=2048, n_layer=5, heads=32, kv_heads=8, head=128, n_ff=8192, n_vocab=100_352,
    taps=(0, 8, 16, 35, 38), block=16, window=512, half=True,
)  # fmt: skip

_Q4_K, _Q6_K = 12, 14
_BLOCK_BYTES = {_Q4_K: 144, _Q6_K: 210}
_BLOCK_ELEMENTS = 256
_CHUNK_BLOCKS = 1 << 18
_SIX_BITS = ("attn_v.", "ffn_down")
"""What the Q4_K_M mix keeps at six bits in half of the layers, beside the head."""


@dataclass(frozen=True)
class Blocks:
    """A quantized matrix that is never held whole: the same random blocks again and again."""

    dtype: int
    shape: tuple[int, ...]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return prod(self.shape) // _BLOCK_ELEMENTS * _BLOCK_BYTES[self.dtype]

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        """Yield its bytes, out of `chunk`."""
        left = self.nbytes
        while left > 0:
            yield chunk[:left]
            left -= len(chunk)


def write_target(path: Path, shape: tiny.Shape = XS, seed: int = 1) -> Path:
    """Write the target; a few minutes for the whole shape."""
    file = tiny.GgufFile()
    tiny.describe(file, shape)
    tiny.add_tokenizer(file, shape.n_vocab)
    random = np.random.default_rng(seed)

    def matrix(name: str, *dims: int, scale: float = 1.0) -> None:
        file.tensors[name] = Blocks(_Q6_K if _has_six_bits(name, shape.n_layer) else _Q4_K, dims)

    def vector(name: str, *dims: int, mean: float = 1.0) -> None:
        file.tensors[name] = (mean + 0.1 * random.standard_normal(dims)).astype(np.float32)

    tiny.list_tensors(shape, matrix, vector)
    chunks = {kind: _random_blocks(kind, random) for kind in _BLOCK_BYTES}
    with path.open("wb") as out:
        out.write(file.header())
        for tensor in file.tensors.values():
            out.write(b"\0" * (-out.tell() % file.alignment))
            for piece in tensor.pieces(chunks[tensor.dtype]) if isinstance(tensor, Blocks) else [tensor.tobytes()]:
                out.write(piece)
    return path


def _has_six_bits(name: str, layers: int) -> bool:
    """Return whether the mix keeps a matrix at six bits; the layers are those of llama.cpp's `use_more_bits`."""
    if not name.startswith("blk."):
        return name == "output.weight"
    _, layer, kind = name.split(".", 2)
    eighth, index = layers // 8, int(layer)
    chosen = index < eighth or index >= 7 * layers // 8 or (index - eighth) % 3 == 2
    return chosen and kind.startswith(_SIX_BITS)


def write_drafter(path: Path, variant: drafters.Variant = XS_DRAFTER) -> Path:
    """Write the drafter, in float16."""
    return drafters.make(variant).write(path)


def _random_blocks(kind: int, random: np.random.Generator) -> bytes:
    """Return blocks whose numbers are about as large as those of a trained matrix 2,048 wide."""
    raw = random.integers(0, 256, (_CHUNK_BLOCKS, _BLOCK_BYTES[kind]), np.uint8)
    if kind == _Q4_K:
        # Scale and offset: 4-bit numbers times 6-bit scales, moved so that their mean is 0.
        raw[:, 0:4] = np.frombuffer(np.array([1e-4, 7.5e-4], np.float16).tobytes(), np.uint8)
    else:
        raw[:, 208:210] = np.frombuffer(np.float16(1.6e-5).tobytes(), np.uint8)
    return raw.tobytes()
