"""The graphics cards of a machine and the drivers for them, as the system describes them without any GPU library."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from laguna_tui.base.units import memory
from laguna_tui.doctor.findings import Finding, ok, skip, warn
from laguna_tui.doctor.host import Environment, Host

MIB = 1 << 20

Version = tuple[int, int]


class Vendor(StrEnum):
    """Whose card it is."""

    NVIDIA = "NVIDIA"
    AMD = "AMD"
    INTEL = "Intel"
    APPLE = "Apple"


_PCI_VENDORS = {"0x10de": Vendor.NVIDIA, "0x1002": Vendor.AMD, "0x8086": Vendor.INTEL}
_PCI_DISPLAY = "0x03"
"""How the PCI class of a display controller begins."""

_DRIVER_CUDA: tuple[tuple[int, Version], ...] = (
    (595, (13, 2)),
    (590, (13, 1)),
    (580, (13, 0)),
    (575, (12, 9)),
    (570, (12, 8)),
    (565, (12, 7)),
    (560, (12, 6)),
    (555, (12, 5)),
    (550, (12, 4)),
    (545, (12, 3)),
    (535, (12, 2)),
    (530, (12, 1)),
    (525, (12, 0)),
    (520, (11, 8)),
)
"""The CUDA that came with each driver branch (NVIDIA's CUDA release notes); for when nvidia-smi does not say."""

NO_TOOL = "nvidia-smi is not there"

_LEAST_AMD = 3 << 30
"""Bytes set aside for a card. Below, it is the small one inside a processor, and no faster than that processor."""

_QUERY = ("name", "driver_version", "memory.total", "memory.free", "compute_cap")


@dataclass(frozen=True, slots=True)
class Card:
    """A card: its own memory in bytes, None where it has none or does not tell; compute capability if NVIDIA's."""

    name: str
    vendor: Vendor
    memory: int | None = None
    free: int | None = None
    capability: Version | None = None


@dataclass(frozen=True, slots=True)
class Graphics:
    """Every card, and the software below llama.cpp.

    driver: NVIDIA's driver version, empty without one. cuda: the newest CUDA it can run. trouble: why NVIDIA's driver
    does not answer, empty when it does or none is needed. rocm: the version installed. vulkan: its loader is there.
    """

    cards: tuple[Card, ...]
    driver: str = ""
    cuda: Version | None = None
    trouble: str = ""
    rocm: Version | None = None
    vulkan: bool = False

    def of(self, *vendors: Vendor) -> tuple[Card, ...]:
        """The cards of these vendors."""
        return tuple(card for card in self.cards if card.vendor in vendors)

    @property
    def worth_using(self) -> tuple[Card, ...]:
        """The cards that a model should run on: not Intel's, nor the small ones inside AMD's processors."""
        strong = self.of(Vendor.NVIDIA, Vendor.AMD, Vendor.APPLE)
        return tuple(card for card in strong if card.vendor is not Vendor.AMD or (card.memory or 0) >= _LEAST_AMD)

    @property
    def driven(self) -> bool:
        """Whether the driver works as far as can be told; true also where no NVIDIA card needs one."""
        return not self.trouble or (self.trouble == NO_TOOL and bool(self.driver))


def detect_graphics(machine: Host) -> Graphics:
    """What is there. Asks nvidia-smi, /proc, /sys and ldconfig."""
    if machine.system == "Darwin":
        return Graphics(_apple(machine))
    cards, driver, cuda, trouble = _nvidia(machine)
    others = _others(machine)
    if not cards:
        cards = tuple(card for card in others if card.vendor is Vendor.NVIDIA)
        trouble = trouble if cards or driver else ""
    rest = tuple(card for card in others if card.vendor is not Vendor.NVIDIA)
    vulkan = "libvulkan.so.1" in machine.run(("ldconfig", "-p")).text
    return Graphics(cards + rest, driver, cuda, trouble, _rocm(machine), vulkan)


def card_names(cards: tuple[Card, ...]) -> str:
    """Their names, equal ones counted: `2 x NVIDIA GeForce RTX 3060`."""
    names = [card.name for card in cards]
    counts = {name: names.count(name) for name in names}
    return ", ".join(name if count == 1 else f"{count} x {name}" for name, count in counts.items())


def _apple(machine: Host) -> tuple[Card, ...]:
    if machine.processor != "arm64":
        return ()
    name = machine.run(("sysctl", "-n", "machdep.cpu.brand_string")).text.strip()
    return (Card(name or "Apple GPU", Vendor.APPLE, memory=machine.memory),)


def _nvidia(machine: Host) -> tuple[tuple[Card, ...], str, Version | None, str]:
    """Cards, driver, CUDA version, trouble."""
    loaded = re.search(r"Kernel Module\s+(?:for \S+\s+)?([\d.]+)", machine.read("/proc/driver/nvidia/version") or "")
    driver = loaded.group(1) if loaded else ""
    if machine.program("nvidia-smi") is None:
        return (), driver, _cuda_of(driver), NO_TOOL
    answer = machine.run(("nvidia-smi", f"--query-gpu={','.join(_QUERY)}", "--format=csv,noheader,nounits"))
    if answer.timed_out:
        return (), driver, _cuda_of(driver), "nvidia-smi does not answer"
    if "not a valid field" in answer.text + answer.errors:
        # Drivers before 510 do not know the compute capability.
        answer = machine.run(("nvidia-smi", f"--query-gpu={','.join(_QUERY[:4])}", "--format=csv,noheader,nounits"))
    rows = [[cell.strip() for cell in line.split(",")] for line in answer.text.splitlines()] if answer.good else []
    rows = [row for row in rows if len(row) >= 4]
    if not rows:
        said = " ".join((answer.text + answer.errors).split())
        return (), driver, _cuda_of(driver), f"nvidia-smi says: {said[:200]}" if said else "nvidia-smi finds no card"
    header = re.search(r"CUDA Version\s*:\s*(\d+)\.(\d+)", machine.run(("nvidia-smi",)).text)
    driver = rows[0][1]
    cuda = (int(header.group(1)), int(header.group(2))) if header else _cuda_of(driver)
    return tuple(_card(row) for row in rows), driver, cuda, ""


def _card(row: list[str]) -> Card:
    capability = _version(row[4]) if len(row) > 4 else None
    return Card(row[0], Vendor.NVIDIA, _mib(row[2]), _mib(row[3]), capability)


def _mib(cell: str) -> int | None:
    """Bytes; cards that share the machine's memory say [N/A]."""
    return int(cell) * MIB if cell.isdecimal() else None


def _version(text: str) -> Version | None:
    found = re.match(r"(\d+)\.(\d+)", text)
    return (int(found.group(1)), int(found.group(2))) if found else None


def _cuda_of(driver: str) -> Version | None:
    found = re.match(r"\d+", driver)
    branch = int(found.group()) if found else 0
    return next((cuda for least, cuda in _DRIVER_CUDA if branch >= least), None)


def _others(machine: Host) -> tuple[Card, ...]:
    """Display controllers on the PCI bus."""
    cards = []
    for file in machine.find("/sys/bus/pci/devices/*/class"):
        folder = file.removesuffix("/class")
        vendor = _PCI_VENDORS.get((machine.read(f"{folder}/vendor") or "").strip())
        if vendor is not None and (machine.read(file) or "").startswith(_PCI_DISPLAY):
            cards.append(_pci_card(machine, folder, vendor))
    return tuple(cards)


def _pci_card(machine: Host, folder: str, vendor: Vendor) -> Card:
    device = (machine.read(f"{folder}/device") or "").strip()
    name = (machine.read(f"{folder}/product_name") or "").strip() or f"{vendor} graphics {device}"
    total, used = (machine.read(f"{folder}/mem_info_vram_{kind}") or "" for kind in ("total", "used"))
    if not (total.strip().isdecimal() and used.strip().isdecimal()):
        return Card(name, vendor)
    return Card(name, vendor, int(total), int(total) - int(used))


def _rocm(machine: Host) -> Version | None:
    return _version(machine.read("/opt/rocm/.info/version") or "")


LEAST_CUDA: Version = (11, 8)
"""The oldest CUDA that prebuilt wheels exist for."""


def check_graphics(graphics: Graphics, around: Environment) -> Iterator[Finding]:
    """One finding for each card, one for NVIDIA's driver."""
    if not graphics.cards:
        hint = "start the container with its GPUs: docker run --gpus all" if around.container else ""
        yield skip("graphics card", "none was found; models run on the processor", hint)
    for card in graphics.cards:
        yield ok("graphics card", _described(card))
    if graphics.of(Vendor.NVIDIA) or graphics.driver or "does not answer" in graphics.trouble:
        yield _driver(graphics, around)
    if any(card.vendor is Vendor.AMD for card in graphics.worth_using):
        yield _amd(graphics)


def _described(card: Card) -> str:
    if card.memory is None:
        return card.name
    if card.vendor is Vendor.APPLE:
        return f"{card.name}, shares {memory(card.memory, 0)} with the processor"
    free = "" if card.free is None else f", {memory(card.free)} free"
    return f"{card.name}, {memory(card.memory)}{free}"


def _driver(graphics: Graphics, around: Environment) -> Finding:
    check = "NVIDIA driver"
    if graphics.trouble:
        known = f"driver {graphics.driver} is loaded, but " if graphics.driver else ""
        return warn(check, f"{known}{graphics.trouble}", _repair(graphics, around))
    cuda = graphics.cuda
    if cuda is None:
        return warn(check, f"{graphics.driver}, of an unknown age", "update the driver if models do not run on the GPU")
    found = f"{graphics.driver}, runs CUDA up to {cuda[0]}.{cuda[1]}"
    if cuda < LEAST_CUDA:
        return warn(check, f"{found}: too old for every prebuilt wheel", "update NVIDIA's driver to 525 or newer")
    return ok(check, found)


def _repair(graphics: Graphics, around: Environment) -> str:
    if around.wsl:
        return "update NVIDIA's driver in Windows; inside WSL none must be installed"
    if around.container:
        return "start the container with its GPUs: docker run --gpus all"
    if "does not answer" in graphics.trouble or "says:" in graphics.trouble:
        return "restart the machine; if that does not help, install NVIDIA's driver again"
    if graphics.driver:
        return "install the rest of NVIDIA's driver (nvidia-utils), so that it can be asked about its cards"
    return "install NVIDIA's driver, then run: laguna-tui doctor"


def _amd(graphics: Graphics) -> Finding:
    names = card_names(graphics.of(Vendor.AMD))
    if graphics.rocm is not None:
        return ok("ROCm", f"{graphics.rocm[0]}.{graphics.rocm[1]} for {names}")
    if graphics.vulkan:
        return ok("ROCm", f"not installed; {names} can be used through Vulkan")
    todo = "install ROCm 7.2, or a Vulkan driver (mesa-vulkan-drivers, libvulkan1)"
    return warn("ROCm", f"neither ROCm nor Vulkan is installed for {names}", todo)
