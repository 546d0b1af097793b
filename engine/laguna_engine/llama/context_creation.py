"""Allocates a native context: its options checked, and what hooks into its graphs attached."""

import ctypes

from laguna_engine.config import KvType
from laguna_engine.errors import ContextError, ContextOutOfMemory
from laguna_engine.llama.callback_taps import CallbackTaps
from laguna_engine.llama.context_params import ContextOptions, physical_cores
from laguna_engine.llama.model import Model
from laguna_engine.llama.taps import Taps
from laguna_engine.native.abort import AbortFlag
from laguna_engine.native.cpu_determinism import note_use
from laguna_engine.native.library import lib, log, log_says_out_of_memory, recent_log
from laguna_engine.native.structs import ContextHandle, ContextParams

_FLASH_ATTENTION = {None: -1, False: 0, True: 1}
"""`llama_flash_attn_type`."""

_MAX_TOKENS = 2**31 - 1
"""Sizes and positions are 32-bit signed in llama.cpp."""


def create(
    model: Model, options: ContextOptions, stop: AbortFlag, taps: Taps | CallbackTaps | None = None
) -> ContextHandle:
    """Allocate a native context that stops when `stop` is set, or raise ContextError with llama.cpp's reason."""
    _check_options(options)
    note_use()
    params: ContextParams = lib.llama_context_default_params()
    params.n_ctx, params.n_batch = options.n_ctx, options.n_batch
    params.n_ubatch = min(options.n_ubatch, options.n_batch)
    params.n_threads = options.threads or physical_cores()
    params.n_threads_batch = options.threads_batch or options.threads or physical_cores()
    params.type_k, params.type_v = options.type_k.ggml, options.type_v.ggml
    params.flash_attn_type = _FLASH_ATTENTION[options.flash_attention]
    params.swa_full = options.swa_full
    params.op_offload = options.offload_products
    params.abort_callback, params.abort_callback_data = stop.callback, stop.data
    _attach(params, taps)
    log.clear()
    handle: ContextHandle = lib.llama_init_from_model(model.handle, params)
    if not handle:
        raise (ContextOutOfMemory if log_says_out_of_memory() else ContextError)(
            f"a context of {options.n_ctx} tokens could not be made ({recent_log()}); "
            "try a smaller context, a q8_0 cache, or fewer layers on the GPU"
        )
    return handle


def _attach(params: ContextParams, taps: Taps | CallbackTaps | None) -> None:
    if taps is None:
        return
    params.n_outputs_max = params.n_outputs_max_per_seq = taps.outputs
    if isinstance(taps, Taps):
        params.samplers, params.n_samplers = ctypes.addressof(taps.hook.sequences), 1
    elif taps.layers:
        params.cb_eval = ctypes.cast(taps.callback, ctypes.c_void_p).value


def _check_options(options: ContextOptions) -> None:
    sizes = (options.n_ctx, options.n_batch, options.n_ubatch, options.threads, options.threads_batch)
    if not all(0 <= size <= _MAX_TOKENS for size in sizes) or not (options.n_batch and options.n_ubatch):
        raise ContextError(f"{options} has a size out of range; use positive sizes")
    if options.flash_attention is False and options.type_v is not KvType.F16:
        raise ContextError(f"a {options.type_v.value} V cache needs flash attention; turn it on or use an f16 cache")
