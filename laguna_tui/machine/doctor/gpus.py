"""The machine's graphics cards and their drivers, detected without any GPU library."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from laguna_tui.base.units import memory
from laguna_tui.machine.doctor.findings import Finding, ok, skip, warn
from laguna_tui.machine.doctor.host import Host, HostEnvironment

MIB = 1 << 20

Version = tuple[int, int]


class Vendor(StrEnum):
    """Vendor of a card."""

    NVIDIA = "NVIDIA"
    AMD = "AMD"
    INTEL = "Intel"
    APPLE = "Apple"


_PCI_VENDORS = {"0x10de": Vendor.NVIDIA, "0x1002": Vendor.AMD, "0x8086": Vendor.INTEL}
_PCI_DISPLAY = "0x03"
"""Prefix of a display controller's PCI class."""

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
"""CUDA version of each driver branch (NVIDIA's CUDA release notes), used when nvidia-smi does not report it."""

NO_TOOL, NO_CARD = "nvidia-smi is not installed", "nvidia-smi finds no card"
"""What restarting the machine does not change."""

_INTEL_INSIDE = "/0000:00:02."
"""Place on the PCI bus of the graphics inside Intel's processors; their cards are behind a bridge."""

_LEAST_AMD = 3 << 30
"""Bytes of memory. A card with less is the one inside a processor, and no faster than that processor."""

_QUERY = ("name", "driver_version", "memory.total", "memory.free", "compute_cap")


@dataclass(frozen=True, slots=True)
class Card:
    """A graphics card.

    Attributes:
        name: Product name.
        vendor: Its vendor.
        memory: Its own memory in bytes; None if it has none or does not report it.
        free: Free bytes of it; None in the same cases.
        capability: CUDA compute capability; None for other vendors.
        integrated: Whether it is known to be inside the processor; one with little memory may be as well.
    """

    name: str
    vendor: Vendor
    memory: int | None = None
    free: int | None = None
    capability: Version | None = None
    integrated: bool = False


@dataclass(frozen=True, slots=True)
class Graphics:
    """Every card, and the driver software that llama.cpp needs.

    Attributes:
        cards: NVIDIA's first.
        driver: Version of NVIDIA's driver; empty without one.
        cuda: The newest CUDA version the driver supports.
        trouble: Why NVIDIA's driver does not answer; empty when it does or none is needed.
        rocm: Installed version of ROCm.
        vulkan: Whether the Vulkan loader is installed.
    """

    cards: tuple[Card, ...]
    driver: str = ""
    cuda: Version | None = None
    trouble: str = ""
    rocm: Version | None = None
    vulkan: bool = False

    def of(self, *vendors: Vendor) -> tuple[Card, ...]:
        """Return the cards of these vendors."""
        return tuple(card for card in self.cards if card.vendor in vendors)

    @property
    def worth_using(self) -> tuple[Card, ...]:
        """The cards fast enough for a model: not those inside Intel's processors, nor the small ones inside AMD's."""
        strong = tuple(card for card in self.cards if not card.integrated)
        return tuple(card for card in strong if card.vendor is not Vendor.AMD or (card.memory or 0) >= _LEAST_AMD)

    @property
    def is_driver_working(self) -> bool:
        """Whether the driver works as far as can be detected; true also where no NVIDIA card needs one."""
        return not self.trouble or (self.trouble == NO_TOOL and bool(self.driver))


def detect_graphics(host: Host) -> Graphics:
    """Detect cards and drivers through nvidia-smi, /proc, /sys and ldconfig."""
    if host.system == "Darwin":
        return Graphics(_apple(host))
    cards, driver, cuda, trouble = _nvidia(host)
    others = _others(host)
    if not cards:
        cards = tuple(card for card in others if card.vendor is Vendor.NVIDIA)
        trouble = trouble if cards or driver else ""
    rest = tuple(card for card in others if card.vendor is not Vendor.NVIDIA)
    vulkan = "libvulkan.so.1" in host.run(("ldconfig", "-p")).text
    return Graphics(cards + rest, driver, cuda, trouble, _version(host.read("/opt/rocm/.info/version") or ""), vulkan)


