"""Describes the installed llama.cpp: its release, its kernels for this processor, what it has for graphics cards."""

import importlib.util
import re
from collections.abc import Iterable
from pathlib import Path

from laguna_engine.native import plugins
from laguna_engine.native.selftest import BINDING_VERSION

_WORTH_NAMING = ("AVX2", "AVX512", "AVX512_VNNI", "AMX_INT8", "NEON", "DOTPROD", "MATMUL_INT8", "SVE")
"""The CPU features that change the speed most, as ggml names them."""

_GPU_LIBRARIES = {
    "cuda": "CUDA",
    "hip": "ROCm",
    "vulkan": "Vulkan",
    "metal": "Metal",
    "sycl": "SYCL",
    "opencl": "OpenCL",
    "musa": "MUSA",
}
"""ggml's library names and their usual names."""


def cpu_kernels(features: str) -> tuple[str, ...]:
    """Return what of the processor the CPU backend uses that makes the most difference, such as `AVX512`.

    features: as `llama_print_system_info` returns them.
    """
    return tuple(feature for feature in _WORTH_NAMING if f"{feature} = 1" in features)


def gpu_kinds(libraries: Iterable[str]) -> tuple[str, ...]:
    """Return the kinds of graphics cards that libraries of ggml are for, by the libraries' file names."""
    kinds = {match[1] for name in libraries if (match := re.match(r"libggml-([a-z]+)[-.]", name))}
    return tuple(title for kind, title in _GPU_LIBRARIES.items() if kind in kinds)


def describe_build() -> str:
    """Return one line about the installed llama.cpp.

    It is loaded for its kernels only where that opens no driver of a graphics card, which takes long. Raises
    EngineError if it cannot be loaded.
    """
    release = f"llama-cpp-python {BINDING_VERSION}"
    found = [path.stem.replace("libggml-", "laguna-ggml-") for path in plugins.card_plugins()]
    if found:
        return f"{release}, GPU plug-in {', '.join(found)}; kernels: laguna-tui doctor"
    if kinds := gpu_kinds(_own_libraries()):
        return f"{release}, built for {' and '.join(kinds)}; kernels: laguna-tui doctor"
    from laguna_engine.native.library import ggml_version, system_info

    kernels = ", ".join(cpu_kernels(system_info())) or "for any processor"
    return f"{release} (ggml {ggml_version()}), kernels {kernels}, no GPU plug-in"


def _own_libraries() -> list[str]:
    package = importlib.util.find_spec("llama_cpp")
    if package is None or package.origin is None:
        return []
    return [path.name for path in (Path(package.origin).parent / "lib").glob("libggml-*")]
