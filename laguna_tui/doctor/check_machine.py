"""The system, the processor and the memory."""

import re
from collections.abc import Iterator

from laguna_tui.base.units import GIB, memory
from laguna_tui.doctor.finding import Finding, ok, warn
from laguna_tui.doctor.library import Loaded
from laguna_tui.doctor.machine import Machine
from laguna_tui.doctor.surroundings import Surroundings

LAGUNA_MEMORY = 23 * GIB
"""Laguna XS at four bits: 19 GiB of weights, its context, and what the rest of the machine needs."""


def check_machine(machine: Machine, loaded: Loaded, around: Surroundings) -> Iterator[Finding]:
    """One finding each."""
    yield _system(machine, around)
    yield _processor(machine, loaded)
    yield _memory(machine)


def _system(machine: Machine, around: Surroundings) -> Finding:
    inside = [words for words in around.words() if words in ("WSL", "a container")]
    found = f"{machine.system} on {machine.processor}{', inside ' if inside else ''}{' in '.join(inside)}"
    if machine.system not in ("Linux", "Darwin"):
        return warn("system", found, "laguna-tui is tested on Linux and macOS; on Windows use WSL")
    return ok("system", found)


def _processor(machine: Machine, loaded: Loaded) -> Finding:
    info = machine.read("/proc/cpuinfo") or ""
    name = re.search(r"^model name\s*:\s*(.+)$", info, re.MULTILINE)
    found = f"{name.group(1).strip() if name else machine.processor}, {machine.cores} cores"
    if machine.processor.lower() not in ("x86_64", "amd64") or not info:
        return ok("processor", found)
    flags = re.search(r"^flags\s*:(.*)$", info, re.MULTILINE)
    if "avx2" not in (flags.group(1).split() if flags else []):
        todo = "build llama.cpp for it: CMAKE_ARGS='-DGGML_NATIVE=ON' (laguna-tui setup gpu --source shows the command)"
        return warn("processor", f"{found}, without AVX2: prebuilt CPU and Vulkan wheels do not run on it", todo)
    if loaded.features and not loaded.has("AVX2"):
        # CUDA and ROCm wheels are built so, to run everywhere. Only what stays on the processor is slower.
        return ok("processor", f"{found}, AVX2, which this llama.cpp was built without: what runs on it is slower")
    return ok("processor", f"{found}, AVX2")


def _memory(machine: Machine) -> Finding:
    found = memory(machine.memory, 0)
    if machine.memory < LAGUNA_MEMORY:
        return ok("memory", f"{found}: without a graphics card that holds it, Laguna XS is too large for this machine")
    return ok("memory", found)