def card_names(cards: tuple[Card, ...]) -> str:
    """Return the cards' names, equal ones counted: `2 x NVIDIA GeForce RTX 3060`."""
    names = [card.name for card in cards]
    counts = {name: names.count(name) for name in names}
    return ", ".join(name if count == 1 else f"{count} x {name}" for name, count in counts.items())


def _apple(host: Host) -> tuple[Card, ...]:
    if host.processor != "arm64":
        return ()
    name = host.run(("sysctl", "-n", "machdep.cpu.brand_string")).text.strip()
    return (Card(name or "Apple GPU", Vendor.APPLE, memory=host.memory),)


def _nvidia(host: Host) -> tuple[tuple[Card, ...], str, Version | None, str]:
    """Return cards, driver version, CUDA version, and why the driver does not answer."""
    loaded = re.search(r"Kernel Module\s+(?:for \S+\s+)?([\d.]+)", host.read("/proc/driver/nvidia/version") or "")
    driver = loaded.group(1) if loaded else ""
    if host.program("nvidia-smi") is None:
        return (), driver, _cuda_of(driver), NO_TOOL
    answer = host.run(("nvidia-smi", f"--query-gpu={','.join(_QUERY)}", "--format=csv,noheader,nounits"))
    if answer.timed_out:
        return (), driver, _cuda_of(driver), "nvidia-smi does not respond"
    if "not a valid field" in answer.text + answer.errors:
        # Drivers before 510 do not support the query of the compute capability.
        answer = host.run(("nvidia-smi", f"--query-gpu={','.join(_QUERY[:4])}", "--format=csv,noheader,nounits"))
    rows = [[cell.strip() for cell in line.split(",")] for line in answer.text.splitlines()] if answer.good else []
    rows = [row for row in rows if len(row) >= 4]
    if not rows:
        output = " ".join((answer.text + answer.errors).split())
        return (
            (),
            driver,
            _cuda_of(driver),
            f"nvidia-smi says: {output[:200]}" if output else NO_CARD,
        )
    header = re.search(r"CUDA Version\s*:\s*(\d+)\.(\d+)", host.run(("nvidia-smi",)).text)
    driver = rows[0][1]
    cuda = (int(header.group(1)), int(header.group(2))) if header else _cuda_of(driver)
    return tuple(_card(row) for row in rows), driver, cuda, ""


def _card(row: list[str]) -> Card:
    capability = _version(row[4]) if len(row) > 4 else None
    return Card(row[0], Vendor.NVIDIA, _mib(row[2]), _mib(row[3]), capability)


def _mib(cell: str) -> int | None:
    """Return bytes; None for cards that share the machine's memory, which report [N/A]."""
    return int(cell) * MIB if cell.isdecimal() else None


def _version(text: str) -> Version | None:
    found = re.match(r"(\d+)\.(\d+)", text)
    return (int(found.group(1)), int(found.group(2))) if found else None


def _cuda_of(driver: str) -> Version | None:
    found = re.match(r"\d+", driver)
    branch = int(found.group()) if found else 0
    return next((cuda for least, cuda in _DRIVER_CUDA if branch >= least), None)


def _others(host: Host) -> tuple[Card, ...]:
    """Return the display controllers on the PCI bus."""
    cards = []
    for file in host.find("/sys/bus/pci/devices/*/class"):
        folder = file.removesuffix("/class")
        vendor = _PCI_VENDORS.get((host.read(f"{folder}/vendor") or "").strip())
        if vendor is not None and (host.read(file) or "").startswith(_PCI_DISPLAY):
            cards.append(_pci_card(host, folder, vendor))
    return tuple(cards)


