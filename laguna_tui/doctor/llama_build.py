"""The installed llama.cpp: what it was built with, what it finds, why it does not load, and what to do about that."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from laguna_engine.native.child import Output, outside_python, python_command
from laguna_engine.native.selftest import BINDING_VERSION
from laguna_tui.doctor.findings import Finding, fail, ok, warn
from laguna_tui.doctor.gpus import Graphics, card_names
from laguna_tui.doctor.host import Host

_LOAD_LIMIT_S = 60.0
"""The first start of a CUDA driver after boot takes several seconds."""

_GPU_LIBRARIES = {
    "cuda": "CUDA",
    "hip": "ROCm",
    "vulkan": "Vulkan",
    "metal": "Metal",
    "sycl": "SYCL",
    "opencl": "OpenCL",
    "musa": "MUSA",
}
"""ggml's library names, and what people call them."""


@dataclass(frozen=True, slots=True)
class ComputeDevice:
    """What llama.cpp can compute on; kind is cpu, gpu, igpu, accel or other."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class LlamaBuild:
    """What loading it in another process showed.

    built: the kinds of GPU it was built for, by the libraries that it came with. backends, devices, features: what it
    says itself, empty when it does not load. faults: ways of its own to keep weights for this processor that do not
    work, and what happens. error: why it does not load. missing: libraries that it needs and nobody has.
    """

    built: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    devices: tuple[ComputeDevice, ...] = ()
    features: str = ""
    faults: Mapping[str, str] = field(default_factory=dict)
    error: str = ""
    missing: tuple[str, ...] = ()

    @property
    def gpus(self) -> tuple[ComputeDevice, ...]:
        """The devices that are graphics cards."""
        return tuple(device for device in self.devices if device.kind in ("gpu", "igpu"))

    def has(self, feature: str) -> bool:
        """Whether its CPU part was built for this: `AVX2`."""
        return f"{feature} = 1" in self.features


def probe_llama(machine: Host) -> LlamaBuild:
    """Load the installed llama.cpp in a process of its own and say how it went."""
    folder = machine.bindings
    if folder is None:
        return LlamaBuild(error="llama-cpp-python is not installed")
    built = _built(machine, folder)
    missing = _missing(machine, folder)
    answer = machine.run(python_command("laguna_tui.doctor.load_probe", python=machine.python), _LOAD_LIMIT_S)
    told = _told(answer)
    if "error" in told:
        return LlamaBuild(built, error=str(told["error"]), missing=missing)
    devices = tuple(ComputeDevice(device["name"], device["kind"]) for device in told["devices"])
    faults = told.get("faults", {})
    return LlamaBuild(built, tuple(told["backends"]), devices, told["features"], faults, missing=missing)


def explain_exit(answer: Output) -> str:
    """A sentence about a process that ended without an answer."""
    if answer.timed_out:
        return "it did not answer in time; the graphics driver may hang"
    if answer.signal:
        missing = answer.signal == "SIGILL"
        return "it uses instructions that this processor does not have" if missing else f"it died of {answer.signal}"
    last = [line for line in answer.errors.splitlines() if line.strip()][-1:]
    return last[0].strip() if last else "it ended without a word"


def missing_libraries(ldd: str) -> tuple[str, ...]:
    """The libraries that `ldd` did not find, from what it printed."""
    return tuple(dict.fromkeys(re.findall(r"^\s*(\S+) => not found", ldd, re.MULTILINE)))


def _told(answer: Output) -> dict[str, Any]:
    lines = answer.text.strip().splitlines()
    try:
        told = json.loads(lines[-1]) if lines else None
    except ValueError:
        told = None
    return told if isinstance(told, dict) else {"error": explain_exit(answer)}


def _built(machine: Host, folder: str) -> tuple[str, ...]:
    names = [path.rsplit("/", 1)[-1] for path in machine.find(f"{folder}/lib/libggml-*")]
    kinds = {match.group(1) for name in names if (match := re.match(r"libggml-([a-z]+)\.", name))}
    return tuple(title for kind, title in _GPU_LIBRARIES.items() if kind in kinds)


def _missing(machine: Host, folder: str) -> tuple[str, ...]:
    """Libraries that the loader does not find, less those that the engine opens itself out of Python packages."""
    paths = [path for kind in ("cuda", "hip", "vulkan") for path in machine.find(f"{folder}/lib/libggml-{kind}.so")]
    names = [name for path in paths for name in missing_libraries(machine.run(("ldd", path)).text)]
    site = folder.rsplit("/", 1)[0]
    return tuple(name for name in names if not machine.find(f"{site}/nvidia/*/lib/{name}"))


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


def check_llama(loaded: LlamaBuild, graphics: Graphics, python: str) -> Iterator[Finding]:
    """Whether it loads, what it computes on, which of its kernels crash, and which libraries it lacks."""
    if loaded.error:
        yield fail(CHECK, loaded.error, _revive(loaded))
    else:
        yield _use(loaded, graphics)
    if loaded.faults:
        yield _kernels(loaded, python)
    if loaded.missing:
        yield fail("GPU libraries", f"missing: {', '.join(loaded.missing)}", how_to_provide(loaded.missing))
    elif loaded.built and not loaded.error:
        yield ok("GPU libraries", f"all that the {' and '.join(loaded.built)} build needs are there")


def _kernels(loaded: LlamaBuild, python: str) -> Finding:
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


def how_to_provide(missing: tuple[str, ...]) -> str:
    """What to install so that these libraries are there."""
    packages = list(dict.fromkeys(_PACKAGES[name] for name in missing if name in _PACKAGES))
    system = [_SYSTEM_PACKAGES[name] for name in missing if name in _SYSTEM_PACKAGES]
    unknown = [name for name in missing if name not in _PACKAGES and name not in _SYSTEM_PACKAGES]
    steps = [f"{SETUP} (it brings {', '.join(packages)})"] if packages else []
    steps += [f"install {what}" for what in (*system, *unknown)]
    return "; ".join(steps)


def _revive(loaded: LlamaBuild) -> str:
    if "not installed" in loaded.error:
        return "install laguna-tui again: pipx install --force laguna-tui"
    if loaded.missing:
        return f"see the missing libraries below, or go back to the build before: {ROLLBACK}"
    if "instructions" in loaded.error:
        return f"build it here: laguna-tui setup gpu --source shows how; or go back to the build before: {ROLLBACK}"
    return f"go back to the build before: {ROLLBACK}; or install laguna-tui again"


def _use(loaded: LlamaBuild, graphics: Graphics) -> Finding:
    if loaded.gpus:
        names = ", ".join(device.name for device in loaded.gpus)
        return ok(CHECK, f"computes on {names} (backends: {', '.join(loaded.backends)})")
    cards = graphics.worth_using
    if not cards:
        return ok(CHECK, f"computes on the processor (backends: {', '.join(loaded.backends)})")
    there = f"{'GPUs are' if len(cards) > 1 else 'a GPU is'} there ({card_names(cards)}), but this llama.cpp cannot use"
    them = "them" if len(cards) > 1 else "it"
    if not loaded.built:
        todo = SETUP if graphics.driven else f"see to the driver first, then {SETUP}"
        return warn(CHECK, f"{there} {them}: it was built for the processor only", todo)
    built = " and ".join(loaded.built)
    todo = "see to the driver first; if it is well, another build may fit: laguna-tui setup gpu"
    return warn(CHECK, f"{there} {them}: it was built for {built}, and {built} finds no card", todo)
