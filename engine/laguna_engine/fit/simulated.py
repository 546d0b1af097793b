"""Machines that are not here: to see what a model would do on a card one might buy, and to test plans without it.

A specification is a list of parts, in any order, with "," or blanks between them:
    24GB        a CUDA card of this size; 2x12GB for two of them
    apple-32GB  an Apple machine with this much memory, all of it shared
    ram-16GB    so much RAM (without it: 32 GB, with an Apple machine what that has)
    cpu         no GPU; cpu-16GB is the same with so much RAM
    desktop     the first card also draws the desktop
    8cores      physical cores (without it: 8)
"""

import re

from laguna_engine.fit.devices import GIB, DeviceFacts, Machine

_CARD_SHARE = 0.982
"""Of a card's nominal memory what its driver offers: 24,124 of 24,576 MiB on an RTX 3090."""

_DRIVER = 256 << 20
"""What a process takes on a card just by using it."""

_DESKTOP = 1 << 30
"""A compositor, a browser and a terminal."""

_APPLE_SHARE = 2 / 3
"""Of an Apple machine's memory what Metal recommends to use at most (3/4 above 36 GB)."""

_APPLE_LARGE, _APPLE_LARGE_SHARE = 36 * GIB, 3 / 4
_SYSTEM_SHARE, _SYSTEM_LEAST = 0.1, 2 * GIB
"""RAM that the system and other programs take."""

_DEFAULT_RAM, _DEFAULT_CORES = 32 * GIB, 8
_PART = re.compile(r"(?:(\d+)x)?(?:(ram|cpu|apple)-)?(\d+(?:\.\d+)?)gi?b")
_CORES = re.compile(r"(\d+)cores?")


def simulated(specification: str) -> Machine:
    """The machine that a specification describes; ValueError, with a sentence, for one that cannot be read."""
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
            raise ValueError(f"{part!r} is no part of a machine; write it like 24GB, 2x12GB, apple-32GB or cpu-16GB")
    if not specification.strip() or (apple and cards):
        raise ValueError(f"{specification!r} is no machine; write it like 24GB, 2x12GB, apple-32GB or cpu-16GB")
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
