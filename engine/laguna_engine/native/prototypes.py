"""Every native function the engine calls, with its result and its arguments.

A symbol that is not in this table is not reachable; `library` binds each entry once, and one that is missing from
the installed build is an error at import, not in the middle of an answer.
"""

from ctypes import POINTER, c_bool, c_char_p, c_float, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

from laguna_engine.native.structs import (
    AbortHook,
    Batch,
    ContextHandle,
    ContextParams,
    DeviceHandle,
    GgmlContextHandle,
    GgmlInitParams,
    LogCallback,
    MemoryHandle,
    ModelHandle,
    ModelParams,
    SamplerChainParams,
    SamplerHandle,
    TensorHandle,
    VocabHandle,
)

Prototype = tuple[type | None, tuple[type, ...]]

_GGML: dict[str, Prototype] = {
    "ggml_version": (c_char_p, ()),
    "ggml_log_set": (None, (LogCallback, c_void_p)),
    "ggml_set_abort_callback": (c_void_p, (AbortHook,)),
    "ggml_backend_load_all_from_path": (None, (c_char_p,)),
    "ggml_backend_dev_count": (c_size_t, ()),
    "ggml_backend_dev_get": (DeviceHandle, (c_size_t,)),
    "ggml_backend_dev_description": (c_char_p, (DeviceHandle,)),
    "ggml_init": (GgmlContextHandle, (GgmlInitParams,)),
    "ggml_free": (None, (GgmlContextHandle,)),
    "ggml_tensor_overhead": (c_size_t, ()),
    "ggml_new_tensor_4d": (TensorHandle, (GgmlContextHandle, c_int, c_int64, c_int64, c_int64, c_int64)),
    "ggml_set_name": (TensorHandle, (TensorHandle, c_char_p)),
    "ggml_view_4d": (
        TensorHandle,
        (GgmlContextHandle, TensorHandle, *(c_int64,) * 4, *(c_size_t,) * 4),
    ),
}

_MODEL: dict[str, Prototype] = {
    "llama_backend_init": (None, ()),
    "llama_log_set": (None, (LogCallback, c_void_p)),
    "llama_model_default_params": (ModelParams, ()),
    "llama_model_load_from_file": (ModelHandle, (c_char_p, ModelParams)),
    "llama_model_free": (None, (ModelHandle,)),
    "llama_model_get_vocab": (VocabHandle, (ModelHandle,)),
    "llama_model_n_ctx_train": (c_int32, (ModelHandle,)),
    "llama_model_n_embd": (c_int32, (ModelHandle,)),
    "llama_model_n_layer": (c_int32, (ModelHandle,)),
    "llama_model_n_swa": (c_int32, (ModelHandle,)),
    "llama_model_n_params": (c_uint64, (ModelHandle,)),
    "llama_model_size": (c_uint64, (ModelHandle,)),
    "llama_model_desc": (c_int32, (ModelHandle, c_char_p, c_size_t)),
}

_VOCAB: dict[str, Prototype] = {
    "llama_vocab_n_tokens": (c_int32, (VocabHandle,)),
    "llama_vocab_bos": (c_int32, (VocabHandle,)),
    "llama_vocab_get_add_bos": (c_bool, (VocabHandle,)),
    "llama_vocab_is_eog": (c_bool, (VocabHandle, c_int32)),
    "llama_vocab_get_attr": (c_int, (VocabHandle, c_int32)),
    "llama_tokenize": (c_int32, (VocabHandle, c_char_p, c_int32, POINTER(c_int32), c_int32, c_bool, c_bool)),
    "llama_token_to_piece": (c_int32, (VocabHandle, c_int32, c_char_p, c_int32, c_int32, c_bool)),
}

_CONTEXT: dict[str, Prototype] = {
    "llama_context_default_params": (ContextParams, ()),
    "llama_init_from_model": (ContextHandle, (ModelHandle, ContextParams)),
    "llama_free": (None, (ContextHandle,)),
    "llama_n_ctx": (c_uint32, (ContextHandle,)),
    "llama_n_batch": (c_uint32, (ContextHandle,)),
    "llama_n_ubatch": (c_uint32, (ContextHandle,)),
    "llama_get_memory": (MemoryHandle, (ContextHandle,)),
    "llama_memory_clear": (None, (MemoryHandle, c_bool)),
    "llama_memory_seq_rm": (c_bool, (MemoryHandle, c_int32, c_int32, c_int32)),
    "llama_memory_seq_pos_min": (c_int32, (MemoryHandle, c_int32)),
    "llama_memory_seq_pos_max": (c_int32, (MemoryHandle, c_int32)),
    "llama_decode": (c_int32, (ContextHandle, Batch)),
    "llama_get_logits_ith": (POINTER(c_float), (ContextHandle, c_int32)),
}

_SAMPLER: dict[str, Prototype] = {
    "llama_sampler_chain_default_params": (SamplerChainParams, ()),
    "llama_sampler_chain_init": (SamplerHandle, (SamplerChainParams,)),
    "llama_sampler_chain_add": (None, (SamplerHandle, SamplerHandle)),
    "llama_sampler_free": (None, (SamplerHandle,)),
    "llama_sampler_reset": (None, (SamplerHandle,)),
    "llama_sampler_accept": (None, (SamplerHandle, c_int32)),
    "llama_sampler_sample": (c_int32, (SamplerHandle, ContextHandle, c_int32)),
    "llama_sampler_init_penalties": (SamplerHandle, (c_int32, c_int32, c_float, c_float, c_float)),
    "llama_sampler_init_top_k": (SamplerHandle, (c_int32,)),
    "llama_sampler_init_top_p": (SamplerHandle, (c_float, c_size_t)),
    "llama_sampler_init_min_p": (SamplerHandle, (c_float, c_size_t)),
    "llama_sampler_init_temp": (SamplerHandle, (c_float,)),
    "llama_sampler_init_dist": (SamplerHandle, (c_uint32,)),
    "llama_sampler_init_greedy": (SamplerHandle, ()),
}

PROTOTYPES: dict[str, Prototype] = {**_GGML, **_MODEL, **_VOCAB, **_CONTEXT, **_SAMPLER}
"""Name -> (result, arguments)."""
