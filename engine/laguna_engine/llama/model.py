"""A loaded model: its weights and vocabulary. The file is checked before it is loaded.

A `Model` is shared by the contexts created from it, and closing it closes them first. Opening takes seconds to minutes
and happens on the engine thread; the attributes may be read from any thread.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self
from weakref import WeakMethod

from laguna_engine.errors import EngineClosed, ModelFileError, ModelOutOfMemory
from laguna_engine.ggml import extra_buffers
from laguna_engine.ggml.device import Device
from laguna_engine.gguf import header as gguf_header
from laguna_engine.gguf import laguna
from laguna_engine.llama import trial
from laguna_engine.llama.vocab import Vocab
from laguna_engine.native.library import lib, log, log_reports_out_of_memory, recent_log, unknown_architecture
from laguna_engine.native.structs import BufferOverride, KvOverride, ModelHandle, ModelParams, ProgressCallback

OverrideValue = int | float | bool | str

_LOAD_INTO_MEMORY, _LOAD_MAPPED = 0, 1
"""`llama_load_mode`."""

_TAG_INT, _TAG_FLOAT, _TAG_BOOL, _TAG_STR = range(4)
"""`llama_model_kv_override_type`."""

_GRID_ROPES = (8, 40)
"""`LLAMA_ROPE_TYPE_MROPE` and `_IMROPE`."""

_PLAIN = ("f32", "f16", "bf16")

_OVERRIDE_BYTES = 127
"""Longest key or string of an override: 128 bytes with the terminating NUL."""

_DESCRIPTION_BYTES = 256

_CHAT_TEMPLATE = "tokenizer.chat_template"


class Model:
    """An open model.

    Attributes:
        header: the checked header of its file.
        warnings: sentences for the user about how it was opened.
        vocab: its vocabulary.
        n_embd: width of the hidden states.
        n_layer: number of layers.
        n_ctx_train: tokens it was trained for.
        n_swa: positions of the sliding window, 0 without one.
        recurrent: whether layers have a state in place of keys and values, as in hybrid models: it holds what was read
            so far and cannot be cut as a cache can.
        grid: whether positions have several dimensions (M-RoPE).
        memory: what its memory takes, as the trial measured it; None for architectures that need no trial.
        n_params: number of weights.
        size_bytes: bytes of all tensors.
        description: llama.cpp's one-line summary.
    """

    def __init__(
        self,
        handle: ModelHandle,
        header: gguf_header.Header,
        warnings: tuple[str, ...] = (),
        memory: trial.Memory | None = None,
    ) -> None:
        self._handle = handle
        self.memory = memory
        self._dependents: list[WeakMethod[Callable[[], None]]] = []
        self.header = header
        self.warnings = warnings
        template = "" if header.architecture == laguna.ARCHITECTURE else header.metadata.get(_CHAT_TEMPLATE, "")
        self.vocab = Vocab(lib.llama_model_get_vocab(handle), header.metadata, str(template))
        self.n_embd: int = lib.llama_model_n_embd(handle)
        self.n_layer: int = lib.llama_model_n_layer(handle)
        self.n_ctx_train: int = lib.llama_model_n_ctx_train(handle)
        self.n_swa: int = lib.llama_model_n_swa(handle)
        self.recurrent: bool = lib.llama_model_is_hybrid(handle) or lib.llama_model_is_recurrent(handle)
        self.grid = lib.llama_model_rope_type(handle) in _GRID_ROPES
        self.n_params: int = lib.llama_model_n_params(handle)
        self.size_bytes: int = lib.llama_model_size(handle)
        buffer = ctypes.create_string_buffer(_DESCRIPTION_BYTES)
        lib.llama_model_desc(handle, buffer, _DESCRIPTION_BYTES)
        self.description = buffer.value.decode("utf-8", "replace")

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        gpu_layers: int = 0,
        use_mmap: bool = True,
        check_tensors: bool = False,
        extra_bufts: bool = True,
        tensors_in_ram: str = "",
        split: Sequence[float] = (),
        vocab_only: bool = False,
        progress: Callable[[float], bool] | None = None,
        overrides: Mapping[str, OverrideValue] | None = None,
        tried: bool = False,
    ) -> Self:
        """Check the file and load it.

        Args:
            path: the GGUF file.
            gpu_layers: layers to offload, -1 for all.
            use_mmap: map the file instead of reading it into memory.
            check_tensors: check every weight for NaN and infinity, which reads the whole file.
            extra_bufts: allow repacked CPU weights (faster, not bit-identical) where they work on this processor.
            tensors_in_ram: regular expression of tensors that stay in RAM, even with `gpu_layers`.
            split: share of the layers of each GPU.
            vocab_only: load no weights; all attributes but the vocabulary's are 0.
            progress: called with 0 to 1; returning False cancels, an exception cancels and is raised from here.
            overrides: metadata to replace.
            tried: skip the trial in a child process (`trial`), for the child itself.

        Raises:
            ModelFileError: the file is refused by the check or by llama.cpp.
        """
        header = gguf_header.check(path)
        watcher = _Progress(progress)
        found = trial.NOTHING
        if not tried and header.architecture != laguna.ARCHITECTURE:
            found = trial.check(header.parts, watcher.still_wanted)
        params: ModelParams = lib.llama_model_default_params()
        params.vocab_only = vocab_only
        params.n_gpu_layers = gpu_layers
        params.load_mode = _LOAD_MAPPED if use_mmap else _LOAD_INTO_MEMORY
        params.check_tensors = check_tensors
        params.use_extra_bufts = extra_bufts and not vocab_only and may_repack(header)
        placement = _Placement(tensors_in_ram, split)
        params.tensor_buft_overrides, params.tensor_split = placement.overrides, placement.split
        params.progress_callback = watcher.callback
        params.kv_overrides = _native_overrides(overrides or {})
        log.clear()
        handle: ModelHandle = lib.llama_model_load_from_file(os.fsencode(path), params)
        watcher.raise_stored()
        if not handle:
            raise _refusal(path, watcher.cancelled)
        return cls(handle, header, () if found.warning is None else (found.warning,), found.memory)

    @property
    def handle(self) -> ModelHandle:
        """llama.cpp's handle, for `Context`; EngineClosed after `close`."""
        if not self._handle:
            raise EngineClosed("the model is closed; open the model again")
        return self._handle

    def adopt(self, close: Callable[[], None]) -> None:
        """Register the `close` of a context on this model, because using it after the weights are freed would crash."""
        self._dependents = [known for known in self._dependents if known() is not None]
        self._dependents.append(WeakMethod(close))

    def close(self) -> None:
        """Close every context, then free the weights. Idempotent."""
        if self._handle:
            for known in self._dependents:
                close = known()
                if close is not None:
                    close()
            self.vocab.close()
            lib.llama_model_free(self._handle)
            self._handle.value = None


