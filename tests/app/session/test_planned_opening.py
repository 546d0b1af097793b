"""Opening by a plan: on a real engine and imagined machines, with allocations that fail when a test says so."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from laguna_engine import loader
from laguna_engine.config import EngineOptions
from laguna_engine.engine import Engine
from laguna_engine.errors import ContextOutOfMemory, EngineError, ModelFileError
from laguna_engine.fit.devices import simulated_machine
from laguna_engine.fit.known_models import XS_DRAFTER, known_model
from laguna_engine.fit.plan import DoesNotFit, choose_plan
from laguna_tui.base.errors import UserError
from laguna_tui.base.settings import Settings, load_settings
from laguna_tui.models.catalogue import load_catalogue
from laguna_tui.session import opening as session_opening
from laguna_tui.session import planned_opening
from laguna_tui.session.model_list import freed
from laguna_tui.session.model_options import NOTES
from laguna_tui.session.session import Session

NO_MEMORY = ContextOutOfMemory(
    "a context of 2048 tokens could not be created (failed to allocate buffer); try a smaller one"
)


@pytest.fixture
def planning(monkeypatch):
    """Every model is planned for, on a machine without a GPU."""
    monkeypatch.setattr(session_opening, "SMALL_BYTES", 0)
    monkeypatch.setattr(planned_opening, "read_machine", lambda: simulated_machine("cpu-16GB 8cores"))


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
    session = Session(Settings(model=str(model), **settings), folder, folder / "state")
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


def test_settings_that_the_user_fixed_are_honoured(planning, tried, tiny_model_path, tmp_path):
    info = opened(tiny_model_path, tmp_path, context=1024, kv="q8_0", threads=1)
    options = tried[0][0]
    assert (options.n_ctx, options.kv_type.value, options.threads) == (1024, "q8_0", 1)
    assert "threads: 1. As you asked." in info.plan


def test_a_wish_that_cannot_be_granted_is_refused_with_the_numbers(
    planning, tried, tiny_model_path, tmp_path, monkeypatch
):
    monkeypatch.setattr(
        planned_opening, "read_machine", lambda: replace(simulated_machine("cpu-16GB"), ram_free=(1 << 30) + (1 << 20))
    )
    with pytest.raises(DoesNotFit, match="needs"):
        opened(tiny_model_path, tmp_path, kv="f16")
    assert not tried[0]


@pytest.mark.parametrize("small", [True, False])
def test_more_context_than_the_model_can_use_is_refused_with_the_numbers(
    tried, tiny_model_path, tmp_path, monkeypatch, small
):
    monkeypatch.setattr(session_opening, "SMALL_BYTES", (1 << 30) if small else 0)
    settings = Settings(model=str(tiny_model_path)).merged({"context": 100_000})
    session = Session(settings, tmp_path)
    with pytest.raises(UserError) as error:
        session.open(lambda progress: None)
    assert str(error.value) == (
        "--context 100000: tiny-laguna can use 8,192 tokens of context, not 100,000; give 8192 or less, or leave it out"
    )
    assert not tried[0]


def test_a_context_from_the_settings_file_is_refused_by_the_name_of_the_file(tiny_model_path, tmp_path):
    file = tmp_path / "config.toml"
    file.write_text(f"model = '{tiny_model_path}'\ncontext = 100000\n")
    with pytest.raises(UserError) as error:
        Session(load_settings(file), tmp_path).open(lambda progress: None)
    assert str(error.value) == (
        f"{file}: context = 100000: tiny-laguna can use 8,192 tokens of context, not 100,000; give 8192 or "
        "less, or leave it out"
    )


def test_the_context_is_at_most_what_the_model_can_use_and_the_catalogue_names(tried, tiny_model_path, tmp_path):
    kept = opened(tiny_model_path, tmp_path, context=8192)
    left_open = opened(tiny_model_path, tmp_path)
    assert (kept.context_size, left_open.context_size) == (8192, 8192)
    assert all(info.plan[0].startswith("8 K tokens of context") and not info.warnings for info in (kept, left_open))


@pytest.mark.parametrize("layers", [5, -1])
def test_layers_on_a_gpu_that_is_not_there_are_refused(tiny_model_path, tmp_path, monkeypatch, layers):
    monkeypatch.setattr(session_opening.Device, "gpus", list)
    with pytest.raises(UserError, match=rf"--gpu-layers {layers}: llama.cpp finds no GPU here, .* laguna-tui doctor"):
        opened(tiny_model_path, tmp_path, gpu_layers=layers)
    assert opened(tiny_model_path, tmp_path, gpu_layers=0).context_size == 8192


def test_more_layers_on_the_gpu_than_the_model_has_are_refused(tried, tiny_model_path, tmp_path, monkeypatch):
    monkeypatch.setattr(session_opening.Device, "gpus", lambda: [session_opening.Device.cpu()])
    with pytest.raises(UserError) as error:
        opened(tiny_model_path, tmp_path, gpu_layers=99)
    assert str(error.value) == (
        "--gpu-layers 99: tiny-laguna has 4 layers and an output matrix; give 5 or less, or -1 for all"
    )
    assert not tried[0]


@pytest.mark.parametrize("small", [True, False])
def test_the_plan_says_what_strict_speculation_promises_and_costs(tiny_model_path, tmp_path, monkeypatch, small):
    monkeypatch.setattr(session_opening, "SMALL_BYTES", (1 << 30) if small else 0)
    monkeypatch.setattr(loader, "use_fixed_kernels", lambda: True)
    monkeypatch.setattr(planned_opening, "read_machine", lambda: simulated_machine("cpu-16GB 8cores"))
    plan = opened(tiny_model_path, tmp_path, speculation="strict", threads=1).plan
    assert plan[0].endswith(", strict")
    assert any("byte for byte" in line and "reading a prompt took" in line for line in plan)


def test_settings_that_fix_everything_override_the_plan(planning, tried, tiny_model_path, tmp_path, monkeypatch):
    monkeypatch.setattr(planned_opening, "read_machine", lambda: pytest.fail("memory was looked at"))
    info = opened(tiny_model_path, tmp_path, context=1024, kv="f16", threads=1, gpu_layers=0)
    assert "as you set it" in info.plan[1]


def test_the_bundled_model_is_opened_without_a_plan_at_its_own_context(tried, tmp_path, monkeypatch):
    monkeypatch.setattr(planned_opening, "read_machine", lambda: pytest.fail("memory was looked at"))
    nano = load_catalogue()["nano"]
    info = opened("nano", tmp_path)
    assert info.context_size == nano.context == 4096
    assert "fit on any machine" in info.plan[1]


def test_when_memory_runs_out_the_next_smaller_plan_is_tried_and_reported(planning, tried, tiny_model_path, tmp_path):
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


def test_every_plan_is_tried_once_and_the_last_reason_is_reported(planning, tried, tiny_model_path, tmp_path):
    seen, failures = tried
    failures.extend([NO_MEMORY] * 20)
    with pytest.raises(ContextOutOfMemory, match="failed to allocate"):
        opened(tiny_model_path, tmp_path)
    assert len(seen) > 1
    assert len({(o.n_ctx, o.kv_type, o.n_ubatch, o.gpu_layers) for o in seen}) == len(seen)


@pytest.mark.parametrize("error", [ModelFileError("x.gguf: it is damaged"), EngineError("something else")])
def test_an_error_that_is_not_about_memory_is_reported_at_once(planning, tried, tiny_model_path, tmp_path, error):
    seen, failures = tried
    failures.append(error)
    with pytest.raises(type(error), match=str(error)):
        opened(tiny_model_path, tmp_path)
    assert len(seen) == 1


def test_experts_that_stay_in_ram_are_named_to_the_engine():
    entry = load_catalogue()["xs-2.1"]
    shape = known_model(entry.title, entry.facts, entry.context_max, entry.source.size)
    plan = choose_plan(shape, XS_DRAFTER, simulated_machine("8GB ram-32GB"))
    options = planned_opening._with_plan(EngineOptions(Path("model.gguf")), Settings(), plan)
    assert plan.load.experts_in_ram
    assert re.search(options.tensors_in_ram, f"blk.{plan.load.experts_in_ram[0]}.ffn_up_exps.weight")
    assert not re.search(options.tensors_in_ram, f"blk.{plan.load.experts_in_ram[0]}.attn_q.weight")
    assert options.draft_context == plan.load.draft_context


def test_what_the_open_model_holds_counts_as_free_for_the_next(planning, tried, tiny_model_path, tmp_path):
    session = Session(Settings(model=str(tiny_model_path)), tmp_path)
    session.open(lambda progress: None)
    holds = session.slot.opened_as.report.holds
    session.close()
    machine = replace(simulated_machine("cpu-16GB"), ram_free=1 << 30)
    assert holds["CPU"] > 0
    assert freed(machine, holds).ram_free == (1 << 30) + holds["CPU"]
    assert freed(machine, {"CPU": 1 << 40}).ram_free == machine.ram_total
