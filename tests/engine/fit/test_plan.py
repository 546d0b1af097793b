"""Plans: the best for a machine, with its reasons; constraints are met or refused."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laguna_engine.config import KvType
from laguna_engine.fit.devices import GIB, Machine, simulated_machine
from laguna_engine.fit.known_models import XS_DRAFTER
from laguna_engine.fit.memory import ALL
from laguna_engine.fit.model_shape import ModelShape
from laguna_engine.fit.plan import DoesNotFit, Plan, choose_plan, fit_table
from laguna_engine.fit.plan_search import GOOD, KV_TYPES, PlanConstraints, Priority, shortfall
from laguna_engine.gguf import drafter_header as drafter_files
from laguna_engine.gguf import header
from tests.engine import tiny
from tests.engine.fit import outlines, plans

ASSETS = Path(__file__).parents[3] / "assets/nano"
XS = plans.laguna_xs()


def plan(machine: str, **constraints: object) -> Plan:
    if not constraints:
        return plans.plan_for(machine)
    return choose_plan(XS, XS_DRAFTER, simulated_machine(machine), PlanConstraints(**constraints))  # type: ignore[arg-type]


def test_the_plans_for_a_table_of_machines_are_as_reviewed():
    assert plans.table() == plans.REVIEWED.read_text(encoding="utf-8")


def test_a_card_of_24_gb_that_draws_a_desktop_gets_q8_0_and_64_k_with_the_drafter():
    found = plan("24GB desktop")
    assert found.whole and found.drafter
    assert found.load.kv is KvType.Q8_0 and found.load.n_ctx >= GOOD


@pytest.mark.parametrize("machine", ["16GB", "12GB", "8GB", "8GB ram-16GB", "6GB", "cpu-32GB"])
def test_smaller_machines_get_something_that_fits(machine: str):
    found = plan(machine)
    assert not shortfall(found.memory, found.machine)
    assert not found.paged


def test_a_model_larger_than_ram_is_read_from_disk_and_the_plan_says_so():
    found = plan("cpu-16GB")
    assert found.paged
    assert "read from disk" in found.reasons[0].text and "All weights in RAM" in found.next_step


def test_a_machine_that_is_far_too_small_is_told_what_it_would_take():
    with pytest.raises(DoesNotFit, match=r"needs at least 19\.\d GiB.*4\.0 GiB of RAM.*choose a smaller model"):
        plan("cpu-4GB")


def test_nano_runs_anywhere_with_its_drafter_and_leaves_a_core_free():
    target = header.check(ASSETS / "laguna-nano.gguf")
    drafter = drafter_files.read(ASSETS / "laguna-nano-dflash.gguf")
    found = choose_plan(target, drafter, simulated_machine("cpu-4GB 2cores"))
    assert found.drafter and found.load.n_ctx == 4096 and found.load.kv is KvType.F16
    assert found.threads == 1


def test_every_choice_has_a_sentence():
    for machine in plans.MACHINES.values():
        try:
            found = plan(machine)
        except DoesNotFit:
            continue
        subjects = [reason.subject for reason in found.reasons]
        assert subjects == ["layers", "KV cache", "context", "drafter", "micro-batch", "threads"]
        assert all(reason.text.endswith(".") and reason.choice for reason in found.reasons)


def test_the_next_step_up_is_enough_when_it_is_taken():
    found = plan("24GB desktop")
    step = re.fullmatch(r"A context of 96 K would take (\d\.\d) GiB more on CUDA0", found.next_step)
    assert step is not None
    room = round((float(step[1]) + 0.1) * GIB)
    cards = tuple(replace(card, free=card.free + room) for card in found.machine.devices)
    assert choose_plan(XS, XS_DRAFTER, replace(found.machine, devices=cards)).load.n_ctx == 98_304


def test_a_wished_context_is_given_up_nothing_of_even_if_experts_must_leave_the_gpu():
    found = plan("24GB desktop", context=131_072)
    assert found.load.n_ctx == 131_072 and found.load.experts_in_ram


def test_a_wished_cache_is_used():
    assert {plan("24GB desktop", kv=kv).load.kv for kv in KV_TYPES} == set(KV_TYPES)


def test_a_wish_for_no_drafter_is_honoured_and_its_memory_used():
    found = plan("24GB desktop", drafter=False)
    assert not found.drafter and found.load.n_ctx > plan("24GB desktop").load.n_ctx


def test_a_wish_that_cannot_be_had_is_refused_with_the_numbers_and_what_fits():
    with pytest.raises(DoesNotFit) as error:
        plan("16GB", gpu_layers=ALL)
    assert str(error.value) == (
        "Laguna XS 2.1 with every layer on the GPU needs 5.1 GiB more on CUDA0 than is free; what fits is 48 K "
        "tokens with a q8_0 cache"
    )


def test_a_context_beyond_the_model_is_refused():
    with pytest.raises(DoesNotFit) as error:
        plan("80GB", context=524_288)
    assert str(error.value) == "Laguna XS 2.1 can use 256 K tokens of context, not 512 K; request 256 K or less"


def test_a_drafter_that_is_not_there_is_no_wish_to_be_had():
    with pytest.raises(DoesNotFit) as error:
        choose_plan(XS, None, simulated_machine("24GB"), PlanConstraints(drafter=True))
    assert str(error.value) == "Laguna XS 2.1 has no drafter here; download it, or do without"


def test_quality_first_keeps_the_exact_cache_and_speed_first_the_gpu():
    exact, quick = plan("16GB", priority=Priority.QUALITY), plan("16GB", priority=Priority.SPEED)
    assert exact.load.kv is KvType.F16 and exact.load.n_ctx >= GOOD
    assert len(quick.load.experts_in_ram) < len(exact.load.experts_in_ram)


def test_experts_at_home_are_named_for_llama_cpp_and_nothing_else_is(tmp_path: Path):
    found = plan("16GB")
    shape = tiny.Shape(n_layer=XS_LAYERS, n_vocab=512)
    path = outlines.write(tmp_path / "names.gguf", shape, lambda name: outlines.F16)
    names = [info.name for info in header.check(path).tensors]
    kept = [name for name in names if re.search(found.tensors_in_ram, name)]
    assert len(kept) == 3 * len(found.load.experts_in_ram)
    assert {int(name.split(".")[1]) for name in kept} == set(found.load.experts_in_ram)
    assert plan("24GB").tensors_in_ram == ""


XS_LAYERS = len(XS.layers)


def test_a_dense_model_leaves_whole_layers_to_the_cpu():
    dense = replace(
        XS,
        layers=tuple(
            replace(layer, experts=0, experts_used=0, experts_size=0, ff=8192, size=layer.size + layer.experts_size)
            for layer in XS.layers
        ),
    )
    found = choose_plan(dense, None, simulated_machine("16GB"))
    assert 0 < found.load.gpu_layers < len(dense.layers) and not found.load.experts_in_ram


@settings(max_examples=10, deadline=None)
@given(
    card=st.floats(2, 96), ram=st.integers(4, 128), cores=st.integers(1, 64), priority=st.sampled_from(Priority),
    cards=st.integers(0, 3), desktop=st.booleans(),
)  # fmt: skip
def test_no_plan_takes_more_than_there_is(card, ram, cores, priority, cards, desktop):
    words = [f"{cards}x{card:.1f}GB"] * (cards > 0) + [f"ram-{ram}GB", f"{cores}cores"] + ["desktop"] * desktop
    machine = simulated_machine(" ".join(words))
    try:
        found = choose_plan(XS, XS_DRAFTER, machine, PlanConstraints(priority=priority))
    except DoesNotFit:
        return
    assert set(shortfall(found.memory, machine)) <= ({"CPU"} if found.paged else set())
    assert 1 <= found.threads <= cores


def test_the_survey_says_for_every_context_and_cache_how_it_would_run():
    space = plan("24GB desktop").space
    rows = fit_table(space)
    assert [row[0].context for row in rows] == [8192, 16_384, 32_768, 65_536, 131_072, 262_144]
    assert all([cell.kv for cell in row] == list(KV_TYPES) for row in rows)
    whole = [[cell.found is not None and cell.found.merits.layers_in_ram == 0 for cell in row] for row in rows]
    assert whole[3] == [True, True, True] and whole[4] == [False, False, True]


def test_what_lacks_memory_is_told_in_the_survey():
    machine = Machine(simulated_machine("cpu").devices, 8 * GIB, 3 * GIB, 4)
    space = replace(plan("24GB").space, machine=machine)
    assert all(cell.found is None and cell.left < 0 for row in fit_table(space) for cell in row)


def test_a_published_model_that_is_not_here_has_the_size_of_its_file():
    assert pytest.approx(20_274_300_032, rel=1e-6) == XS.size
    unscaled = plans.known_model("xs", {"block_count": 40, "embedding_length": 2048, "expert_count": 256}, 262_144)
    assert unscaled is not None and unscaled.size == pytest.approx(20_274_300_032, rel=5e-4)


def test_a_model_that_is_not_here_is_shaped_like_its_file(xs: ModelShape):
    imagined = plans.known_model("xs", {"block_count": 40, "embedding_length": 2048, "expert_count": 256}, 262_144)
    assert imagined is not None
    assert replace(imagined, name=xs.name, layers=()) == replace(xs, layers=())
    unsized = {"experts_size": 0, "size": 0}
    assert [replace(layer, **unsized) for layer in imagined.layers] == [replace(la, **unsized) for la in xs.layers]


def test_a_model_that_nobody_knows_is_not_imagined():
    assert plans.known_model("what", {"block_count": 41}, 4096) is None


def test_full_length_sliding_caches_leave_less_context():
    assert plan("24GB", strict=True).load.n_ctx < plan("24GB").load.n_ctx


def test_strict_speculation_reads_small_pieces_where_the_cpu_computes_and_says_why():
    found = plan("cpu-32GB", strict=True)
    assert found.load.n_ubatch == 63
    assert "63 tokens: Strict speculation" in next(
        f"{each.choice}: {each.text}" for each in found.reasons if each.subject == "micro-batch"
    )
    assert plan("24GB", strict=True).load.n_ubatch >= 128


def test_without_drafts_there_is_no_drafter_but_room_for_every_row_of_logits():
    found = plan("24GB", plain=True)
    assert not found.drafter and not found.load.hooked and found.load.outputs == found.load.n_ubatch


def test_a_large_model_on_few_cores_gets_them_all_and_on_many_leaves_one():
    assert [plan(f"cpu-32GB {cores}cores").threads for cores in (1, 2, 4, 8)] == [1, 2, 4, 7]