class _Placement:
    """Native arrays for `tensor_buft_overrides` and `tensor_split`; must live while the model is loaded."""

    def __init__(self, tensors_in_ram: str, split: Sequence[float]) -> None:
        most = lib.llama_max_devices()
        if len(split) > most or min(split, default=0) < 0:
            raise ModelFileError(f"the split {list(split)} does not suit {most} GPUs; give each a share of 0 or more")
        self._list = (BufferOverride * 2)()
        if tensors_in_ram:
            self._list[0].pattern = tensors_in_ram.encode()
            self._list[0].buffer_type = lib.ggml_backend_dev_buffer_type(Device.cpu().handle).value
        self.overrides = ctypes.addressof(self._list) if tensors_in_ram else None
        self.split = (ctypes.c_float * most)(*split) if split else None


class _Progress:
    """Adapts a Python progress function to the native callback, out of which no exception may escape."""

    def __init__(self, report: Callable[[float], bool] | None) -> None:
        self._report = report
        self._error: BaseException | None = None
        self.cancelled = False
        # Always set: without a callback llama.cpp prints dots.
        self.callback = ProgressCallback(self._on_progress)

    def _on_progress(self, fraction: float, _data: Any) -> bool:
        if self._report is None:
            return True
        try:
            self.cancelled = not self._report(fraction)
        except BaseException as error:
            self._error, self.cancelled = error, True
        return not self.cancelled

    def still_wanted(self) -> bool:
        """Return whether loading is still wanted, before it begins; raises what the progress function raised."""
        wanted = self._on_progress(0.0, None)
        self.raise_stored()
        return wanted

    def raise_stored(self) -> None:
        """Raise what the progress function raised."""
        if self._error is not None:
            raise self._error


def may_repack(header: gguf_header.Header) -> bool:
    """Return whether llama.cpp may use extra buffer types; the option covers all of them, so a faulty one disables all.

    Only quantized matrices gain by them: AMX's takes others too, and holds tied embeddings a second time for it.
    """
    quantized = any(info.format not in _PLAIN for info in header.tensors)
    return quantized and not extra_buffers.faults()


def _refusal(path: Path, cancelled: bool) -> ModelFileError:
    if cancelled:
        return ModelFileError(f"{path}: loading was cancelled; open it again when wanted")
    if log_reports_out_of_memory():
        return ModelOutOfMemory(f"{path}: there is not enough memory for it ({recent_log()}); choose a smaller model")
    if name := unknown_architecture():
        return ModelFileError(
            f"{path}: has the architecture {name!r}, which this llama.cpp does not know; update laguna-tui, or choose "
            "another model"
        )
    return ModelFileError(
        f"{path}: llama.cpp cannot load it ({recent_log()}); download it again, or choose another model"
    )


def _native_overrides(overrides: Mapping[str, OverrideValue]) -> Any:
    if not overrides:
        return None
    # The list ends with an empty key: the last element stays zeroed.
    array = (KvOverride * (len(overrides) + 1))()
    for entry, (key, value) in zip(array, overrides.items(), strict=False):
        entry.key = _short(key)
        _set_override(entry, value)
    return array


def _set_override(entry: KvOverride, value: OverrideValue) -> None:
    # bool before int: True is an int in Python but a separate type in GGUF.
    match value:
        case bool():
            entry.tag, entry.value.val_bool = _TAG_BOOL, value
        case int():
            entry.tag, entry.value.val_i64 = _TAG_INT, value
        case float():
            entry.tag, entry.value.val_f64 = _TAG_FLOAT, value
        case str():
            entry.tag, entry.value.val_str = _TAG_STR, _short(value)


def _short(text: str) -> bytes:
    data = text.encode()
    if len(data) > _OVERRIDE_BYTES:
        raise ModelFileError(f"the override {text[:40]!r}… is longer than {_OVERRIDE_BYTES} bytes; shorten it")
    return data
