"""A real drafter on the CPU, fed with random features in place of a target's."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from laguna_engine.draft.dflash import DFlash
from laguna_engine.ggml.device import ComputeBackend, Device
from laguna_engine.ggml.tensor import DeviceTensors, Type
from laguna_engine.ggml.weights import HostEmbedding, Weights
from laguna_engine.gguf import drafter_header as gguf_drafter
from laguna_engine.gguf import header
from laguna_engine.gguf.drafter_header import TargetFacts
from laguna_engine.native.library import lib
from laguna_engine.selfcheck.reference import Float64Weights
from tests.engine import drafters, tiny
from tests.engine.drafters import Variant


class Fed:
    """A drafter with its buffers. `features` are those of the whole sequence, [positions, taps * n_embd]."""

    def __init__(self, dflash: DFlash, store: DeviceTensors, features: NDArray[np.float32]) -> None:
        self.dflash = dflash
        self.features = features
        self._store = store
        self._rows = store["features"].shape[1]

    def feed(self, start: int, stop: int) -> None:
        """Do what a target does: write the features of positions [start, stop) and have them injected."""
        rows = self._rows
        for first in range(start, stop, rows):
            count = min(rows, stop - first)
            for position in range(first, first + count):
                row = self.features[position]
                self._store["features"].write(row, offset=position % rows * row.nbytes)
            self.dflash.inject(first, first + count)

    def tokens(self, last: int, length: int, count: int) -> list[int]:
        """The draft after `length` positions and the token `last`."""
        self.dflash.follow(last, length)
        return self.dflash.draft(count).tokens

    def logits(self, last: int, length: int, count: int) -> NDArray[np.float32]:
        """All logits of the draft `tokens`, [rows, drafted vocabulary]; read as candidates, whatever the head."""
        dflash = self.dflash
        dflash.follow(last, length)
        ids, logits = dflash.ranked(count, 1 << 30)
        found = np.empty_like(logits)
        np.put_along_axis(found, ids.astype(np.int64), logits, 1)
        return found


@contextmanager
def drafter(
    variant: Variant,
    path: Path,
    length: int,
    *,
    file: tiny.GgufFile | None = None,
    target: Path | None = None,
    adapters: Sequence[tuple[str, Path]] = (),
    context: int = 512,
    kv: Type = Type.F32,
    rows: int = 96,
    repack: bool = True,
    device: Device | None = None,
) -> Iterator[Fed]:
    """The drafter `variant` (or `file`), written to `path` and opened, with features for `length` positions.

    target: a model file whose embeddings and output matrix are shared. rows: of the feature buffer.
    device: the CPU unless it says otherwise.
    """
    (file or drafters.make(variant)).write(path)
    backend = ComputeBackend(device or Device.cpu(), threads=1)
    facts = TargetFacts(variant.n_embd, max(variant.taps) + 1, variant.n_vocab, "laguna")
    store = DeviceTensors(backend, {"features": (Type.F32, (variant.n_embd * len(variant.taps), rows))})
    shared = None if target is None else header.check(target)
    head = None if shared is None else Weights(shared, ["output.weight"], backend)
    embedding = None if shared is None else HostEmbedding(shared, "token_embd.weight")
    dflash = None
    try:
        dflash = DFlash.open(
            gguf_drafter.read(path), facts, store["features"], head and head["output.weight"], embedding, backend,
            adapters, context=context, kv=kv, repack=repack,
        )  # fmt: skip
        yield Fed(dflash, store, drafters.features(variant, length))
    finally:
        for part in (dflash, head, store, backend):
            if part is not None:
                part.close()


def nmse(found: NDArray[np.float32], expected: drafters.Array) -> float:
    """Squared error over squared size."""
    return float(((found - expected) ** 2).sum() / (expected**2).sum())


def quantized(file: tiny.GgufFile, kind: Type) -> tiny.GgufFile:
    """The model with every matrix whose rows are whole blocks quantized to `kind`; experts are stacked matrices."""
    for name, array in file.tensors.items():
        is_matrix = array.ndim >= 2 and not any(part in name for part in ("conf_proj", "_norm.", "bias"))
        if is_matrix and array.shape[-1] % kind.block == 0:
            rows, width = math.prod(array.shape[:-1]), array.shape[-1]
            data = np.empty(rows * kind.row_bytes(width), np.uint8)
            source = np.ascontiguousarray(array, np.float32)
            lib.ggml_quantize_chunk(kind, source.ctypes.data, data.ctypes.data, 0, rows, width, None)
            file.tensors[name] = tiny.Quantized(kind, array.shape, data.tobytes())
    return file


def unpacked(path: Path) -> dict[str, drafters.Array]:
    """A drafter's weights, dequantized."""
    return dict(Float64Weights(gguf_drafter.read(path).file))


def unpacked_matrices(path: Path) -> dict[str, drafters.Array]:
    """A target's or a scorer's weights, dequantized."""
    return dict(Float64Weights(header.check(path)))
