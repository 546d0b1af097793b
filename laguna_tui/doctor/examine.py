"""All checks, in the order in which they are read."""

from laguna_tui.doctor.check_graphics import check_graphics
from laguna_tui.doctor.check_hub import check_hub
from laguna_tui.doctor.check_llama import check_llama
from laguna_tui.doctor.check_machine import check_machine
from laguna_tui.doctor.check_settings import check_settings
from laguna_tui.doctor.check_storage import check_storage
from laguna_tui.doctor.check_terminal import check_terminal
from laguna_tui.doctor.check_tools import check_tools
from laguna_tui.doctor.finding import Finding
from laguna_tui.doctor.graphics import graphics
from laguna_tui.doctor.library import loaded
from laguna_tui.doctor.machine import Machine
from laguna_tui.doctor.surroundings import surroundings


def examine(machine: Machine) -> list[Finding]:
    """Gather the facts once, then judge them."""
    around, cards, library = surroundings(machine), graphics(machine), loaded(machine)
    return [
        *check_machine(machine, library, around),
        *check_graphics(cards, around),
        *check_llama(library, cards, machine.python),
        *check_storage(machine),
        *check_settings(machine),
        *check_tools(machine),
        *check_terminal(machine, around),
        *check_hub(machine),
    ]
