"""What the machine has to compute on and to keep weights in. Sizes in bytes.

`read_machine` asks ggml and the operating system, every time anew: free memory is only true for a moment, so it is read
again right before a model is opened. A `Machine` is a plain value, so that one can also be imagined (`simulated`).
"""

from dataclasses import dataclass

import psutil

from laguna_engine.ggml.device import Device
from laguna_engine.llama.options import physical_cores
from laguna_engine.native.selftest import BINDING_VERSION

GIB = 1 << 30
_METAL = ("mtl", "metal")
"""How ggml names Apple's GPUs: their memory is the machine's own."""


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """One device. name: ggml's, such as "CUDA0". description: the driver's. kind: cpu, gpu, igpu or accel."""

    name: str
    description: str
    kind: str
    free: int
    total: int

    @property
    def shares_ram(self) -> bool:
        """Whether its memory is the machine's own, so that what it holds is gone from there as well."""
        return self.kind == "igpu" or self.name.lower().startswith(_METAL)

    @property
    def copies_cache(self) -> bool:
        """Whether reading a prompt needs half-precision copies of a quantized cache: CUDA's attention kernels do."""
        return self.name.startswith(("CUDA", "ROCm", "MUSA"))


@dataclass(frozen=True, slots=True)
class Machine:
    """Everything at once. cores: physical ones that this process may use. name: how a simulated one was asked for."""

    devices: tuple[DeviceFacts, ...]
    ram_total: int
    ram_free: int
    cores: int
    name: str = ""

    @property
    def gpus(self) -> tuple[DeviceFacts, ...]:
        """The devices that llama.cpp spreads layers over: all GPUs; without any, the first one in the processor."""
        found = tuple(device for device in self.devices if device.kind == "gpu")
        return found or tuple(device for device in self.devices if device.kind == "igpu")[:1]

    @property
    def described(self) -> str:
        """The hardware in one line."""
        cards = [f"{gpu.description}, {gpu.free / GIB:.1f} of {gpu.total / GIB:.1f} GiB free" for gpu in self.gpus]
        ram = f"{self.ram_free / GIB:.1f} of {self.ram_total / GIB:.1f} GiB of RAM free"
        return "; ".join([*(cards or ["no GPU that this llama.cpp can use"]), ram, f"{self.cores} cores"])


def devices() -> tuple[DeviceFacts, ...]:
    """The devices as they are now, best first, the CPU among them."""
    return tuple(_facts(device) for device in Device.all())


def read_machine() -> Machine:
    """This machine as it is now."""
    memory = psutil.virtual_memory()
    return Machine(devices(), memory.total, memory.available, physical_cores())


def installed_build() -> str:
    """Which llama.cpp this is, and for which backends: what is learned about memory holds for no other."""
    backends = sorted({device.name.rstrip("0123456789") for device in devices()})
    return f"llama-cpp-python {BINDING_VERSION}, {' '.join(backends)}"


def _facts(device: Device) -> DeviceFacts:
    free, total = device.memory()
    return DeviceFacts(device.name, device.description, device.kind, free, total)
