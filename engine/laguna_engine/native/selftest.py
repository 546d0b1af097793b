"""Checks that the installed llama.cpp has the struct layouts this engine was written for.

ctypes does not verify struct layouts, so a build with one more field would be called with shifted arguments: wrong
answers at best. Three things are compared before the first real call: ggml's version, every default of the two big
parameter structs (a shifted field shows as a wrong default), and the offsets inside `ggml_tensor`.
"""

import ctypes
import math
from typing import Any

from laguna_engine.errors import LibraryError
from laguna_engine.native import tensor_layout
from laguna_engine.native.structs import GgmlInitParams

BINDING_VERSION = "0.3.36"
"""The llama-cpp-python release whose `llama.h` the structs mirror."""

GGML_VERSION = b"0.25.3"
"""The version of ggml in that release."""

REINSTALL = f"install the pinned build again: pip install --force-reinstall llama-cpp-python=={BINDING_VERSION}"

_F16 = 1
_SCRATCH_BYTES = 1 << 14
"""Room for a few tensor structs without data."""

_MODEL_DEFAULTS: dict[str, object] = {
    "devices": None,
    "tensor_buft_overrides": None,
    "n_gpu_layers": -1,
    "split_mode": 1,
    "load_mode": -1,
    "lazy_mode": 1,
    "main_gpu": 0,
    "progress_callback_user_data": None,
    "vocab_only": False,
    "check_tensors": False,
    "use_extra_bufts": True,
    "no_host": False,
    "no_alloc": False,
    "load_mtp": False,
}
_CONTEXT_DEFAULTS: dict[str, object] = {
    "n_ctx": 512,
    "n_batch": 2048,
    "n_ubatch": 512,
    "n_seq_max": 1,
    "n_rs_seq": 0,
    "n_outputs_max": 0,
    "n_outputs_max_per_seq": 1,
    "n_threads": 4,
    "n_threads_batch": 4,
    "ctx_type": 0,
    "rope_scaling_type": -1,
    "pooling_type": -1,
    "attention_type": -1,
    "flash_attn_type": -1,
    "rope_freq_base": 0.0,
    "rope_freq_scale": 0.0,
    "yarn_ext_factor": -1.0,
    "yarn_attn_factor": -1.0,
    "yarn_beta_fast": -1.0,
    "yarn_beta_slow": -1.0,
    "yarn_orig_ctx": 0,
    "defrag_thold": -1.0,
    "cb_eval": None,
    "type_k": _F16,
    "type_v": _F16,
    "abort_callback": None,
    "abort_callback_data": None,
    "embeddings": False,
    "offload_kqv": True,
    "no_perf": True,
    "op_offload": True,
    "swa_full": True,
    "kv_unified": False,
    "samplers": None,
    "n_samplers": 0,
    "ctx_other": None,
}


def check(library: Any) -> None:
    """Check `library`; LibraryError for the first difference."""
    version = library.ggml_version()
    if version != GGML_VERSION:
        raise LibraryError(
            f"ggml is {version.decode()}, this engine was written for {GGML_VERSION.decode()}; {REINSTALL}"
        )
    _check_defaults("llama_model_params", library.llama_model_default_params(), _MODEL_DEFAULTS)
    _check_defaults("llama_context_params", library.llama_context_default_params(), _CONTEXT_DEFAULTS)
    _check_tensor_layout(library)


def _check_defaults(struct: str, actual: ctypes.Structure, expected: dict[str, object]) -> None:
    for field, value in expected.items():
        found = getattr(actual, field)
        same = math.isclose(found, value) if isinstance(value, float) else found == value
        if not same:
            raise LibraryError(f"{struct}.{field} is {found!r} by default, expected {value!r}; {REINSTALL}")


def _check_tensor_layout(library: Any) -> None:
    if library.ggml_tensor_overhead() != tensor_layout.TENSOR_BYTES:
        raise LibraryError(
            f"a tensor takes {library.ggml_tensor_overhead()} bytes, not {tensor_layout.TENSOR_BYTES}; {REINSTALL}"
        )
    context = library.ggml_init(GgmlInitParams(_SCRATCH_BYTES, None, True))
    try:
        tensor = library.ggml_new_tensor_4d(context, _F16, 3, 5, 7, 11)
        view = library.ggml_view_4d(context, tensor, 2, 4, 6, 10, 102, 1004, 10006, 2)
        library.ggml_set_name(view, b"layout")
        if not _layout_matches(tensor.value, view.value):
            raise LibraryError(f"the layout of ggml_tensor has changed; {REINSTALL}")
    finally:
        library.ggml_free(context)


def _layout_matches(tensor: int, view: int) -> bool:
    return (
        tensor_layout.type_of(tensor) == _F16
        and tensor_layout.shape_of(tensor) == (3, 5, 7, 11)
        and tensor_layout.strides_of(tensor) == (2, 6, 30, 210)
        and tensor_layout.buffer_of(tensor) is None
        and tensor_layout.shape_of(view) == (2, 4, 6, 10)
        and tensor_layout.strides_of(view) == (2, 102, 1004, 10006)
        and [source.value for source in tensor_layout.sources_of(view)] == [tensor]
        and ctypes.c_void_p.from_address(view + tensor_layout.VIEWED).value == tensor
        and tensor_layout.name_of(view) == "layout"
    )
