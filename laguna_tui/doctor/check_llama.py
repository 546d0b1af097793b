"""Can the llama.cpp that is installed use what this machine has?"""

import shlex
from collections.abc import Iterator

from laguna_engine.child import outside_python
from laguna_engine.native.selftest import BINDING_VERSION
from laguna_tui.doctor.finding import Finding, fail, ok, warn
from laguna_tui.doctor.graphics import Graphics, named
from laguna_tui.doctor.library import Loaded

CHECK, KERNELS = "llama.cpp", "kernels"
SETUP = "run: laguna-tui setup gpu"
ROLLBACK = "laguna-tui setup gpu --rollback"

_PACKAGES = {
    "libcudart.so.11.0": "nvidia-cuda-runtime-cu11",
    "libcudart.so.12": "nvidia-cuda-runtime-cu12",
    "libcudart.so.13": "nvidia-cuda-runtime",
    "libcublas.so.11": "nvidia-cublas-cu11",
    "libcublas.so.12": "nvidia-cublas-cu12",
    "libcublas.so.13": "nvidia-cublas",
    "libcublasLt.so.11": "nvidia-cublas-cu11",
    "libcublasLt.so.12": "nvidia-cublas-cu12",
    "libcublasLt.so.13": "nvidia-cublas",
}
"""The Python package that holds each library of the CUDA runtime."""

_SYSTEM_PACKAGES = {
    "libcuda.so.1": "NVIDIA's driver",
    "libvulkan.so.1": "the Vulkan loader (libvulkan1, vulkan-loader)",
    "libgomp.so.1": "GCC's OpenMP runtime (libgomp1, libgomp)",
}

_WITHOUT = {
    "AMX": ("-DGGML_NATIVE=off", "-DGGML_AVX512=on", "-DGGML_AVX512_VNNI=on"),
    "CPU_REPACK": ("-DGGML_CPU_REPACK=off",),
}
"""How llama.cpp is built without an order of weights. With AMX a processor has the other two as well."""

_GPU_OPTIONS = {"CUDA": "CUDA", "ROCm": "HIP", "Vulkan": "VULKAN"}


def check_llama(loaded: Loaded, graphics: Graphics, python: str) -> Iterator[Finding]:
    """Whether it loads, what it computes on, which of its kernels crash, and which libraries it lacks."""
    if loaded.error:
        yield fail(CHECK, loaded.error, _revive(loaded))
    else:
        yield _use(loaded, graphics)
    if loaded.faults:
        yield _kernels(loaded, python)
    if loaded.missing:
        yield fail("GPU libraries", f"missing: {', '.join(loaded.missing)}", provide(loaded.missing))
    elif loaded.built and not loaded.error:
        yield ok("GPU libraries", f"all that the {' and '.join(loaded.built)} build needs are there")


def _kernels(loaded: Loaded, python: str) -> Finding:
    told = "; ".join(f"{name}: {what}" for name, what in loaded.faults.items())
    found = f"this build's own order of quantized weights does not work here ({told}), so they compute more slowly"
    gpus = [f"-DGGML_{_GPU_OPTIONS[kind]}=on" for kind in loaded.built if kind in _GPU_OPTIONS]
    faulty = [option for name, options in _WITHOUT.items() if name in loaded.faults for option in options]
    command = source_command(" ".join([*faulty, *gpus]), python)
    return warn(KERNELS, found, f"build it without that: {command}")


def source_command(options: str, python: str) -> str:
    """The command, for a shell, that compiles the pinned llama.cpp with these options of CMake into an environment."""
    install = (
        *outside_python(python),
        *("-m", "pip", "install", "--no-deps", "--force-reinstall", "--no-cache-dir"),
        *("--no-binary", "llama-cpp-python", f"llama-cpp-python=={BINDING_VERSION}"),
    )
    return f"CMAKE_ARGS={shlex.quote(options)} {shlex.join(install)}"


def provide(missing: tuple[str, ...]) -> str:
    """What to install so that these libraries are there."""
    packages = list(dict.fromkeys(_PACKAGES[name] for name in missing if name in _PACKAGES))
    system = [_SYSTEM_PACKAGES[name] for name in missing if name in _SYSTEM_PACKAGES]
    unknown = [name for name in missing if name not in _PACKAGES and name not in _SYSTEM_PACKAGES]
    steps = [f"{SETUP} (it brings {', '.join(packages)})"] if packages else []
    steps += [f"install {what}" for what in (*system, *unknown)]
    return "; ".join(steps)


def _revive(loaded: Loaded) -> str:
    if "not installed" in loaded.error:
        return "install laguna-tui again: pipx install --force laguna-tui"
    if loaded.missing:
        return f"see the missing libraries below, or go back to the build before: {ROLLBACK}"
    if "instructions" in loaded.error:
        return f"build it here: laguna-tui setup gpu --source shows how; or go back to the build before: {ROLLBACK}"
    return f"go back to the build before: {ROLLBACK}; or install laguna-tui again"


def _use(loaded: Loaded, graphics: Graphics) -> Finding:
    if loaded.gpus:
        names = ", ".join(device.name for device in loaded.gpus)
        return ok(CHECK, f"computes on {names} (backends: {', '.join(loaded.backends)})")
    cards = graphics.worth_using
    if not cards:
        return ok(CHECK, f"computes on the processor (backends: {', '.join(loaded.backends)})")
    there = f"{'GPUs are' if len(cards) > 1 else 'a GPU is'} there ({named(cards)}), but this llama.cpp cannot use"
    them = "them" if len(cards) > 1 else "it"
    if not loaded.built:
        todo = SETUP if graphics.driven else f"see to the driver first, then {SETUP}"
        return warn(CHECK, f"{there} {them}: it was built for the processor only", todo)
    built = " and ".join(loaded.built)
    todo = "see to the driver first; if it is well, another build may fit: laguna-tui setup gpu"
    return warn(CHECK, f"{there} {them}: it was built for {built}, and {built} finds no card", todo)
