"""The energy that cards tell, summed; nothing where there is no card or one of them does not tell."""

from ctypes import c_void_p
from typing import Any

from tests.evals.energy import EnergyCounter

FAILED = 3


class Cards:
    """NVML with cards that have taken so many millijoules; None for one that does not count."""

    def __init__(self, *energies: int | None) -> None:
        self.energies = list(energies)
        self.open = 0

    def nvmlInit_v2(self) -> int:  # noqa: N802
        self.open += 1
        return 0

    def nvmlShutdown(self) -> int:  # noqa: N802
        self.open -= 1
        return 0

    def nvmlDeviceGetCount_v2(self, count: Any) -> int:  # noqa: N802
        count._obj.value = len(self.energies)
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, index: int, card: Any) -> int:  # noqa: N802
        card._obj.value = index + 1
        return 0

    def nvmlDeviceGetTotalEnergyConsumption(self, card: c_void_p, energy: Any) -> int:  # noqa: N802
        found = self.energies[card.value - 1]
        if found is None:
            return FAILED
        energy._obj.value = found
        return 0


def test_the_energy_of_all_cards_that_count_it_is_added_up():
    cards = Cards(1500, None, 2_000_000_000_500)
    counter = EnergyCounter(cards)
    assert counter.joules() == 2_000_000_002.0
    cards.energies[0] = 4500
    assert counter.joules() == 2_000_000_005.0
    counter.close()
    assert (counter.joules(), cards.open) == (None, 0)


def test_a_card_that_falls_silent_makes_the_sum_unknown_and_not_smaller():
    cards = Cards(1500, 2500)
    counter = EnergyCounter(cards)
    cards.energies[1] = None
    assert counter.joules() is None


def test_without_a_card_nothing_is_known():
    assert EnergyCounter(Cards()).joules() is None


def test_looking_for_cards_fails_nowhere():
    counter = EnergyCounter.open()
    energy = counter.joules()
    assert energy is None or energy >= 0
    counter.close()
