"""Fallback when memory runs out: smaller plans, each tried once, and not again on the next start."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from laguna_engine.draft.dflash_graph import LAST_LAYER_OUTPUTS
from laguna_engine.fit.devices import Machine, simulated_machine
from laguna_engine.fit.explanation import difference
from laguna_engine.fit.fallback import FailedPlans, fallbacks
from laguna_engine.fit.known_models import XS_DRAFTER
from laguna_engine.fit.plan import Plan, choose_plan, solve
from laguna_engine.fit.plan_search import PlanConstraints
from tests.engine.fit import plans

XS = plans.laguna_xs()
BUILD = "llama.cpp b1, CUDA"


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plans.plan_for("24GB desktop")


@pytest.fixture(scope="module")
def steps(plan: Plan) -> list[Plan]:
    return list(fallbacks(plan))


def on_gpus(plan: Plan) -> int:
    return sum(device.total for device in plan.memory.gpus)


def test_every_step_takes_less_and_the_last_one_no_gpu(plan: Plan, steps: list[Plan]):
    sizes = [on_gpus(step) for step in (plan, *steps)]
    assert len(steps) >= 3 and sizes == sorted(sizes, reverse=True) and sizes[-1] == 0


def test_no_step_comes_twice(plan: Plan, steps: list[Plan]):
    keys = [step.key for step in (plan, *steps)]
    assert len(set(keys)) == len(keys)


def test_steps_are_for_the_machine_that_is_there(plan: Plan, steps: list[Plan]):
    assert {step.machine for step in steps} == {plan.machine}


def test_constraints_hold_on_every_step():
    constrained = choose_plan(
        XS, XS_DRAFTER, simulated_machine("24GB desktop"), PlanConstraints(context=65_536, drafter=True)
    )
    lower = list(fallbacks(constrained))
    assert lower and all(step.load.n_ctx == 65_536 and step.drafter for step in lower)


def test_a_drafter_that_taps_the_last_layer_does_so_on_every_step(plan: Plan):
    tapped = solve(replace(plan.space, last_tapped=True))
    drafted = [step for step in (tapped, *fallbacks(tapped)) if step.drafter]
    assert len(drafted) > 1
    assert {step.load.outputs for step in drafted} == {LAST_LAYER_OUTPUTS}


def test_without_a_gpu_the_steps_save_ram():
    alone = choose_plan(XS, None, simulated_machine("cpu-32GB"))
    totals = [step.memory.host.total for step in (alone, *fallbacks(alone)) if not step.paged]
    assert len(totals) > 1 and totals == sorted(totals, reverse=True)


def test_the_difference_is_told_in_words(plan: Plan, steps: list[Plan]):
    assert difference(plan, steps[0])
    told = difference(plan, steps[-1])
    assert "32 K tokens of context instead of 64 K" in told
    assert "no drafter" in told and "everything on the CPU" in told


def test_what_failed_is_not_tried_again_the_next_time(plan: Plan, steps: list[Plan], tmp_path: Path):
    path = tmp_path / "state" / "fit.json"
    FailedPlans(path, "xs", plan.machine, BUILD).failed(plan)
    again = list(FailedPlans(path, "xs", plan.machine, BUILD).attempts(plan))
    assert [step.key for step in again] == [step.key for step in steps]


@pytest.mark.parametrize(("model", "build"), [("another", BUILD), ("xs", "llama.cpp b2, CUDA")])
def test_another_model_or_build_starts_afresh(plan: Plan, tmp_path: Path, model: str, build: str):
    path = tmp_path / "fit.json"
    FailedPlans(path, "xs", plan.machine, BUILD).failed(plan)
    assert FailedPlans(path, model, plan.machine, build).allows(plan)


def test_another_card_starts_afresh(plan: Plan, tmp_path: Path):
    path = tmp_path / "fit.json"
    FailedPlans(path, "xs", plan.machine, BUILD).failed(plan)
    other = simulated_machine("32GB desktop")
    assert FailedPlans(path, "xs", other, BUILD).allows(plan)


def test_what_failed_is_tried_again_when_there_is_more_free_memory(plan: Plan, tmp_path: Path):
    path = tmp_path / "fit.json"
    notes = FailedPlans(path, "xs", plan.machine, BUILD)
    notes.failed(plan)
    assert not notes.allows(plan)
    assert notes.allows(with_more_free(plan))


def with_more_free(plan: Plan) -> Plan:
    cards = tuple(replace(card, free=round(card.free * 1.05)) for card in plan.machine.devices)
    machine: Machine = replace(plan.machine, devices=cards)
    return replace(plan, space=replace(plan.space, machine=machine))


def test_notes_of_several_models_live_side_by_side(plan: Plan, tmp_path: Path):
    path = tmp_path / "fit.json"
    for model in ("xs", "nano"):
        FailedPlans(path, model, plan.machine, BUILD).failed(plan)
    assert not any(FailedPlans(path, model, plan.machine, BUILD).allows(plan) for model in ("xs", "nano"))


DEEP = '{"other": ' + "[" * 100_000


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"version": 9}', '{"version": 1, "failures": {"a": 3}}', pytest.param(DEEP, id="deep")]
)
def test_a_damaged_note_is_no_note(plan: Plan, tmp_path: Path, text: str):
    path = tmp_path / "fit.json"
    path.write_text(text)
    notes = FailedPlans(path, "xs", plan.machine, BUILD)
    assert notes.allows(plan)
    notes.failed(plan)
    assert not FailedPlans(path, "xs", plan.machine, BUILD).allows(plan)


def test_without_a_file_failures_are_remembered_for_now(plan: Plan):
    notes = FailedPlans(None, "xs", plan.machine, BUILD)
    notes.failed(plan)
    assert not notes.allows(plan)


@pytest.mark.timeout(30)
@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")], ids=["pipe", "zero"])
def test_notes_that_are_no_file_are_as_good_as_none_and_stay_what_they_are(tmp_path: Path, plan: Plan, make):
    make(tmp_path / "plans.json")
    before = (tmp_path / "plans.json").lstat()
    notes = FailedPlans(tmp_path / "plans.json", "a.gguf 1", plan.machine, BUILD)
    assert notes.allows(plan)
    with pytest.raises(OSError, match="it is not a regular file"):
        notes.failed(plan)
    assert not notes.allows(plan)
    assert (tmp_path / "plans.json").lstat() == before
