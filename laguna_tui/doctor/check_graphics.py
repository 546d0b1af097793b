"""The cards and their driver."""

from collections.abc import Iterator

from laguna_tui.base.units import memory
from laguna_tui.doctor.finding import Finding, ok, skip, warn
from laguna_tui.doctor.graphics import Card, Graphics, Vendor, Version, named
from laguna_tui.doctor.surroundings import Surroundings

LEAST_CUDA: Version = (11, 8)
"""The oldest CUDA that prebuilt wheels exist for."""


def check_graphics(graphics: Graphics, around: Surroundings) -> Iterator[Finding]:
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


def _driver(graphics: Graphics, around: Surroundings) -> Finding:
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


def _repair(graphics: Graphics, around: Surroundings) -> str:
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
    names = named(graphics.of(Vendor.AMD))
    if graphics.rocm is not None:
        return ok("ROCm", f"{graphics.rocm[0]}.{graphics.rocm[1]} for {names}")
    if graphics.vulkan:
        return ok("ROCm", f"not installed; {names} can be used through Vulkan")
    todo = "install ROCm 7.2, or a Vulkan driver (mesa-vulkan-drivers, libvulkan1)"
    return warn("ROCm", f"neither ROCm nor Vulkan is installed for {names}", todo)
