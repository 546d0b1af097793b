"""llama.cpp's C structs and handles in ctypes.

Field order and types follow `include/llama.h` of the pinned build; `selftest` compares them with the library's own
defaults before anything else is called. Each kind of handle is a class of its own, because a plain `c_void_p` parameter
silently accepts a `str`, a `bytes` or any integer.
"""

import ctypes
from ctypes import (
    POINTER,
    c_bool,
    c_char,
    c_char_p,
    c_double,
    c_float,
    c_int,
    c_int8,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_void_p,
)
from typing import Any, Self

LogCallback = ctypes.CFUNCTYPE(None, c_int, c_char_p, c_void_p)
AbortHook = ctypes.CFUNCTYPE(None, c_char_p)
ProgressCallback = ctypes.CFUNCTYPE(c_bool, c_float, c_void_p)
ToFloat = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_int64)


class Handle(c_void_p):
    """A native pointer of one kind; only a live handle of the same class passes as an argument."""

    @classmethod
    def from_param(cls, value: object) -> Self:
        """Return `value` as an argument, or raise TypeError: a wrong pointer would crash the process."""
        if type(value) is cls and value:
            return value
        raise TypeError(f"expected a live {cls.__name__}, got {value!r}")


class ModelHandle(Handle):
    """`llama_model *`."""


class ContextHandle(Handle):
    """`llama_context *`."""


class VocabHandle(Handle):
    """`const llama_vocab *`; owned by its model."""


class MemoryHandle(Handle):
    """`llama_memory_t`; owned by its context."""


class SamplerHandle(Handle):
    """`llama_sampler *`."""


class DeviceHandle(Handle):
    """`ggml_backend_dev_t`."""


class BackendHandle(Handle):
    """`ggml_backend_t`: a device, opened to compute on."""


class RegistryHandle(Handle):
    """`ggml_backend_reg_t`."""


class BufferTypeHandle(Handle):
    """`ggml_backend_buffer_type_t`."""


class BufferHandle(Handle):
    """`ggml_backend_buffer_t`: memory on a device."""


class GgmlContextHandle(Handle):
    """`ggml_context *`: room for tensor and graph structs, never for their data."""


class GgufHandle(Handle):
    """`gguf_context *`: the header of a model file."""


class GraphHandle(Handle):
    """`ggml_cgraph *`; lives in its context."""


class AllocatorHandle(Handle):
    """`ggml_gallocr_t`: memory for the intermediate results of graphs."""


class TensorHandle(Handle):
    """`ggml_tensor *`; lives in its context."""


class OptionalTensor(TensorHandle):
    """A tensor argument that may be NULL."""

    @classmethod
    def from_param(cls, value: object) -> Any:
        """Return a live tensor or None."""
        return None if value is None else TensorHandle.from_param(value)


class GgmlInitParams(ctypes.Structure):
    """`ggml_init_params`."""

    _fields_ = (("mem_size", c_size_t), ("mem_buffer", c_void_p), ("no_alloc", c_bool))


class GgufInitParams(ctypes.Structure):
    """`gguf_init_params`; without a context for tensors only the header is read."""

    _fields_ = (("no_alloc", c_bool), ("ctx", c_void_p))


class TypeTraits(ctypes.Structure):
    """`ggml_type_traits`, up to the function that converts a row to float32."""

    _fields_ = (
        ("type_name", c_char_p),
        ("blck_size", c_int64),
        ("blck_size_interleave", c_int64),
        ("type_size", c_size_t),
        ("is_quantized", c_bool),
        ("to_float", ToFloat),
    )


class KvOverrideValue(ctypes.Union):
    """The value of a metadata override; the tag says which member is valid."""

    _fields_ = (("val_i64", c_int64), ("val_f64", c_double), ("val_bool", c_bool), ("val_str", c_char * 128))


class KvOverride(ctypes.Structure):
    """`llama_model_kv_override`; a list of them ends in one with an empty key."""

    _fields_ = (("tag", c_int), ("key", c_char * 128), ("value", KvOverrideValue))


class BufferOverride(ctypes.Structure):
    """`llama_model_tensor_buft_override`; a list of them ends in an empty one."""

    _fields_ = (("pattern", c_char_p), ("buffer_type", c_void_p))


class ModelParams(ctypes.Structure):
    """`llama_model_params`."""

    _fields_ = (
        ("devices", c_void_p),
        ("tensor_buft_overrides", c_void_p),
        ("n_gpu_layers", c_int32),
        ("split_mode", c_int),
        ("load_mode", c_int),
        ("lazy_mode", c_int),
        ("main_gpu", c_int32),
        ("tensor_split", POINTER(c_float)),
        ("progress_callback", ProgressCallback),
        ("progress_callback_user_data", c_void_p),
        ("kv_overrides", POINTER(KvOverride)),
        ("vocab_only", c_bool),
        ("check_tensors", c_bool),
        ("use_extra_bufts", c_bool),
        ("no_host", c_bool),
        ("no_alloc", c_bool),
        ("load_mtp", c_bool),
    )


