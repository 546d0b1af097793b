"""llama.cpp's own memory breakdown, for models whose weights are not loaded.

`llama_get_memory_breakdown` returns a C++ map by value, so this reads libstdc++'s tree and works on Linux only: good
enough for tests, not for the engine. With `no_alloc` nothing is allocated, whatever the sizes.
"""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from laguna_engine.config import KvType
from laguna_engine.gguf import header
from laguna_engine.llama.model import may_repack
from laguna_engine.native import library
from laguna_engine.native.library import lib
from laguna_engine.native.structs import ContextHandle, ModelHandle

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads a C++ map as libstdc++ lays it out")

Breakdown = tuple[int, int, int]
"""Bytes of weights, of the KV cache and of compute buffers."""


@contextmanager
def described(path: Path) -> Iterator[ModelHandle]:
    """The model of a file, opened without weights."""
    params = lib.llama_model_default_params()
    params.no_alloc, params.load_mode, params.n_gpu_layers = True, 0, 0
    params.use_extra_bufts = may_repack(header.check(path))
    model = lib.llama_model_load_from_file(os.fsencode(path), params)
    assert model, library.recent_log()
    try:
        yield model
    finally:
        lib.llama_model_free(model)


def breakdown(
    model: ModelHandle, n_ctx: int, kv: KvType, ubatch: int, outputs: int, *, full: bool = False, states: int = 0
) -> Breakdown:
    """Memory of a context, summed over all devices."""
    params = lib.llama_context_default_params()
    params.n_ctx, params.n_ubatch, params.n_batch = n_ctx, ubatch, max(512, ubatch)
    params.type_k = params.type_v = kv.ggml
    params.n_threads = params.n_threads_batch = 1
    params.n_outputs_max, params.swa_full, params.n_rs_seq = outputs, full, states
    context: ContextHandle = lib.llama_init_from_model(model, params)
    assert context, library.recent_log()
    try:
        return _read(context)
    finally:
        lib.llama_free(context)


def _read(context: ContextHandle) -> Breakdown:
    function = ctypes.CDLL(str(library._package_folder() / "lib" / "libllama.so"))[
        "_Z26llama_get_memory_breakdownPK13llama_context"
    ]
    function.argtypes, function.restype = (ctypes.c_void_p, ctypes.c_void_p), ctypes.c_void_p
    # The map begins with its comparison; its header node (colour, root, leftmost, rightmost) follows at 8.
    place = (ctypes.c_uint64 * 8)()
    function(ctypes.addressof(place), context.value)
    parts = list(_values(place[2]))
    weights, cache, compute = (sum(column) for column in zip(*parts, strict=True))
    return weights, cache, compute


def _values(node: int) -> Iterator[tuple[int, ...]]:
    """The three sizes of every entry below a node, laid out as colour, parent, left, right, key, values."""
    if not node:
        return
    words = (ctypes.c_uint64 * 8).from_address(node)
    yield from _values(words[2])
    yield tuple(words[5:8])
    yield from _values(words[3])
