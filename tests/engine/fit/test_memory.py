"""Estimated sizes equal llama.cpp's own, and are on the right devices."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from laguna_engine.config import KvType
from laguna_engine.draft.base import MAX_DRAFT
from laguna_engine.fit.devices import DeviceFacts
from laguna_engine.fit.memory import DeviceMemory, Load, kv_per_token, memory_of, rollback
from laguna_engine.fit.model_shape import ModelShape
from laguna_engine.ggml import extra_buffers
from laguna_engine.ggml.device import ComputeBackend
from laguna_engine.gguf import header
from laguna_engine.gguf.target_check import LAYOUTS
from tests.engine import families, tiny
from tests.engine.fit import outlines
from tests.engine.fit.breakdown import breakdown, described, linux_only

NANO = Path(__file__).parents[3] / "assets/nano/laguna-nano.gguf"
GIB = 1 << 30
WEIGHTS_AND_CACHE = 1e-6
COMPUTE, MOST = 0.25, 32 << 20
"""How much more than llama.cpp takes compute buffers may be estimated at, as a share and in bytes."""
AMX = 2e-3
"""Relative overhead of AMX's weight layout, where AMX is available."""


def parts(shape: ModelShape, load: Load) -> tuple[int, int, int]:
    host = memory_of(shape, load).host
    return host.weights, host.kv, host.compute


def works(name: str) -> bool:
    """Whether the processor has AMX and none of its extra buffer types crashes."""
    backend = ComputeBackend.cpu()
    names = [extra_buffers.name_of(kind) for kind in backend.extra_buffer_types()]
    backend.close()
    return name in names and not extra_buffers.faults()


def agree(path: Path, loads: list[Load]) -> None:
    shape = ModelShape.of(header.check(path))
    with described(path) as model:
        for load in loads:
            ours = parts(shape, load)
            theirs = breakdown(model, load.n_ctx, load.kv, load.n_ubatch, load.outputs, full=load.swa_full)
            assert ours[:2] == pytest.approx(theirs[:2], rel=AMX if works("AMX") else WEIGHTS_AND_CACHE), load
            assert 0 <= ours[2] - theirs[2] <= min(COMPUTE * theirs[2], MOST), load


@linux_only
def test_laguna_xs_takes_what_llama_cpp_says_at_every_context_and_cache(xs_path: Path):
    contexts = (8192, 16_384, 32_768, 65_536, 131_072, 262_144)
    agree(xs_path, [Load(n_ctx, kv, gpu_layers=0) for n_ctx, kv in product(contexts, KvType)])


@linux_only
def test_laguna_xs_takes_what_llama_cpp_says_at_every_micro_batch_and_number_of_outputs(xs_path: Path):
    sizes = product((128, 512, 1024), (1, 64, 512))
    agree(xs_path, [Load(32_768, KvType.Q8_0, ubatch, 0, outputs=min(out, ubatch)) for ubatch, out in sizes])


@linux_only
def test_laguna_nano_takes_what_llama_cpp_says():
    sizes = product((1024, 4096), KvType, (64, 512), (17, 512))
    agree(NANO, [Load(n_ctx, kv, ubatch, 0, outputs=min(out, ubatch)) for n_ctx, kv, ubatch, out in sizes])


@linux_only
def test_full_length_sliding_caches_are_counted_as_such(xs_path: Path):
    agree(xs_path, [Load(16_384, KvType.Q8_0, ubatch, gpu_layers=0, swa_full=True) for ubatch in (63, 512)])


@linux_only
@pytest.mark.parametrize(
    "changes", [{"head": 64}, {"sliding_heads": 4}, {"kv_heads": 4}, {"n_ff": 768}, {"experts_used": 4}], ids=str
)
def test_other_shapes_of_the_family_take_what_llama_cpp_says(tmp_path: Path, changes: dict[str, int]):
    shape = tiny.Shape(
        n_layer=6, n_embd=256, full_heads=4, sliding_heads=8, n_ff=640, experts=8, expert_ff=256, window=256,
        n_ctx=4096, n_vocab=4096,
    )  # fmt: skip
    path = outlines.write(tmp_path / "other.gguf", replace(shape, **changes), lambda name: outlines.F16)
    agree(path, [Load(4096, KvType.F16, 512, 0, outputs=outputs) for outputs in (17, 512)])