class ContextParams(ctypes.Structure):
    """`llama_context_params`. Callbacks are plain addresses: the engine never installs a Python function there."""

    _fields_ = (
        ("n_ctx", c_uint32),
        ("n_batch", c_uint32),
        ("n_ubatch", c_uint32),
        ("n_seq_max", c_uint32),
        ("n_rs_seq", c_uint32),
        ("n_outputs_max", c_uint32),
        ("n_outputs_max_per_seq", c_uint32),
        ("n_threads", c_int32),
        ("n_threads_batch", c_int32),
        ("ctx_type", c_int),
        ("rope_scaling_type", c_int),
        ("pooling_type", c_int),
        ("attention_type", c_int),
        ("flash_attn_type", c_int),
        ("rope_freq_base", c_float),
        ("rope_freq_scale", c_float),
        ("yarn_ext_factor", c_float),
        ("yarn_attn_factor", c_float),
        ("yarn_beta_fast", c_float),
        ("yarn_beta_slow", c_float),
        ("yarn_orig_ctx", c_uint32),
        ("defrag_thold", c_float),
        ("cb_eval", c_void_p),
        ("cb_eval_user_data", c_void_p),
        ("type_k", c_int),
        ("type_v", c_int),
        ("abort_callback", c_void_p),
        ("abort_callback_data", c_void_p),
        ("embeddings", c_bool),
        ("offload_kqv", c_bool),
        ("no_perf", c_bool),
        ("op_offload", c_bool),
        ("swa_full", c_bool),
        ("kv_unified", c_bool),
        ("samplers", c_void_p),
        ("n_samplers", c_size_t),
        ("ctx_other", c_void_p),
    )


class Batch(ctypes.Structure):
    """`llama_batch`: parallel arrays of `n_tokens` entries each."""

    _fields_ = (
        ("n_tokens", c_int32),
        ("token", POINTER(c_int32)),
        ("embd", POINTER(c_float)),
        ("pos", POINTER(c_int32)),
        ("n_seq_id", POINTER(c_int32)),
        ("seq_id", POINTER(POINTER(c_int32))),
        ("logits", POINTER(c_int8)),
    )


class SamplerChainParams(ctypes.Structure):
    """`llama_sampler_chain_params`."""

    _fields_ = (("no_perf", c_bool),)


class TokenData(ctypes.Structure):
    """`llama_token_data`."""

    _fields_ = (("id", c_int32), ("logit", c_float), ("p", c_float))


class TokenDataArray(ctypes.Structure):
    """`llama_token_data_array`; samplers reorder, cut and replace what `data` points to."""

    _fields_ = (("data", POINTER(TokenData)), ("size", c_size_t), ("selected", c_int64), ("sorted", c_bool))


class SamplerData(ctypes.Structure):
    """`llama_sampler_data`: the tensors that a sampler inside the graph takes over and passes on."""

    _fields_ = (("logits", c_void_p), ("probs", c_void_p), ("sampled", c_void_p), ("candidates", c_void_p))


SamplerName = ctypes.CFUNCTYPE(c_char_p, c_void_p)
SamplerApply = ctypes.CFUNCTYPE(None, c_void_p, c_void_p)
SamplerBackendInit = ctypes.CFUNCTYPE(c_bool, c_void_p, c_void_p, c_uint32)
SamplerBackendApply = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_void_p, POINTER(SamplerData))
SamplerEvent = ctypes.CFUNCTYPE(None, c_void_p)
EvalCallback = ctypes.CFUNCTYPE(c_bool, c_void_p, c_bool, c_void_p)


class SamplerInterface(ctypes.Structure):
    """`llama_sampler_i`; only the members that the engine sets have a type."""

    _fields_ = (
        ("name", SamplerName),
        ("accept", c_void_p),
        ("apply", SamplerApply),
        ("reset", c_void_p),
        ("clone", c_void_p),
        ("free", c_void_p),
        ("backend_init", SamplerBackendInit),
        ("backend_accept", c_void_p),
        ("backend_apply", SamplerBackendApply),
        ("backend_set_input", c_void_p),
        ("backend_reset", SamplerEvent),
        ("copy_state", c_void_p),
    )


class SequenceSampler(ctypes.Structure):
    """`llama_sampler_seq_config`."""

    _fields_ = (("seq_id", c_int32), ("sampler", c_void_p))
