"""Prototypes of the native functions the engine calls.

`library` binds each entry once; functions not in this table cannot be called. A function missing from the installed
build is an error at import, not in the middle of an answer.
"""

from ctypes import (
    POINTER,
    c_bool,
    c_char_p,
    c_float,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint8,
    c_uint32,
    c_uint64,
    c_void_p,
)

from laguna_engine.native.structs import (
    AbortHook,
    AllocatorHandle,
    BackendHandle,
    Batch,
    BufferHandle,
    BufferTypeHandle,
    ContextHandle,
    ContextParams,
    DeviceHandle,
    GgmlContextHandle,
    GgmlInitParams,
    GgufHandle,
    GgufInitParams,
    GraphHandle,
    LogCallback,
    MemoryHandle,
    ModelHandle,
    ModelParams,
    OptionalTensor,
    RegistryHandle,
    SamplerChainParams,
    SamplerHandle,
    SamplerInterface,
    TensorHandle,
    TokenDataArray,
    TypeTraits,
    VocabHandle,
)

Prototype = tuple[type | None, tuple[type, ...]]

_GGML: dict[str, Prototype] = {
    "ggml_version": (c_char_p, ()),
    "ggml_log_set": (None, (LogCallback, c_void_p)),
    "ggml_set_abort_callback": (c_void_p, (AbortHook,)),
    "ggml_backend_load": (RegistryHandle, (c_char_p,)),
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
    "ggml_get_name": (c_char_p, (TensorHandle,)),
    "ggml_op_desc": (c_char_p, (TensorHandle,)),
    "ggml_nbytes": (c_size_t, (TensorHandle,)),
    "ggml_row_size": (c_size_t, (c_int, c_int64)),
    "ggml_blck_size": (c_int64, (c_int,)),
    "ggml_type_size": (c_size_t, (c_int,)),
    "ggml_get_type_traits": (POINTER(TypeTraits), (c_int,)),
    "ggml_set_input": (None, (TensorHandle,)),
    "ggml_set_output": (None, (TensorHandle,)),
}

_GGUF: dict[str, Prototype] = {
    "gguf_init_empty": (GgufHandle, ()),
    "gguf_init_from_file": (GgufHandle, (c_char_p, GgufInitParams)),
    "gguf_free": (None, (GgufHandle,)),
    "gguf_set_kv": (None, (GgufHandle, GgufHandle)),
    "gguf_set_val_u32": (None, (GgufHandle, c_char_p, c_uint32)),
    "gguf_set_val_str": (None, (GgufHandle, c_char_p, c_char_p)),
    "gguf_set_val_f32": (None, (GgufHandle, c_char_p, c_float)),
    "gguf_set_val_bool": (None, (GgufHandle, c_char_p, c_bool)),
    "gguf_set_arr_data": (None, (GgufHandle, c_char_p, c_int, c_void_p, c_size_t)),
    "gguf_remove_key": (c_int64, (GgufHandle, c_char_p)),
    "gguf_add_tensor": (None, (GgufHandle, TensorHandle)),
    "gguf_get_meta_size": (c_size_t, (GgufHandle,)),
    "gguf_get_meta_data": (None, (GgufHandle, c_void_p)),
    "ggml_quantize_chunk": (c_size_t, (c_int, c_void_p, c_void_p, c_int64, c_int64, c_int64, c_void_p)),
}

_OPERATIONS: dict[str, Prototype] = {
    **{
        f"ggml_{name}": (TensorHandle, (GgmlContextHandle, TensorHandle))
        for name in ("softplus", "sigmoid", "argmax", "cont", "transpose", "log")
    },
    **{
        f"ggml_{name}": (TensorHandle, (GgmlContextHandle, TensorHandle, TensorHandle))
        for name in ("mul_mat", "add", "sub", "mul", "swiglu_split", "get_rows", "cpy")
    },
    "ggml_rms_norm": (TensorHandle, (GgmlContextHandle, TensorHandle, c_float)),
    "ggml_scale": (TensorHandle, (GgmlContextHandle, TensorHandle, c_float)),
    "ggml_clamp": (TensorHandle, (GgmlContextHandle, TensorHandle, c_float, c_float)),
    "ggml_cast": (TensorHandle, (GgmlContextHandle, TensorHandle, c_int)),
    "ggml_top_k": (TensorHandle, (GgmlContextHandle, TensorHandle, c_int)),
    "ggml_concat": (TensorHandle, (GgmlContextHandle, TensorHandle, TensorHandle, c_int)),
    "ggml_set_rows": (TensorHandle, (GgmlContextHandle, *(TensorHandle,) * 3)),
    "ggml_mul_mat_id": (TensorHandle, (GgmlContextHandle, *(TensorHandle,) * 3)),
    "ggml_soft_max_ext": (TensorHandle, (GgmlContextHandle, TensorHandle, OptionalTensor, c_float, c_float)),
    "ggml_flash_attn_ext": (
        TensorHandle,
        (GgmlContextHandle, *(TensorHandle,) * 3, OptionalTensor, *(c_float,) * 3),
    ),
    "ggml_flash_attn_ext_set_prec": (None, (TensorHandle, c_int)),
    "ggml_rope_ext": (
        TensorHandle,
        (GgmlContextHandle, TensorHandle, TensorHandle, OptionalTensor, *(c_int,) * 3, *(c_float,) * 6),
    ),
    "ggml_permute": (TensorHandle, (GgmlContextHandle, TensorHandle, *(c_int,) * 4)),
    "ggml_reshape_4d": (TensorHandle, (GgmlContextHandle, TensorHandle, *(c_int64,) * 4)),
}

