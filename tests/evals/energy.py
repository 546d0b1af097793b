"""How much energy NVIDIA's cards have taken, as their driver's library counts it (NVML; Volta and newer)."""

import ctypes
from ctypes import POINTER, byref, c_int, c_uint, c_ulonglong, c_void_p
from typing import Any

_LIBRARIES = ("libnvidia-ml.so.1", "nvml.dll")
_SUCCESS = 0


class EnergyCounter:
    """The cards of this machine that count their energy; close it."""

    def __init__(self, library: Any) -> None:
        """Use `EnergyCounter.open`. library: NVML, loaded."""
        self._library = library
        self._cards: list[c_void_p] = []
        count = c_uint()
        if library.nvmlInit_v2() != _SUCCESS:
            return
        if library.nvmlDeviceGetCount_v2(byref(count)) == _SUCCESS:
            for index in range(count.value):
                card = c_void_p()
                if library.nvmlDeviceGetHandleByIndex_v2(index, byref(card)) == _SUCCESS:
                    self._cards.append(card)
        # A card that does not count is left out from the start.
        self._cards = [card for card in self._cards if self._of(card) is not None]

    @classmethod
    def open(cls) -> "EnergyCounter":
        """Look for cards; without NVIDIA's driver there are none."""
        for name in _LIBRARIES:
            try:
                library = ctypes.CDLL(name)
                _declare(library)
            except (OSError, AttributeError):
                continue
            return cls(library)
        return cls(_NoLibrary())

    def joules(self) -> float | None:
        """Return energy of all cards since their driver was loaded, in joules; None where none tells it."""
        found = [self._of(card) for card in self._cards]
        told = [each for each in found if each is not None]
        return sum(told) / 1e3 if told and len(told) == len(found) else None

    def close(self) -> None:
        """Let go of the library. Idempotent."""
        self._cards = []
        self._library.nvmlShutdown()

    def _of(self, card: c_void_p) -> int | None:
        """Millijoules."""
        energy = c_ulonglong()
        told = self._library.nvmlDeviceGetTotalEnergyConsumption(card, byref(energy)) == _SUCCESS
        return energy.value if told else None


class _NoLibrary:
    """In the place of NVML where there is none."""

    def nvmlInit_v2(self) -> int:  # noqa: N802 (NVML's name)
        return 1

    def nvmlShutdown(self) -> int:  # noqa: N802
        return 1


def _declare(library: ctypes.CDLL) -> None:
    """Say what the functions take (nvml.h); AttributeError where one is missing."""
    for name, arguments in (
        ("nvmlInit_v2", ()),
        ("nvmlShutdown", ()),
        ("nvmlDeviceGetCount_v2", (POINTER(c_uint),)),
        ("nvmlDeviceGetHandleByIndex_v2", (c_uint, POINTER(c_void_p))),
        ("nvmlDeviceGetTotalEnergyConsumption", (c_void_p, POINTER(c_ulonglong))),
    ):
        function = getattr(library, name)
        function.argtypes, function.restype = list(arguments), c_int
