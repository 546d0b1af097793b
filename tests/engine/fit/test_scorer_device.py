"""A scorer gets a GPU when it is left room there, takes turns with the drafter when not, and else has the CPU."""

from dataclasses import replace
from pathlib import Path

import pytest

from laguna_engine.compress.scorer import Scorer
from laguna_engine.errors import ModelFileError
from laguna_engine.fit import scorer_device as places
from laguna_engine.fit.devices import GIB, DeviceFacts, Machine
from laguna_engine.fit.devices import simulated_machine as machine
from laguna_engine.fit.known_models import XS_DRAFTER
from laguna_engine.fit.plan import Plan, choose_plan
from laguna_engine.fit.scorer_device import ScorerDevice, open_device, scorer_bytes, scorer_device, scorer_device_now
from tests.engine import scorers
from tests.engine.fit import plans
from tests.engine.scorers import Variant

XS = plans.laguna_xs()
CARD = DeviceFacts("CUDA0", "a card", "gpu", 24 * GIB, 24 * GIB)
SECOND = replace(CARD, name="CUDA1")


def test_it_runs_where_it_is_left_room() -> None:
    assert scorer_device(GIB, [(CARD, GIB)]) == ScorerDevice("CUDA0")
    assert scorer_device(GIB, [(CARD, GIB), (SECOND, 2 * GIB)]) == ScorerDevice("CUDA1")


def test_it_takes_turns_with_a_drafter_that_makes_enough_room() -> None:
    left = [(SECOND, 0), (CARD, GIB // 2)]
    assert scorer_device(GIB, left, drafter=GIB // 2) == ScorerDevice("CUDA0", turns=True)
    assert scorer_device(GIB, left, drafter=GIB // 2 - 1) == ScorerDevice()
    assert scorer_device(GIB, left) == ScorerDevice()


def test_without_a_gpu_it_has_the_cpu() -> None:
    assert scorer_device(GIB, [], drafter=8 * GIB) == ScorerDevice()


def test_what_is_free_now_decides_but_for_a_reserve(monkeypatch: pytest.MonkeyPatch) -> None:
    card = replace(CARD, free=2 * GIB)
    monkeypatch.setattr(places, "read_machine", lambda: Machine((card,), GIB, GIB, 4))
    spare = CARD.total // 64
    assert scorer_device_now(2 * GIB - spare, 0) == ScorerDevice("CUDA0")
    assert scorer_device_now(2 * GIB - spare + 1, 0) == ScorerDevice()
    assert scorer_device_now(2 * GIB, spare) == ScorerDevice("CUDA0", turns=True)


def test_a_device_that_is_gone_is_the_cpu() -> None:
    assert open_device("CUDA7") is None


def test_its_bytes_are_those_that_it_takes_at_most(tmp_path: Path) -> None:
    path = scorers.make(Variant()).write(tmp_path / "scorer.gguf")
    with Scorer.open(path, threads=1) as scorer:
        scorer.score(["def f():\n    pass\n" * 40] * 20, "what does f do?")
        assert scorer.nbytes + places.RUNTIME <= scorer_bytes(path)
    (tmp_path / "other.gguf").write_bytes(b"GGUF")
    with pytest.raises(ModelFileError):
        scorer_bytes(tmp_path / "other.gguf")


def plan(name: str, scorer: int) -> Plan:
    return choose_plan(XS, XS_DRAFTER, machine(name), scorer=scorer)


def told(found: Plan) -> list[str]:
    return [f"{reason.choice}: {reason.text}" for reason in found.reasons if reason.subject == "scorer"]


@pytest.mark.parametrize("name", ["16GB", "24GB", "80GB"])
def test_the_model_gives_nothing_up_for_it(name: str) -> None:
    plain = plan(name, 0)
    for size in (GIB // 2, 2 * GIB, 40 * GIB):
        found = plan(name, size)
        assert (found.load, found.drafter) == (plain.load, plain.drafter)
        assert [gpu.total - gpu.scorer for gpu in found.memory.gpus] == [gpu.total for gpu in plain.memory.gpus]


def test_a_plan_counts_it_and_says_where_it_runs() -> None:
    large = plan("80GB", 2 * GIB)
    assert large.memory.gpus[-1].scorer == 2 * GIB
    assert told(large) == ["CUDA0: Shortening files takes at most 2.0 GiB there."]
    assert not told(plan("80GB", 0))


def test_a_plan_has_it_take_turns_or_compute_on_the_cpu() -> None:
    plain = plan("24GB", 0)
    left = machine("24GB").gpus[0].free - machine("24GB").gpus[0].total // 64 - plain.memory.gpus[0].total
    drafter = plain.memory.gpus[0].drafter
    assert drafter
    turns = plan("24GB", left + drafter // 2)
    assert "in turns" in told(turns)[0]
    assert turns.memory.gpus[0].scorer == max(0, left - drafter + drafter // 2)
    home = plan("24GB", left + drafter + 1)
    assert told(home)[0].startswith("CPU: ")
    assert home.memory.host.scorer == left + drafter + 1
