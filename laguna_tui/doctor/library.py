"""The llama.cpp that is installed: what it was built with, what it finds, and why it does not load when it does not."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from laguna_engine.child import Output, python_command
from laguna_tui.doctor.machine import Machine

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
class Device:
    """What llama.cpp can compute on; kind is cpu, gpu, igpu, accel or other."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class Loaded:
    """What loading it in another process showed.

    built: the kinds of GPU it was built for, by the libraries that it came with. backends, devices, features: what it
    says itself, empty when it does not load. faults: ways of its own to keep weights for this processor that do not
    work, and what happens. error: why it does not load. missing: libraries that it needs and nobody has.
    """

    built: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    devices: tuple[Device, ...] = ()
    features: str = ""
    faults: Mapping[str, str] = field(default_factory=dict)
    error: str = ""
    missing: tuple[str, ...] = ()

    @property
    def gpus(self) -> tuple[Device, ...]:
        """The devices that are graphics cards."""
        return tuple(device for device in self.devices if device.kind in ("gpu", "igpu"))

    def has(self, feature: str) -> bool:
        """Whether its CPU part was built for this: `AVX2`."""
        return f"{feature} = 1" in self.features


def loaded(machine: Machine) -> Loaded:
    """Load the installed llama.cpp in a process of its own and say how it went."""
    folder = machine.bindings
    if folder is None:
        return Loaded(error="llama-cpp-python is not installed")
    built = _built(machine, folder)
    missing = _missing(machine, folder)
    answer = machine.run(python_command("laguna_tui.doctor.loading", python=machine.python), _LOAD_LIMIT_S)
    told = _told(answer)
    if "error" in told:
        return Loaded(built, error=str(told["error"]), missing=missing)
    devices = tuple(Device(device["name"], device["kind"]) for device in told["devices"])
    faults = told.get("faults", {})
    return Loaded(built, tuple(told["backends"]), devices, told["features"], faults, missing=missing)


def how_it_died(answer: Output) -> str:
    """A sentence about a process that ended without an answer."""
    if answer.timed_out:
        return "it did not answer in time; the graphics driver may hang"
    if answer.signal:
        missing = answer.signal == "SIGILL"
        return "it uses instructions that this processor does not have" if missing else f"it died of {answer.signal}"
    last = [line for line in answer.errors.splitlines() if line.strip()][-1:]
    return last[0].strip() if last else "it ended without a word"


def unmet(ldd: str) -> tuple[str, ...]:
    """The libraries that `ldd` did not find, from what it printed."""
    return tuple(dict.fromkeys(re.findall(r"^\s*(\S+) => not found", ldd, re.MULTILINE)))


def _told(answer: Output) -> dict[str, Any]:
    lines = answer.text.strip().splitlines()
    try:
        told = json.loads(lines[-1]) if lines else None
    except ValueError:
        told = None
    return told if isinstance(told, dict) else {"error": how_it_died(answer)}


def _built(machine: Machine, folder: str) -> tuple[str, ...]:
    names = [path.rsplit("/", 1)[-1] for path in machine.find(f"{folder}/lib/libggml-*")]
    kinds = {match.group(1) for name in names if (match := re.match(r"libggml-([a-z]+)\.", name))}
    return tuple(title for kind, title in _GPU_LIBRARIES.items() if kind in kinds)


def _missing(machine: Machine, folder: str) -> tuple[str, ...]:
    """Libraries that the loader does not find, less those that the engine opens itself out of Python packages."""
    paths = [path for kind in ("cuda", "hip", "vulkan") for path in machine.find(f"{folder}/lib/libggml-{kind}.so")]
    names = [name for path in paths for name in unmet(machine.run(("ldd", path)).text)]
    site = folder.rsplit("/", 1)[0]
    return tuple(name for name in names if not machine.find(f"{site}/nvidia/*/lib/{name}"))