@linux_only
@pytest.mark.parametrize("name", sorted(set(families.NAMES) - set(LAYOUTS)))
def test_what_a_trial_measured_is_what_llama_cpp_says(tmp_path: Path, name: str):
    """A little more, as a cell's own bytes are measured with it. The states that drafts can go back to are counted."""
    path = families.model(name).write(tmp_path / "family.gguf")
    shape = ModelShape.of(header.check(path))
    assert rollback(shape) == (MAX_DRAFT if name in families.ROLLS_BACK else 0)
    with described(path) as model:
        for n_ctx, drafts in product((1024, 2048), (False, True)):
            ours = parts(shape, Load(n_ctx, KvType.F16, 256, 0, outputs=17, hooked=drafts))
            theirs = breakdown(model, n_ctx, KvType.F16, 256, 17, states=rollback(shape) if drafts else 0)
            assert ours[0] == pytest.approx(theirs[0], rel=1e-3)
            assert 1 <= ours[1] / theirs[1] < 1.1
            # Short convolutions are estimated like other recurrent layers.
            assert 1 <= ours[2] / theirs[2] < (2 if name.startswith("lfm2") else 1.7)


def test_states_of_half_a_gigabyte_have_shorter_drafts(tmp_path: Path):
    shape = ModelShape.of(header.check(families.model("qwen35").write(tmp_path / "family.gguf")))
    large = replace(shape, layers=tuple(replace(layer, state=15 << 20) for layer in shape.layers))
    assert [rollback(shape), rollback(large)] == [MAX_DRAFT, 8]


def test_a_token_of_context_costs_only_what_full_layers_keep(xs: ModelShape):
    costs = [kv_per_token(xs, kv) / 1024 for kv in KvType]
    assert costs == [40, 21.25, 11.25]


def card(index: int, free: int) -> DeviceFacts:
    return DeviceFacts(f"CUDA{index}", "a card", "gpu", free, free)


def test_with_every_layer_on_a_gpu_only_the_embeddings_stay_in_ram(xs: ModelShape):
    memory = memory_of(xs, Load(32_768, KvType.Q8_0), [card(0, 24 * GIB)])
    assert memory.host.weights == xs.embedding_size
    assert memory.gpus[0].weights == xs.size - xs.embedding_size


def test_experts_at_home_move_from_the_gpu_to_ram(xs: ModelShape):
    whole = memory_of(xs, Load(32_768, KvType.Q8_0), [card(0, 24 * GIB)])
    some = memory_of(xs, Load(32_768, KvType.Q8_0, experts_in_ram=(1, 2)), [card(0, 24 * GIB)])
    moved = xs.layers[1].experts_size + xs.layers[2].experts_size
    assert whole.gpus[0].weights - some.gpus[0].weights == moved
    assert some.host.weights - whole.host.weights == moved


def test_layers_left_to_the_cpu_keep_their_cache_there(xs: ModelShape):
    half = memory_of(xs, Load(32_768, KvType.Q8_0, gpu_layers=20), [card(0, 24 * GIB)])
    whole = memory_of(xs, Load(32_768, KvType.Q8_0), [card(0, 24 * GIB)])
    assert half.host.kv + half.gpus[0].kv == whole.gpus[0].kv
    assert 0 < half.host.kv < whole.gpus[0].kv


def test_layers_are_spread_by_free_memory_or_as_asked(xs: ModelShape):
    cards = [card(0, 12 * GIB), card(1, 6 * GIB)]
    by_memory = memory_of(xs, Load(8192, KvType.Q8_0), cards)
    as_asked = memory_of(xs, Load(8192, KvType.Q8_0, split=(0.5, 0.5)), cards)
    assert by_memory.gpus[0].weights / by_memory.gpus[1].weights == pytest.approx(2, rel=0.15)
    assert as_asked.gpus[0].weights / as_asked.gpus[1].weights == pytest.approx(1, rel=0.15)
    assert by_memory.sum("weights") == as_asked.sum("weights") == xs.size


def test_cuda_keeps_half_precision_copies_of_a_quantized_cache(xs: ModelShape):
    def compute(name: str, kv: KvType) -> int:
        gpu = DeviceFacts(name, "a card", "gpu", 24 * GIB, 24 * GIB)
        return memory_of(xs, Load(65_536, kv), [gpu]).gpus[0].compute

    copies = 65_536 * 2 * 1024 * 2
    assert compute("CUDA0", KvType.Q8_0) - compute("Vulkan0", KvType.Q8_0) == pytest.approx(copies, rel=0.2)
    assert compute("CUDA0", KvType.F16) == compute("Vulkan0", KvType.F16)


def test_no_device_takes_less_than_nothing_when_no_layer_falls_to_it(xs: ModelShape):
    memory = memory_of(xs, Load(8192, KvType.Q8_0, split=(1.0, 0.0)), [card(0, 24 * GIB), card(1, 1)])
    assert memory.gpus[1] == DeviceMemory("CUDA1")
