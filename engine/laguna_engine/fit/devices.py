"""Devices and memory of a machine, this one or a simulated one. Sizes in bytes."""

import os
import re
from dataclasses import dataclass

import psutil

from laguna_engine.ggml.device import Device
from laguna_engine.native.control_groups import memory_limit, physical_cores, processor_limit
from laguna_engine.native.selftest import BINDING_VERSION

GIB = 1 << 30
_METAL = ("mtl", "metal")
"""ggml's names of Apple's GPUs, which share the machine's memory."""


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """One device.

    Attributes:
        name: ggml's name, such as "CUDA0".
        description: the driver's name.
        kind: cpu, gpu, igpu or accel.
        free: free memory, in bytes.
        total: all memory, in bytes.
    """

    name: str
    description: str
    kind: str
    free: int
    total: int

    @property
    def shares_ram(self) -> bool:
        """Whether the device shares the machine's RAM, so that its use reduces both."""
        return self.kind == "igpu" or self.name.lower().startswith(_METAL)

    @property
    def copies_cache(self) -> bool:
        """Whether prefill makes F16 copies of a quantized KV cache, as CUDA's attention kernels do."""
        return self.name.startswith(("CUDA", "ROCm", "MUSA"))


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine.

    Attributes:
        devices: all devices, the CPU included.
        ram_total: all RAM that this process may use, in bytes.
        ram_free: free RAM, in bytes.
        cores: physical cores available to this process.
        name: the specification of a simulated machine, empty for this one.
        limited: whether a control group, such as a container's, allows less RAM or fewer cores than the hardware has.
    """

    devices: tuple[DeviceFacts, ...]
    ram_total: int
    ram_free: int
    cores: int
    name: str = ""
    limited: bool = False

    @property
    def gpus(self) -> tuple[DeviceFacts, ...]:
        """The devices that llama.cpp splits layers over: all GPUs, or the first integrated one if there are none."""
        found = tuple(device for device in self.devices if device.kind == "gpu")
        return found or tuple(device for device in self.devices if device.kind == "igpu")[:1]

    @property
    def description(self) -> str:
        """One line about the hardware."""
        cards = [f"{gpu.description}, {gpu.free / GIB:.1f} of {gpu.total / GIB:.1f} GiB free" for gpu in self.gpus]
        ram = f"{self.ram_free / GIB:.1f} of {self.ram_total / GIB:.1f} GiB of RAM free"
        cores = f"{self.cores} core{'s' * (self.cores != 1)}"
        limit = ["limited by the container or service that this runs in"] if self.limited else []
        return "; ".join([*(cards or ["no GPU that this llama.cpp can use"]), ram, cores, *limit])


def devices() -> tuple[DeviceFacts, ...]:
    """Return the current devices, best first, the CPU included."""
    return tuple(_facts(device) for device in Device.all())


def read_machine() -> Machine:
    """Return the current state of this machine."""
    memory, limit, processors = psutil.virtual_memory(), memory_limit(), processor_limit()
    total, free = memory.total, memory.available
    if limit is not None:
        total, free = min(total, limit.total), min(free, limit.free)
    cores = psutil.cpu_count(logical=False) or os.cpu_count() or 1
    limited = total < memory.total or (processors is not None and processors < cores)
    return Machine(devices(), total, free, physical_cores(), limited=limited)


def installed_build() -> str:
    """Return the llama.cpp build and its backends: the scope in which recorded failures are valid."""
    backends = sorted({device.name.rstrip("0123456789") for device in devices()})
    return f"llama-cpp-python {BINDING_VERSION}, {' '.join(backends)}"


def _facts(device: Device) -> DeviceFacts:
    free, total = device.memory()
    return DeviceFacts(device.name, device.description, device.kind, free, total)


_CARD_SHARE = 0.982
"""Share of a card's nominal memory that its driver offers: 24,124 of 24,576 MiB on an RTX 3090."""

_DRIVER = 256 << 20
"""Bytes a process takes on a card just by using it."""

_DESKTOP = 1 << 30
"""Bytes on the GPU of a compositor, a browser and a terminal."""

_APPLE_SHARE = 2 / 3
"""Share of an Apple machine's memory that Metal recommends to use at most (3/4 above 36 GB)."""

_APPLE_LARGE, _APPLE_LARGE_SHARE = 36 * GIB, 3 / 4
_SYSTEM_SHARE, _SYSTEM_LEAST = 0.1, 2 * GIB
"""RAM of the system and other programs: a share, but at least this many bytes."""

_DEFAULT_RAM, _DEFAULT_CORES = 32 * GIB, 8
_PART = re.compile(r"(?:(\d+)x)?(?:(ram|cpu|apple)-)?(\d+(?:\.\d+)?)gi?b")
_CORES = re.compile(r"(\d+)cores?")


def simulated_machine(specification: str) -> Machine:
    """Return the machine of a specification such as "24GB ram-64GB 16cores"; ValueError with a sentence if invalid."""
    cards: list[int] = []
    apple = ram = 0
    cores, desktop = _DEFAULT_CORES, False
    for part in specification.lower().replace(",", " ").split():
        card, count = _PART.fullmatch(part), _CORES.fullmatch(part)
        if card is not None:
            size = round(float(card[3]) * GIB)
            cards += [size] * int(card[1] or 1) if card[2] is None else []
            apple = size if card[2] == "apple" else apple
            ram = size if card[2] is not None else ram
        elif count is not None and int(count[1]):
            cores = int(count[1])
        elif part == "desktop":
            desktop = True
        elif part != "cpu":
            raise ValueError(f"{part!r} is not part of a machine; write 24GB, 2x12GB, apple-32GB or cpu-16GB")
    if not specification.strip() or (apple and cards):
        raise ValueError(f"{specification!r} is not a machine; write 24GB, 2x12GB, apple-32GB or cpu-16GB")
    ram = ram or _DEFAULT_RAM
    found = [_apple(apple)] if apple else [_card(index, size, desktop) for index, size in enumerate(cards)]
    free = ram - round(max(_SYSTEM_SHARE * ram, _SYSTEM_LEAST))
    processor = DeviceFacts("CPU", "CPU", "cpu", free, ram)
    return Machine((*found, processor), ram, free, cores, specification.strip())


def _card(index: int, nominal: int, desktop: bool) -> DeviceFacts:
    total = round(nominal * _CARD_SHARE)
    free = total - _DRIVER - _DESKTOP * (desktop and index == 0)
    return DeviceFacts(f"CUDA{index}", f"a card of {nominal / GIB:g} GB", "gpu", free, total)


def _apple(ram: int) -> DeviceFacts:
    total = round(ram * (_APPLE_LARGE_SHARE if ram > _APPLE_LARGE else _APPLE_SHARE))
    return DeviceFacts("MTL0", f"Apple GPU, {ram / GIB:g} GB shared", "gpu", total, total)
