"""llama.cpp's own DFlash on the same files, as a second reference.

It supports plain DFlash, reduced vocabularies, sliding windows and DSpark; not Laguna's gate, norms and context layout.
"""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laguna_engine.ggml import extra_buffers
from laguna_engine.native.library import lib
from laguna_engine.native.structs import Batch, ContextHandle
from tests.engine import tiny

_F32, _F16 = 0, 1
_FLASH = 1
"""`LLAMA_FLASH_ATTN_TYPE_ENABLED`."""

_FLOATS = ctypes.POINTER(ctypes.c_float)

# What the engine has no use for. The loader hands out the library that is open already.
_library = ctypes.CDLL(str(next((Path(find_spec("llama_cpp").origin).parent / "lib").glob("libllama.[sd]*"))))
_set_causal = _library.llama_set_causal_attn
_set_causal.argtypes, _set_causal.restype = (ContextHandle, ctypes.c_bool), None
_logits = _library.llama_get_logits
_logits.argtypes, _logits.restype = (ContextHandle,), _FLOATS


class Upstream:
    """A draft context: features in, a block's logits out."""

    def __init__(self, context: ContextHandle, n_vocab: int) -> None:
        self._context, self._n_vocab = context, n_vocab
        self._memory = lib.llama_get_memory(context)
        self._kept: list[Any] = []

    def inject(self, features: NDArray[np.float32], start: int) -> None:
        """Inject `features` [n, taps * n_embd] of the positions from `start` on."""
        batch = self._batch(len(features), start)
        batch.embd = features.ctypes.data_as(_FLOATS)
        assert lib.llama_decode(self._context, batch) == 0

    def logits(self, last: int, length: int, rows: int) -> NDArray[np.float32]:
        """Logits of the block [last, mask, mask, …] at `length`, [rows, n_vocab]; the KV cache is left unchanged."""
        batch = self._batch(rows, length)
        batch.token = (ctypes.c_int32 * rows)(last, *[tiny.MASK] * (rows - 1))
        ctypes.memset(batch.logits, 1, rows)
        assert lib.llama_decode(self._context, batch) == 0
        self.rewind(length)
        return np.ctypeslib.as_array(_logits(self._context), (rows, self._n_vocab)).copy()

    def rewind(self, length: int) -> None:
        """Remove positions from `length` on."""
        lib.llama_memory_seq_rm(self._memory, 0, length, -1)

    def _batch(self, count: int, start: int) -> Batch:
        batch = Batch()
        sequence = ctypes.c_int32(0)
        pointers = ctypes.POINTER(ctypes.c_int32) * count
        batch.n_tokens, batch.token, batch.embd = count, None, None
        batch.pos = (ctypes.c_int32 * count)(*range(start, start + count))
        batch.n_seq_id = (ctypes.c_int32 * count)(*[1] * count)
        batch.seq_id = pointers(*[ctypes.pointer(sequence)] * count)
        batch.logits = (ctypes.c_int8 * count)()
        self._kept = [batch, sequence]
        return batch


@contextmanager
def upstream(
    path: Path, n_vocab: int, *, target: Path | None = None, causal: bool = False, half: bool = False, n_ctx: int = 1024
) -> Iterator[Upstream]:
    """llama.cpp's drafter for `path`, sharing the tensors it lacks with the model `target`."""
    with _opened(target, None, False, n_ctx) as other, _opened(path, other, half, n_ctx) as context:
        _set_causal(context, causal)
        yield Upstream(context, n_vocab)


@contextmanager
def _opened(path: Path | None, other: Any, half: bool, n_ctx: int) -> Iterator[Any]:
    if path is None:
        yield None
        return
    settings = lib.llama_model_default_params()
    settings.n_gpu_layers = 0
    settings.use_extra_bufts = not extra_buffers.faults()
    model = lib.llama_model_load_from_file(str(path).encode(), settings)
    assert model
    options = lib.llama_context_default_params()
    options.n_ctx, options.n_batch, options.n_ubatch, options.n_seq_max = n_ctx, 512, 512, 1
    options.n_threads = options.n_threads_batch = 1
    options.swa_full, options.flash_attn_type = True, _FLASH
    options.type_k = options.type_v = _F16 if half else _F32
    if other is not None:
        options.ctx_other = other.value
    context = lib.llama_init_from_model(model, options)
    assert context
    try:
        yield context
    finally:
        lib.llama_free(context)
        lib.llama_model_free(model)
