"""Opening by a plan: on a real engine and imagined machines, with allocations that fail when a test says so."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from laguna_engine.engine import Engine
from laguna_engine.errors import ContextError, EngineError, ModelFileError
from laguna_engine.fit.imagined import XS_DRAFTER, imagined
from laguna_engine.fit.plan import DoesNotFit, choose_plan
from laguna_engine.fit.simulated import simulated
from laguna_engine.options import EngineOptions
from laguna_tui import planned, unplanned
from laguna_tui.local import NOTES, LocalSession
from laguna_tui.models.catalogue import load_catalogue
from laguna_tui.offered import freed
from laguna_tui.settings import Settings

NO_MEMORY = ContextError("a context of 2048 tokens could not be made (failed to allocate buffer); try a smaller one")


@pytest.fixture
def planning(monkeypatch):
    """Every model is planned for, on a machine without a GPU."""
    monkeypatch.setattr(unplanned, "SMALL_BYTES", 0)
    monkeypatch.setattr(planned, "read_machine", lambda: simulated("cpu-16GB 8cores"))


@pytest.fixture
def tried(monkeypatch):
    """Options that engines were opened with; as many first ones fail as the list `failures` has errors."""
    seen, failures = [], []

    def opened(options, progress=None, _open=Engine.open):
        seen.append(options)
        if failures:
            raise failures.pop(0)
        return _open(replace(options, threads=1), progress)

    monkeypatch.setattr(Engine, "open", opened)
    return seen, failures


def opened(model, folder, **settings):
    session = LocalSession.prepare(Settings(model=str(model), **settings), folder, folder / "state")
    try:
        return session.open(lambda progress: None)
    finally:
        session.close()


def test_what_the_user_left_open_is_planned_and_explained(planning, tried, tiny_model_path, tmp_path):
    info = opened(tiny_model_path, tmp_path)
    options = tried[0][0]
    assert (options.threads, options.gpu_layers, options.kv_type.value) == (7, 0, "f16")
    assert "f16 cache, on the CPU" in info.plan[0]
    assert [line.partition(":")[0] for line in info.plan[1:4]] == ["layers", "KV cache", "context"]


def test_what_the_user_fixed_is_kept(planning, tried, tiny_model_path, tmp_path):
    info = opened(tiny_model_path, tmp_path, context=1024, kv="q8_0", threads=1)
    options = tried[0][0]
    assert (options.n_ctx, options.kv_type.value, options.threads) == (1024, "q8_0", 1)
    assert "threads: 1. As you asked." in info.plan


def test_a_wish_that_cannot_be_granted_is_refused_with_the_numbers(
    planning, tried, tiny_model_path, tmp_path, monkeypatch
):
    monkeypatch.setattr(planned, "read_machine", lambda: replace(simulated("cpu-16GB"), ram_free=(1 << 30) + (1 << 20)))
    with pytest.raises(DoesNotFit, match="needs"):
        opened(tiny_model_path, tmp_path, kv="f16")
    assert not tried[0]


def test_who_fixes_everything_overrules_the_plan(planning, tried, tiny_model_path, tmp_path, monkeypatch):
    monkeypatch.setattr(planned, "read_machine", lambda: pytest.fail("memory was looked at"))
    info = opened(tiny_model_path, tmp_path, context=1024, kv="f16", threads=1, gpu_layers=0)
    assert "as you set it" in info.plan[1]


def test_the_bundled_model_is_opened_without_a_plan_at_its_own_context(tried, tmp_path, monkeypatch):
    monkeypatch.setattr(planned, "read_machine", lambda: pytest.fail("memory was looked at"))
    nano = load_catalogue()["nano"]
    info = opened("nano", tmp_path)
    assert info.context_size == nano.context == 4096
    assert "fit on any machine" in info.plan[1]


def test_when_memory_runs_out_the_next_smaller_way_is_tried_and_the_user_told(
    planning, tried, tiny_model_path, tmp_path
):
    seen, failures = tried
    failures.append(NO_MEMORY)
    info = opened(tiny_model_path, tmp_path)
    assert len(seen) == 2
    assert seen[0].kv_type.value == "f16"
    assert seen[1].kv_type.value == "q8_0"
    assert "it was opened with a q8_0 cache instead of f16" in info.warnings[0]


def test_what_did_not_fit_is_not_tried_again_in_the_next_session(planning, tried, tiny_model_path, tmp_path):
    seen, failures = tried
    failures.append(NO_MEMORY)
    opened(tiny_model_path, tmp_path)
    assert (tmp_path / "state" / NOTES).is_file()
    info = opened(tiny_model_path, tmp_path)
    assert len(seen) == 3
    assert seen[2] == replace(seen[1], economy=seen[2].economy)
    assert not info.warnings
    assert info.plan[-1].startswith("smaller: ")


def test_every_way_is_tried_once_and_the_last_reason_is_told(planning, tried, tiny_model_path, tmp_path):
    seen, failures = tried
    failures.extend([NO_MEMORY] * 20)
    with pytest.raises(ContextError, match="failed to allocate"):
        opened(tiny_model_path, tmp_path)
    assert len(seen) > 1
    assert len({(o.n_ctx, o.kv_type, o.n_ubatch, o.gpu_layers) for o in seen}) == len(seen)


@pytest.mark.parametrize("error", [ModelFileError("x.gguf: it is damaged"), EngineError("something else")])
def test_an_error_that_is_not_about_memory_is_told_at_once(planning, tried, tiny_model_path, tmp_path, error):
    seen, failures = tried
    failures.append(error)
    with pytest.raises(type(error), match=str(error)):
        opened(tiny_model_path, tmp_path)
    assert len(seen) == 1


def test_experts_that_stay_in_ram_are_named_to_the_engine():
    entry = load_catalogue()["xs-2.1"]
    shape = imagined(entry.title, entry.facts, entry.context_max, entry.source.size)
    plan = choose_plan(shape, XS_DRAFTER, simulated("8GB ram-32GB"))
    options = planned._with_plan(EngineOptions(Path("model.gguf")), Settings(), plan)
    assert plan.load.home_experts
    assert re.search(options.kept_experts, f"blk.{plan.load.home_experts[0]}.ffn_up_exps.weight")
    assert not re.search(options.kept_experts, f"blk.{plan.load.home_experts[0]}.attn_q.weight")
    assert options.draft_context == plan.load.draft_context


def test_what_the_open_model_holds_counts_as_free_for_the_next(planning, tried, tiny_model_path, tmp_path):
    session = LocalSession.prepare(Settings(model=str(tiny_model_path)), tmp_path)
    session.open(lambda progress: None)
    holds = session._parts.how.told.holds
    session.close()
    machine = replace(simulated("cpu-16GB"), ram_free=1 << 30)
    assert holds["CPU"] > 0
    assert freed(machine, holds).ram_free == (1 << 30) + holds["CPU"]
    assert freed(machine, {"CPU": 1 << 40}).ram_free == machine.ram_total
