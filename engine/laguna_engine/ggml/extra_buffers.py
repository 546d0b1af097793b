"""ggml's extra buffer types ("CPU_REPACK", "AMX"), in which the CPU repacks weights: used only after a trial.

Their kernels are chosen by the processor, and some builds crash: compiled by GCC 12, those for Intel's AMX end in a
SIGSEGV (llama.cpp's pull request 26954). So each type is tried in a child process before its first use, once per build
and processor (`native.verdicts`): every supported format is multiplied in narrow and wide batches, and the products are
compared with those from plain buffers. A type that fails is not used.

Run as a program with the name of a buffer type, this module is that child.
"""

import os
import sys
from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from laguna_engine.ggml.device import ComputeBackend
from laguna_engine.ggml.gguf_writer import quantized
from laguna_engine.ggml.graph import Graph
from laguna_engine.ggml.tensor import Tensor, TensorContext, Type
from laguna_engine.native import child
from laguna_engine.native.child import confine
from laguna_engine.native.library import lib, trial_command
from laguna_engine.native.structs import BufferTypeHandle
from laguna_engine.native.verdicts import verdicts

WORKS = "works"

TRIAL = __name__
"""The module to run for a trial."""

_LIMIT_S, _MEMORY = 30, 1 << 30
"""Seconds and bytes for a trial, which takes half a second and a few megabytes."""

_WRONG = 3
"""Exit code of a trial with wrong products."""

_ROWS, _COLUMNS, _EXPERTS, _USED = 64, 256, 4, 2
_WIDTHS = (1, 2, 17, 96)
"""Batch widths: one token, the size of a draft, and more than any kernel's tile."""

_THREADS = 4
"""More than one, because each thread that uses AMX needs a permission on newer processors."""

_TRIAL_TOKENS = 16
_TOLERANCE = 0.01
"""Normalised mean square error: both kernels round x to 8 bits, differently."""

_untried: set[str] = set()
"""Buffer types whose trial could not be started or timed out; the next process retries them."""


def works(buffer_type: BufferTypeHandle) -> bool:
    """Return whether the buffer type passed its trial and may hold weights."""
    return verdict(name_of(buffer_type)) == WORKS


def faults() -> dict[str, str]:
    """Return the CPU's buffer types that failed their trial, with the failure; runs the trials that are missing."""
    backend = ComputeBackend.cpu()
    try:
        names = [name_of(buffer_type) for buffer_type in backend.extra_buffer_types()]
    finally:
        backend.close()
    return {name: found for name in names if (found := verdict(name)) != WORKS}


def verdict(name: str) -> str:
    """Return the result of the trial of a buffer type: `WORKS`, or a failure such as "it crashes with SIGSEGV"."""
    if name in _untried:
        return "it could not be tested"
    known = verdicts.get(subject(name))
    if known is not None:
        return known
    ended = child.run(trial_command(TRIAL, name), _LIMIT_S)
    if ended.signal:
        found = f"it crashes with {ended.signal}"
    elif ended.good:
        found = WORKS
    elif ended.code == _WRONG:
        found = "its products are wrong"
    else:
        _untried.add(name)
        return verdict(name)
    verdicts.put(subject(name), found)
    return found


def subject(name: str) -> str:
    return f"buffer {name}"


def name_of(buffer_type: BufferTypeHandle) -> str:
    text: str = lib.ggml_backend_buft_name(buffer_type).decode("utf-8", "replace")
    return text


def multiplies(kind: Type, shape: tuple[int, ...], buffer_type: BufferTypeHandle, backend: ComputeBackend) -> bool:
    """Return whether ggml has a kernel for such a matrix, or experts [k, m, count], in this buffer type.

    It answers only for an allocated tensor.
    """
    arena, trial = TensorContext(1), TensorContext(3)
    try:
        matrix = arena.new("trial", kind, *shape)
        arena.allocate(buffer_type)
        if len(shape) > 2:
            x, ids = trial.new("x", Type.F32, shape[0], 1, _USED), trial.new("ids", Type.I32, _USED, _USED)
            made = lib.ggml_mul_mat_id(trial.handle, matrix.handle, x.handle, ids.handle)
        else:
            x = trial.new("x", Type.F32, shape[0], _TRIAL_TOKENS)
            made = lib.ggml_mul_mat(trial.handle, matrix.handle, x.handle)
        return bool(lib.ggml_backend_dev_supports_op(backend.device.handle, made))
    finally:
        trial.close()
        arena.close()


class _Matrix:
    """The same weights in a plain buffer and in the one to be tried."""

    def __init__(self, kind: Type, buffer_type: BufferTypeHandle, backend: ComputeBackend, experts: int = 1) -> None:
        self._arenas: list[TensorContext] = []
        self._backend = backend
        numbers = np.random.default_rng(0).standard_normal(_ROWS * _COLUMNS * experts, np.float32)
        data = memoryview(quantized(numbers, _COLUMNS, kind))
        self.plain = self._place(kind, backend.buffer_type, data, experts)
        self.special = self._place(kind, buffer_type, data, experts)

    def agrees(self, width: int) -> bool:
        """Return whether products with `width` columns agree."""
        expected, found = self._product(self.plain, width), self._product(self.special, width)
        return float(((found - expected) ** 2).sum()) <= _TOLERANCE * float((expected**2).sum())

    def close(self) -> None:
        """Free both copies."""
        for arena in self._arenas:
            arena.close()

    def _place(self, kind: Type, buffer_type: BufferTypeHandle, data: memoryview, experts: int) -> Tensor:
        arena = TensorContext(1)
        self._arenas.append(arena)
        tensor = arena.new("matrix", kind, _COLUMNS, _ROWS, experts)
        arena.allocate(buffer_type, weights=True)
        tensor.write_bytes(data, at_once=True)
        return tensor

    def _product(self, matrix: Tensor, width: int) -> NDArray[np.float32]:
        random = np.random.default_rng(1)
        graph = Graph(self._backend, 8)
        if matrix.shape[2] > 1:
            x = graph.input("x", Type.F32, _COLUMNS, 1, width)
            graph.output("y", graph.mul_mat_id(matrix, x, graph.input("ids", Type.I32, _USED, width)))
        else:
            graph.output("y", graph.mul_mat(matrix, graph.input("x", Type.F32, _COLUMNS, width)))
        try:
            graph.finish()
            graph.write("x", random.standard_normal((width, _COLUMNS), np.float32))
            if matrix.shape[2] > 1:
                picked = [random.permutation(_EXPERTS)[:_USED] for _ in range(width)]
                graph.write("ids", np.array(picked, np.int32))
            graph.compute()
            return graph.read("y")
        finally:
            graph.close()


def _agree(name: str, threads: int) -> Iterator[bool]:
    """Yield for each product that the buffer type `name` supports whether it is correct."""
    backend = ComputeBackend.cpu(threads)
    types = [kind for kind in backend.extra_buffer_types() if name_of(kind) == name]
    for buffer_type, kind, experts in product(types, Type, ((), (_EXPERTS,))):
        if kind.quantized and multiplies(kind, (_COLUMNS, _ROWS, *experts), buffer_type, backend):
            matrix = _Matrix(kind, buffer_type, backend, *experts)
            yield from (matrix.agrees(width) for width in _WIDTHS)
            matrix.close()
    backend.close()


def main(name: str) -> int:
    """Try one buffer type with several threads. Returns the exit code: 0, or `_WRONG` for wrong products."""
    confine(_MEMORY, _LIMIT_S)
    return 0 if all(_agree(name, min(_THREADS, os.cpu_count() or 1))) else _WRONG


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