def _pci_card(host: Host, folder: str, vendor: Vendor) -> Card:
    device = (host.read(f"{folder}/device") or "").strip()
    name = (host.read(f"{folder}/product_name") or "").strip() or f"{vendor} graphics {device}"
    total, used = (host.read(f"{folder}/mem_info_vram_{kind}") or "" for kind in ("total", "used"))
    if not (total.strip().isdecimal() and used.strip().isdecimal()):
        return Card(name, vendor, integrated=vendor is Vendor.INTEL and _INTEL_INSIDE in f"{folder}/")
    return Card(name, vendor, int(total), int(total) - int(used))


LEAST_CUDA: Version = (11, 8)
"""The oldest CUDA with prebuilt wheels."""


def check_graphics(graphics: Graphics, environment: HostEnvironment) -> Iterator[Finding]:
    """Report each card, NVIDIA's driver, and ROCm or Vulkan."""
    if not graphics.cards:
        share = "if this machine has one, start the container with it: docker run --gpus all"
        hint = share if environment.container else ""
        yield skip("graphics card", "none was found; models run on the processor", hint)
    for card in graphics.cards:
        yield ok("graphics card", _described(card))
    if graphics.of(Vendor.NVIDIA) or graphics.driver:
        yield _driver(graphics, environment)
    if any(card.vendor is Vendor.AMD for card in graphics.worth_using):
        yield _amd(graphics)
    elif graphics.worth_using and not graphics.of(Vendor.NVIDIA, Vendor.APPLE):
        yield _vulkan(graphics)


def _described(card: Card) -> str:
    if card.memory is None:
        return card.name
    if card.vendor is Vendor.APPLE:
        return f"{card.name}, shares {memory(card.memory, 0)} with the processor"
    free = "" if card.free is None else f", {memory(card.free)} free"
    return f"{card.name}, {memory(card.memory)}{free}"


def _driver(graphics: Graphics, environment: HostEnvironment) -> Finding:
    check = "NVIDIA driver"
    if graphics.trouble:
        known = f"driver {graphics.driver} is loaded, but " if graphics.driver else ""
        return warn(check, f"{known}{graphics.trouble}", _repair(graphics, environment))
    cuda = graphics.cuda
    if cuda is None:
        return warn(check, f"{graphics.driver}, CUDA version unknown", "update it if models do not run on the GPU")
    found = f"{graphics.driver}, supports CUDA up to {cuda[0]}.{cuda[1]}"
    if cuda < LEAST_CUDA:
        return warn(check, f"{found}: too old for every prebuilt wheel", "update NVIDIA's driver to 525 or newer")
    return ok(check, found)


def _repair(graphics: Graphics, environment: HostEnvironment) -> str:
    if environment.wsl:
        return "update NVIDIA's driver in Windows; do not install one inside WSL"
    if environment.container:
        return "start the container with its GPUs: docker run --gpus all"
    if graphics.trouble not in (NO_TOOL, NO_CARD):
        return "restart the machine; if that does not help, reinstall NVIDIA's driver"
    if graphics.driver:
        return "install nvidia-utils, the part of NVIDIA's driver that reports the cards"
    return "install NVIDIA's driver, then run: laguna-tui doctor"


def _amd(graphics: Graphics) -> Finding:
    names = card_names(graphics.of(Vendor.AMD))
    if graphics.rocm is not None:
        return ok("ROCm", f"{graphics.rocm[0]}.{graphics.rocm[1]} for {names}")
    if graphics.vulkan:
        return ok("ROCm", f"not installed; {names} can be used through Vulkan")
    todo = f"install ROCm 7.2, or {_VULKAN_DRIVER}"
    return warn("ROCm", f"neither ROCm nor Vulkan is installed for {names}", todo)


_VULKAN_DRIVER = "a Vulkan driver (mesa-vulkan-drivers, libvulkan1)"


def _vulkan(graphics: Graphics) -> Finding:
    names = card_names(graphics.worth_using)
    if graphics.vulkan:
        return ok("Vulkan", f"the loader is installed for {names}")
    return warn("Vulkan", f"not installed for {names}", f"install {_VULKAN_DRIVER}")