_GRAPH: dict[str, Prototype] = {
    "ggml_graph_overhead_custom": (c_size_t, (c_size_t, c_bool)),
    "ggml_new_graph_custom": (GraphHandle, (GgmlContextHandle, c_size_t, c_bool)),
    "ggml_build_forward_expand": (None, (GraphHandle, TensorHandle)),
    "ggml_graph_n_nodes": (c_int, (GraphHandle,)),
    "ggml_graph_node": (TensorHandle, (GraphHandle, c_int)),
    "ggml_graph_get_tensor": (TensorHandle, (GraphHandle, c_char_p)),
    "ggml_gallocr_new": (AllocatorHandle, (BufferTypeHandle,)),
    "ggml_gallocr_free": (None, (AllocatorHandle,)),
    "ggml_gallocr_alloc_graph": (c_bool, (AllocatorHandle, GraphHandle)),
    "ggml_gallocr_get_buffer_size": (c_size_t, (AllocatorHandle, c_int)),
}

_BACKEND: dict[str, Prototype] = {
    "ggml_backend_reg_count": (c_size_t, ()),
    "ggml_backend_reg_get": (RegistryHandle, (c_size_t,)),
    "ggml_backend_reg_name": (c_char_p, (RegistryHandle,)),
    "ggml_backend_dev_by_type": (DeviceHandle, (c_int,)),
    "ggml_backend_dev_name": (c_char_p, (DeviceHandle,)),
    "ggml_backend_dev_type": (c_int, (DeviceHandle,)),
    "ggml_backend_dev_memory": (None, (DeviceHandle, POINTER(c_size_t), POINTER(c_size_t))),
    "ggml_backend_dev_buffer_type": (BufferTypeHandle, (DeviceHandle,)),
    "ggml_backend_dev_init": (BackendHandle, (DeviceHandle, c_char_p)),
    "ggml_backend_dev_backend_reg": (RegistryHandle, (DeviceHandle,)),
    "ggml_backend_dev_supports_op": (c_bool, (DeviceHandle, TensorHandle)),
    "ggml_backend_dev_supports_buft": (c_bool, (DeviceHandle, BufferTypeHandle)),
    "ggml_backend_reg_get_proc_address": (c_void_p, (RegistryHandle, c_char_p)),
    "ggml_backend_free": (None, (BackendHandle,)),
    "ggml_backend_get_default_buffer_type": (BufferTypeHandle, (BackendHandle,)),
    "ggml_backend_alloc_ctx_tensors_from_buft": (BufferHandle, (GgmlContextHandle, BufferTypeHandle)),
    "ggml_backend_buft_name": (c_char_p, (BufferTypeHandle,)),
    "ggml_backend_buft_get_device": (DeviceHandle, (BufferTypeHandle,)),
    "ggml_backend_buffer_free": (None, (BufferHandle,)),
    "ggml_backend_buffer_get_size": (c_size_t, (BufferHandle,)),
    "ggml_backend_buffer_get_type": (BufferTypeHandle, (BufferHandle,)),
    "ggml_backend_buffer_clear": (None, (BufferHandle, c_uint8)),
    "ggml_backend_buffer_set_usage": (None, (BufferHandle, c_int)),
    "ggml_backend_tensor_set": (None, (TensorHandle, c_void_p, c_size_t, c_size_t)),
    "ggml_backend_tensor_get": (None, (TensorHandle, c_void_p, c_size_t, c_size_t)),
    "ggml_backend_graph_compute": (c_int, (BackendHandle, GraphHandle)),
    "ggml_backend_synchronize": (None, (BackendHandle,)),
}

