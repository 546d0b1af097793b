"""Devices of this machine and of simulated ones."""

import psutil
import pytest

from laguna_engine.fit import devices as devices_module
from laguna_engine.fit.devices import GIB, DeviceFacts, Machine, devices, read_machine, simulated_machine
from laguna_engine.fit.plan_search import ram_reserve
from laguna_engine.native import control_groups
from laguna_engine.native.control_groups import MemoryLimit


def test_this_machine_has_a_cpu_with_memory():
    found = [device for device in devices() if device.kind == "cpu"]
    assert found and found[0].name and 0 < found[0].free <= found[0].total


def test_this_machine_is_read_anew_every_time():
    first, second = read_machine(), read_machine()
    assert first is not second
    assert first.ram_total == second.ram_total >= max(first.ram_free, second.ram_free) > 0
    assert first.cores >= 1


def test_a_control_groups_limits_are_those_of_the_machine(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(devices_module, "memory_limit", lambda: MemoryLimit(GIB // 2, GIB // 4))
    monkeypatch.setattr(control_groups, "processor_limit", lambda: 1)
    monkeypatch.setattr(devices_module, "processor_limit", lambda: 1)
    monkeypatch.setattr(psutil, "cpu_count", lambda logical=True: 8)
    machine = read_machine()
    assert (machine.ram_total, machine.ram_free, machine.cores) == (GIB // 2, GIB // 4, 1)
    assert machine.description.endswith(
        "0.2 of 0.5 GiB of RAM free; 1 core; limited by the container or service that this runs in"
    )
    monkeypatch.setattr(devices_module, "memory_limit", lambda: MemoryLimit(1 << 60, 1 << 60))
    monkeypatch.setattr(devices_module, "processor_limit", lambda: None)
    assert "limited" not in read_machine().description


def test_a_small_machine_leaves_a_quarter_of_its_memory_unused():
    assert ram_reserve(Machine((), GIB // 2, GIB // 4, 1)) == GIB // 8
    assert ram_reserve(simulated_machine("cpu-16GB")) == GIB


def test_a_gpu_in_the_processor_counts_only_without_a_card():
    card = DeviceFacts("Vulkan0", "card", "gpu", 8 * GIB, 8 * GIB)
    inside = DeviceFacts("Vulkan1", "inside", "igpu", 16 * GIB, 16 * GIB)
    assert Machine((inside, card), 1, 1, 1).gpus == (card,)
    assert Machine((inside, replace_name(inside)), 1, 1, 1).gpus == (inside,)


def replace_name(device: DeviceFacts) -> DeviceFacts:
    return DeviceFacts("Vulkan2", device.description, device.kind, device.free, device.total)


def test_the_memory_of_apple_s_gpus_is_the_machine_s_own():
    machine = simulated_machine("apple-32GB")
    assert machine.gpus[0].shares_ram and machine.ram_total == 32 * GIB
    assert not simulated_machine("24GB").gpus[0].shares_ram


def test_a_desktop_takes_its_share_of_the_first_card_only():
    plain, desktop = simulated_machine("2x12GB"), simulated_machine("2x12GB desktop")
    assert desktop.gpus[0].free < plain.gpus[0].free
    assert desktop.gpus[1] == plain.gpus[1]


def test_ram_and_cores_can_be_given():
    machine = simulated_machine("8GB, ram-16GB, 4cores")
    assert (machine.ram_total, machine.cores, len(machine.gpus)) == (16 * GIB, 4, 1)


def test_without_a_card_there_is_only_the_cpu():
    assert simulated_machine("cpu-16GB").gpus == () == simulated_machine("cpu").gpus
    assert simulated_machine("cpu-16GB").ram_total == 16 * GIB


@pytest.mark.parametrize("specification", ["", "24", "24GB apple-32GB", "big", "0cores", "24GB toaster"])
def test_what_is_no_machine_is_refused_with_an_example(specification: str):
    with pytest.raises(ValueError, match="24GB, 2x12GB, apple-32GB or cpu-16GB"):
        simulated_machine(specification)
