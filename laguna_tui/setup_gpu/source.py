"""The command that builds llama.cpp for this very machine."""

from laguna_tui.doctor.check_llama import source_command
from laguna_tui.doctor.graphics import Graphics, Vendor
from laguna_tui.doctor.machine import Machine


def build_command(graphics: Graphics, python: str) -> str:
    """For a shell. Compiles for the cards and the processor that are here, and for no others."""
    return source_command(_options(graphics), python)


def build_needs(graphics: Graphics, machine: Machine) -> str:
    """What must be there for that."""
    tools = "a C/C++ compiler"
    if graphics.of(Vendor.NVIDIA):
        there = machine.program("nvcc") is not None
        return f"{tools} and NVIDIA's CUDA toolkit ({'nvcc is there' if there else 'nvcc is not on the PATH'})"
    if graphics.of(Vendor.AMD) and graphics.rocm is not None:
        return f"{tools} and ROCm with its development files"
    if graphics.of(Vendor.AMD, Vendor.INTEL):
        return f"{tools}, the Vulkan development files and glslc"
    return tools


def _options(graphics: Graphics) -> str:
    nvidia = graphics.of(Vendor.NVIDIA)
    if nvidia:
        kinds = sorted({card.capability for card in nvidia if card.capability is not None})
        targets = ";".join(f"{major}{minor}" for major, minor in kinds) or "native"
        return f"-DGGML_CUDA=on -DCMAKE_CUDA_ARCHITECTURES={targets}"
    if graphics.of(Vendor.AMD) and graphics.rocm is not None:
        return "-DGGML_HIP=on"
    if graphics.of(Vendor.APPLE):
        return "-DGGML_METAL=on"
    return "-DGGML_VULKAN=on" if graphics.of(Vendor.AMD, Vendor.INTEL) else "-DGGML_NATIVE=on"
