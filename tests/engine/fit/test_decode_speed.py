"""Measured rates of the devices, and the decoding speed that they give for a model."""

import json
from dataclasses import replace

import pytest

from laguna_engine.fit import decode_speed
from laguna_engine.fit.decode_speed import DeviceRate, expected_rate, known_rates, measured_rates
from laguna_engine.fit.devices import read_machine, simulated_machine
from laguna_engine.fit.known_models import known_model
from laguna_engine.fit.plan import choose_plan
from laguna_engine.native.child import Output
from laguna_engine.native.verdicts import Verdicts

XS = known_model("XS", {"block_count": 40, "embedding_length": 2048, "expert_count": 256}, 262_144)
FAST, SLOW = DeviceRate(500e9, 2e-6), DeviceRate(20e9, 2e-6)


@pytest.fixture
def runs(monkeypatch):
    """The commands of the children that measured; each writes what is appended to its first element."""
    found, output = [], []
    monkeypatch.setattr(decode_speed, "verdicts", Verdicts())
    monkeypatch.setattr(decode_speed.child, "run", lambda command, limit: found.append(command) or output[0])
    found.append(output)
    return found


def rate(machine, **rates):
    assert XS is not None
    return expected_rate(XS, choose_plan(XS, None, simulated_machine(machine)), rates)


def test_the_child_measures_the_processor(monkeypatch, capsys):
    monkeypatch.setattr(decode_speed, "_MEASURED_S", 0.01)
    assert decode_speed.main(1) == 0
    bytes_per_s, operation_s = json.loads(capsys.readouterr().out)["CPU"]
    assert 1e6 < bytes_per_s < 1e13
    assert 0 < operation_s < 1


def test_rates_are_measured_once_for_a_machine(runs):
    runs[0].append(Output(0, '{"CPU": [2e10, 2e-6]}'))
    machine = read_machine()
    assert known_rates(machine) == {}
    assert measured_rates(machine) == measured_rates(machine) == known_rates(machine) == {"CPU": SLOW}
    assert len(runs) == 2
    assert known_rates(replace(machine, cores=machine.cores + 1)) == {}


def test_rates_that_other_programs_disturbed_are_neither_used_nor_stored(runs):
    runs[0].append(Output(decode_speed._DISTURBED, '{"CPU": [2e10, 2e-6]}'))
    assert measured_rates(read_machine()) == known_rates(read_machine()) == {}


@pytest.mark.parametrize("output", [Output(-11), Output(None, timed_out=True), Output(0, "{"), Output(0, '{"CPU": 3}')])
def test_a_measurement_that_fails_gives_no_rates(runs, output):
    runs[0].append(output)
    assert measured_rates(read_machine()) == {}


def test_nothing_is_measured_of_a_simulated_machine(runs):
    assert measured_rates(simulated_machine("cpu-16GB")) == {}
    assert len(runs) == 1


def test_a_token_reads_the_active_weights_only():
    # 33 billion parameters of which 3 billion are active: about a tenth of 20 GB, and 1,200 operations.
    assert 8 < rate("cpu-64GB", CPU=SLOW) < 14


def test_a_gpu_and_experts_in_ram_count_with_their_own_rates():
    on_gpu, partly = rate("24GB", CPU=SLOW, CUDA0=FAST), rate("16GB", CPU=SLOW, CUDA0=FAST)
    assert rate("cpu-64GB", CPU=SLOW) < partly < on_gpu
    assert rate("2x12GB", CPU=SLOW, CUDA0=FAST, CUDA1=FAST) == pytest.approx(on_gpu, rel=0.1)


def test_the_rate_is_unknown_without_a_measurement_of_each_device_and_for_a_model_on_disk():
    assert rate("24GB", CPU=SLOW) is None
    assert rate("cpu-64GB") is None
    assert rate("cpu-16GB", CPU=SLOW) is None
