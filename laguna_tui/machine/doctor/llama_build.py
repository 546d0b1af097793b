"""The installed llama.cpp: its build, the devices it finds, why it does not load, and how to fix that."""

import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from laguna_engine.native.build_info import cpu_kernels, gpu_kinds
from laguna_engine.native.child import outside_python, python_command
from laguna_engine.native.plugins import PACKAGE as PLUGIN_PACKAGE
from laguna_engine.native.selftest import BINDING_VERSION
from laguna_tui.machine.child_check import UNSUPPORTED, CheckFailed, answer, read_answer
from laguna_tui.machine.doctor.findings import Finding, fail, ok, warn
from laguna_tui.machine.doctor.gpus import Graphics, card_names
from laguna_tui.machine.doctor.host import Host

MODULE = "laguna_tui.machine.doctor.llama_build"
"""This module, as a program that loads llama.cpp."""

_NOT_INSTALLED = "llama-cpp-python is not installed"

_LOAD_LIMIT_S = 60.0
"""Seconds; the first start of a CUDA driver after boot takes several."""


@dataclass(frozen=True, slots=True)
class ComputeDevice:
    """A device of llama.cpp. kind: cpu, gpu, igpu, accel or other."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class LlamaBuild:
    """The installed llama.cpp, as probed in another process.

    Attributes:
        built: GPU kinds it was built for, by the libraries in its package.
        plugins: Libraries of plug-ins for graphics cards.
        release: Its release and that of its ggml; empty when it does not load.
        backends: Its backends; like `devices` and `features`, empty when it does not load.
        devices: Devices it can compute on.
        features: Features its CPU backend was built with.
        faults: Its own weight layouts for this processor that crash or compute wrongly, and how.
        error: Why it does not load; empty when it does.
        missing: Libraries it needs that are not installed.
    """

    built: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    release: str = ""
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

    @property
    def kernels(self) -> tuple[str, ...]:
        """What of the processor its CPU backend uses that makes the most difference, such as `AVX512`."""
        return cpu_kernels(self.features)

    @property
    def parts(self) -> str:
        """Its backends, kernels and plug-ins for graphics cards, for a sentence."""
        plugins = ", ".join(self.plugins) or (
            "none" if not self.built else f"none, built for {' and '.join(self.built)}"
        )
        kernels = f"; kernels: {', '.join(self.kernels)}" if self.kernels else ""
        return f"backends: {', '.join(self.backends)}{kernels}; GPU plug-in: {plugins}"

    def has(self, feature: str) -> bool:
        """Return whether its CPU backend was built with a feature, such as `AVX2`."""
        return f"{feature} = 1" in self.features


def probe_llama(host: Host) -> LlamaBuild:
    """Load the installed llama.cpp in a process of its own and report the result."""
    folder = host.bindings
    if folder is None:
        return LlamaBuild(error=_NOT_INSTALLED)
    built, plugins, missing = _built(host, folder), _plugins(host, folder), _missing(host, folder)
    output = host.run(python_command(MODULE, python=host.python), _LOAD_LIMIT_S)
    try:
        return replace(read_answer(output, LlamaBuild), built=built, plugins=plugins, missing=missing)
    except CheckFailed as failure:
        return LlamaBuild(built, plugins, error=str(failure), missing=missing)


def load_llama() -> LlamaBuild:
    """Load llama.cpp into this process and report the result. Raises EngineError if that is not possible."""
    from laguna_engine.ggml import extra_buffers
    from laguna_engine.ggml.device import Device
    from laguna_engine.native.library import backend_names, ggml_version, system_info

    devices = tuple(ComputeDevice(device.description, device.kind) for device in Device.all())
    return LlamaBuild(
        release=f"llama-cpp-python {BINDING_VERSION}, ggml {ggml_version()}",
        backends=tuple(backend_names()),
        devices=devices,
        features=system_info(),
        faults=extra_buffers.faults(),
    )


def missing_libraries(ldd: str) -> tuple[str, ...]:
    """Return the libraries marked as not found in the output of `ldd`."""
    return tuple(dict.fromkeys(re.findall(r"^\s*(\S+) => not found", ldd, re.MULTILINE)))


def _built(host: Host, folder: str) -> tuple[str, ...]:
    paths = [*host.find(f"{folder}/lib/libggml-*"), *host.find(_plugin_pattern(folder))]
    return gpu_kinds(path.rsplit("/", 1)[-1] for path in paths)


def _plugins(host: Host, folder: str) -> tuple[str, ...]:
    names = (path.rsplit("/", 1)[-1] for path in host.find(_plugin_pattern(folder)))
    return tuple(name.removeprefix("lib").partition(".")[0] for name in names)


def _missing(host: Host, folder: str) -> tuple[str, ...]:
    """Return the libraries that the loader does not find, except those that the engine loads from Python packages."""
    paths = [path for kind in ("cuda", "hip", "vulkan") for path in host.find(f"{folder}/lib/libggml-{kind}.so")]
    paths += host.find(_plugin_pattern(folder))
    names = [name for path in paths for name in missing_libraries(host.run(("ldd", path)).text)]
    site = folder.rsplit("/", 1)[0]
    # A plug-in's own ggml is the one that is loaded already.
    names = [name for name in names if not name.startswith("libggml-base.")]
    return tuple(name for name in names if not host.find(f"{site}/nvidia/*/lib/{name}"))


def _plugin_pattern(folder: str) -> str:
    """Return a pattern for the libraries of plug-ins."""
    return f"{folder.rsplit('/', 1)[0]}/{PLUGIN_PACKAGE}/libggml-*"


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
"""The Python package of each library of the CUDA runtime."""

_SYSTEM_PACKAGES = {
    "libcuda.so.1": "NVIDIA's driver",
    "libvulkan.so.1": "the Vulkan loader (libvulkan1, vulkan-loader)",
    "libgomp.so.1": "GCC's OpenMP runtime (libgomp1, libgomp)",
}

_WITHOUT = {
    "AMX": ("-DGGML_NATIVE=off", "-DGGML_AVX512=on", "-DGGML_AVX512_VNNI=on"),
    "CPU_REPACK": ("-DGGML_CPU_REPACK=off",),
}
"""CMake options that build llama.cpp without a weight layout. A processor with AMX has the other two as well."""

AMX_HEADER = Path(__file__).with_name("amx_tile_config.h")
"""Included before every C++ source, it keeps GCC before 12.3 from miscompiling the kernels for AMX."""

_BROKEN_BY_GCC = "SIGSEGV"
"""How kernels for AMX die that such a GCC compiled. Where the system forbids AMX it is another signal."""

_GPU_OPTIONS = {"CUDA": "CUDA", "ROCm": "HIP", "Vulkan": "VULKAN"}


def check_llama(build: LlamaBuild, graphics: Graphics, host: Host) -> Iterator[Finding]:
    """Report whether it loads, its devices, CPU kernels that crash, and missing libraries."""
    if build.error:
        yield fail(CHECK, build.error, _reload_advice(build))
    else:
        yield _use(build, graphics)
    if build.faults:
        yield _kernels(build, host)
    if build.missing:
        yield fail("GPU libraries", f"missing: {', '.join(build.missing)}", how_to_provide(build.missing))
    elif build.built and not build.error:
        yield ok("GPU libraries", f"all that the {' and '.join(build.built)} build needs are installed")


def _kernels(build: LlamaBuild, host: Host) -> Finding:
    faults = "; ".join(f"{name}: {what}" for name, what in build.faults.items())
    found = f"this build's own layouts of quantized weights do not work on this processor ({faults}), so it is slower"
    gpus = [f"-DGGML_{_GPU_OPTIONS[kind]}=on" for kind in build.built if kind in _GPU_OPTIONS]
    lasting = [name for name, what in build.faults.items() if name != "AMX" or _BROKEN_BY_GCC not in what]
    options = [option for name in _WITHOUT if name in lasting for option in _WITHOUT[name]] + gpus
    command = source_command(" ".join(options or ["-DGGML_NATIVE=on"]), host)
    how = "build it without them" if lasting else "GCC before 12.3 miscompiled them; build it with the fix"
    return warn(KERNELS, found, f"{how}: {command}")


def source_command(options: str, host: Host) -> str:
    """Return the shell command that compiles the pinned llama.cpp with these CMake options and installs it."""
    install = (
        *outside_python(host.python),
        *("-m", "pip", "install", "--no-deps", "--force-reinstall", "--no-cache-dir"),
        *("--no-binary", "llama-cpp-python", f"llama-cpp-python=={BINDING_VERSION}"),
    )
    variables = {"CMAKE_ARGS": options}
    if re.search(r"^flags\s*:.*\bamx_tile\b", host.read("/proc/cpuinfo") or "", re.MULTILINE):
        variables["CXXFLAGS"] = f"-include {shlex.quote(str(AMX_HEADER))}"
    return " ".join([*(f"{name}={shlex.quote(text)}" for name, text in variables.items()), shlex.join(install)])


def how_to_provide(missing: tuple[str, ...]) -> str:
    """Return how to install these libraries."""
    packages = list(dict.fromkeys(_PACKAGES[name] for name in missing if name in _PACKAGES))
    system = [_SYSTEM_PACKAGES[name] for name in missing if name in _SYSTEM_PACKAGES]
    unknown = [name for name in missing if name not in _PACKAGES and name not in _SYSTEM_PACKAGES]
    steps = [f"{SETUP} (it installs {', '.join(packages)})"] if packages else []
    steps += [f"install {what}" for what in (*system, *unknown)]
    return "; ".join(steps)


def _reload_advice(build: LlamaBuild) -> str:
    if build.error == _NOT_INSTALLED:
        return "reinstall laguna-tui: pipx install --force laguna-tui"
    if build.missing:
        return f"see the missing libraries below, or restore the previous build: {ROLLBACK}"
    if build.error == UNSUPPORTED:
        return f"build it here: laguna-tui setup gpu --source shows how; or restore the previous build: {ROLLBACK}"
    return f"restore the previous build: {ROLLBACK}; or reinstall laguna-tui"


def _use(build: LlamaBuild, graphics: Graphics) -> Finding:
    if build.gpus:
        names = ", ".join(device.name for device in build.gpus)
        return ok(CHECK, f"{build.release}, runs on {names} ({build.parts})")
    cards = graphics.worth_using
    if not cards:
        return ok(CHECK, f"{build.release}, runs on the processor ({build.parts})")
    unused = (
        f"this llama.cpp cannot use the {'GPUs' if len(cards) > 1 else 'GPU'} of this machine ({card_names(cards)})"
    )
    if not build.built:
        todo = SETUP if graphics.is_driver_working else f"fix the driver first, then {SETUP}"
        return warn(CHECK, f"{unused}: it was built for the processor only", todo)
    built = " and ".join(build.built)
    todo = "fix the driver first; if it works, another build may fit: laguna-tui setup gpu"
    if build.built == ("Vulkan",):
        todo = "install the card's Vulkan driver, for AMD's and Intel's mesa-vulkan-drivers; vulkaninfo then lists it"
    return warn(CHECK, f"{unused}: it was built for {built}, and {built} finds no card", todo)


if __name__ == "__main__":
    sys.exit(answer(load_llama))