_MODEL: dict[str, Prototype] = {
    "llama_print_system_info": (c_char_p, ()),
    "llama_backend_init": (None, ()),
    "llama_log_set": (None, (LogCallback, c_void_p)),
    "llama_max_devices": (c_size_t, ()),
    "llama_model_default_params": (ModelParams, ()),
    "llama_model_load_from_file": (ModelHandle, (c_char_p, ModelParams)),
    "llama_model_free": (None, (ModelHandle,)),
    "llama_model_get_vocab": (VocabHandle, (ModelHandle,)),
    "llama_model_n_ctx_train": (c_int32, (ModelHandle,)),
    "llama_model_n_embd": (c_int32, (ModelHandle,)),
    "llama_model_n_layer": (c_int32, (ModelHandle,)),
    "llama_model_n_swa": (c_int32, (ModelHandle,)),
    "llama_model_is_hybrid": (c_bool, (ModelHandle,)),
    "llama_model_is_recurrent": (c_bool, (ModelHandle,)),
    "llama_model_rope_type": (c_int, (ModelHandle,)),
    "llama_n_rs_seq": (c_uint32, (ContextHandle,)),
    "llama_model_n_params": (c_uint64, (ModelHandle,)),
    "llama_model_size": (c_uint64, (ModelHandle,)),
    "llama_model_desc": (c_int32, (ModelHandle, c_char_p, c_size_t)),
}

_VOCAB: dict[str, Prototype] = {
    "llama_vocab_n_tokens": (c_int32, (VocabHandle,)),
    "llama_vocab_bos": (c_int32, (VocabHandle,)),
    "llama_vocab_eos": (c_int32, (VocabHandle,)),
    "llama_vocab_eot": (c_int32, (VocabHandle,)),
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
    "llama_memory_seq_keep": (None, (MemoryHandle, c_int32)),
    "llama_memory_seq_cp": (None, (MemoryHandle, c_int32, c_int32, c_int32, c_int32)),
    "llama_memory_seq_pos_min": (c_int32, (MemoryHandle, c_int32)),
    "llama_memory_seq_pos_max": (c_int32, (MemoryHandle, c_int32)),
    "llama_state_seq_get_size_ext": (c_size_t, (ContextHandle, c_int32, c_uint32)),
    "llama_state_seq_get_data_ext": (c_size_t, (ContextHandle, c_void_p, c_size_t, c_int32, c_uint32)),
    "llama_state_seq_set_data_ext": (c_size_t, (ContextHandle, c_void_p, c_size_t, c_int32, c_uint32)),
    "llama_decode": (c_int32, (ContextHandle, Batch)),
    "llama_get_logits_ith": (POINTER(c_float), (ContextHandle, c_int32)),
    "llama_get_sampled_logits_ith": (POINTER(c_float), (ContextHandle, c_int32)),
}

_SAMPLER: dict[str, Prototype] = {
    "llama_set_sampler": (c_bool, (ContextHandle, c_int32, SamplerHandle)),
    "llama_synchronize": (None, (ContextHandle,)),
    "llama_sampler_init": (SamplerHandle, (POINTER(SamplerInterface), c_void_p)),
    "llama_sampler_apply": (None, (SamplerHandle, POINTER(TokenDataArray))),
    "llama_sampler_chain_default_params": (SamplerChainParams, ()),
    "llama_sampler_chain_init": (SamplerHandle, (SamplerChainParams,)),
    "llama_sampler_chain_add": (None, (SamplerHandle, SamplerHandle)),
    "llama_sampler_free": (None, (SamplerHandle,)),
    "llama_sampler_accept": (None, (SamplerHandle, c_int32)),
    "llama_sampler_sample": (c_int32, (SamplerHandle, ContextHandle, c_int32)),
    "llama_sampler_init_penalties": (SamplerHandle, (c_int32, c_int32, c_float, c_float, c_float)),
    "llama_sampler_init_top_k": (SamplerHandle, (c_int32,)),
    "llama_sampler_init_top_p": (SamplerHandle, (c_float, c_size_t)),
    "llama_sampler_init_min_p": (SamplerHandle, (c_float, c_size_t)),
    "llama_sampler_init_temp": (SamplerHandle, (c_float,)),
    "llama_sampler_init_greedy": (SamplerHandle, ()),
}

PROTOTYPES: dict[str, Prototype] = {
    **_GGML,
    **_GGUF,
    **_OPERATIONS,
    **_GRAPH,
    **_BACKEND,
    **_MODEL,
    **_VOCAB,
    **_CONTEXT,
    **_SAMPLER,
}
"""Name -> (result, arguments)."""

QUICK = frozenset(
    {
        "ggml_backend_tensor_get",
        "ggml_backend_tensor_set",
        "llama_memory_seq_pos_max",
        "llama_memory_seq_pos_min",
        "llama_memory_seq_rm",
        "llama_sampler_accept",
        "llama_sampler_apply",
        "llama_token_to_piece",
    }
)
"""Functions that take about a microsecond and are called every round: they keep the GIL, because waiting to get it back
may take the caller a hundred times as long."""
