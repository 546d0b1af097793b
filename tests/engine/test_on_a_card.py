"""What the engine computes on a card itself, and what it keeps there: `LAGUNA_TUI_CARD=1 pytest` with this file.

Skipped where ggml finds no card, which is also the case without that variable.

Mesa's Vulkan driver for processors is a card to ggml: with the Vulkan plug-in and `mesa-vulkan-drivers` (25.0; version
22.3 crashes while it compiles ggml's kernels) set GGML_VK_VISIBLE_DEVICES=0 too.
"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from laguna_engine.config import PLAIN, Drafting, EngineOptions, KvType, Speculation
from laguna_engine.engine import Engine, Request
from laguna_engine.ggml.device import Device
from laguna_engine.llama.context import Context, ContextOptions, Outputs
from laguna_engine.llama.model import Model
from laguna_engine.llama.sampler import LOGITS, Readout, ReadoutKind
from laguna_engine.llama.taps import CallbackTaps, Taps, TargetShape
from laguna_engine.selfcheck.drafter import compare_drafter
from laguna_engine.selfcheck.target import check_target
from tests.engine import drafters, tiny
from tests.engine.drafters import LAGUNA, Variant
from tests.engine.runs import gather

CARDS = Device.gpus()
pytestmark = [
    pytest.mark.skipif(not CARDS, reason="there is no card that this llama.cpp can use"),
    # A driver compiles each kernel when it is used first; one for processors takes a second for each.
    pytest.mark.timeout(1200),
]

LAYERS, ROWS, OUTPUTS = (0, 2, 3), 32, 16
PROMPT = [40 + (7 * index) % 400 for index in range(24)]
HALF, QUARTER = 1e-2, 0.2
"""Largest normalised squared errors beside the processor: of products in half precision, and of a cache of 4 bits."""


@pytest.fixture(scope="module")
def offloaded(tiny_model_path: Path) -> Iterator[Model]:
    model = Model.open(tiny_model_path, gpu_layers=-1)
    yield model
    model.close()


def options(kv: KvType = KvType.F16) -> ContextOptions:
    return ContextOptions(n_ctx=256, n_batch=64, n_ubatch=ROWS, type_k=kv, type_v=kv, threads=1)


def features(model: Model, taps: Taps | CallbackTaps, kv: KvType = KvType.F16) -> np.ndarray:
    """The hidden states of two batches, the second narrow as a draft is."""
    with closing(Context(model, options(kv), taps)) as context:
        context.decode(PROMPT[:10], 0, Outputs.ALL)
        context.decode(PROMPT[10:18], 10, Outputs.ALL)
        context.synchronize()
        assert taps.features is not None
        return taps.features.read()[:18]


def shape(model: Model) -> TargetShape:
    return TargetShape(model.n_embd, model.n_layer)


def error(found: np.ndarray, expected: np.ndarray) -> float:
    return float(((found - expected) ** 2).sum() / (expected**2).sum())


def test_the_taps_are_on_the_card_and_exactly_those_of_the_callback(offloaded: Model) -> None:
    taps = Taps(LAYERS, shape(offloaded), ROWS, OUTPUTS)
    found = features(offloaded, taps)
    assert taps.backend.device.name == CARDS[-1].name
    expected = features(offloaded, CallbackTaps(LAYERS, shape(offloaded), ROWS, OUTPUTS))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kv", KvType, ids=lambda kv: kv.value)
def test_hidden_states_are_those_of_the_processor(kv: KvType, offloaded: Model, tiny_model: Model) -> None:
    found, expected = (
        features(model, Taps(LAYERS, shape(model), ROWS, OUTPUTS), kv) for model in (offloaded, tiny_model)
    )
    assert error(found, expected) < (QUARTER if kv is KvType.Q4_0 else HALF)


def test_best_tokens_and_candidates_are_those_of_the_logits(offloaded: Model) -> None:
    taps = Taps((), shape(offloaded), ROWS, OUTPUTS)
    with closing(Context(offloaded, options(), taps)) as context:
        context.decode(PROMPT[:10], 0, Outputs.ALL)
        context.synchronize()
        best = taps.best(10).tolist()
        logits = np.stack([taps.logits(row) for row in range(10)])
        assert best == logits.argmax(axis=1).tolist()
        for readout in (Readout(ReadoutKind.CANDIDATES, 40), LOGITS):
            context.clear()
            context.read_out(readout)
            context.decode(PROMPT[:10], 0, Outputs.ALL)
            context.synchronize()
            np.testing.assert_array_equal(np.stack([taps.logits(row) for row in range(10)]), logits)
            if readout is not LOGITS:
                ids, found = taps.candidates(10)
                np.testing.assert_array_equal(np.take_along_axis(logits, ids.astype(np.int64), axis=1), found)
                np.testing.assert_array_equal(np.sort(found, axis=1), np.sort(logits, axis=1)[:, -40:])


@pytest.mark.parametrize(
    "variant",
    [Variant(), LAGUNA, Variant(reduced=300, rank=16, confidence="both")],
    ids=["plain", "laguna", "markov, reduced vocabulary"],
)
def test_a_drafter_agrees_with_float64(variant: Variant, tmp_path: Path) -> None:
    target = tiny.laguna().write(tmp_path / "target.gguf")
    found = compare_drafter(drafters.make(variant).write(tmp_path / "drafter.gguf"), target, CARDS[0])
    assert found.error < 1e-4
    assert found.same > found.drafted // 2


def test_an_engine_on_the_card_drafts_there_and_goes_on_from_a_snapshot(tiny_model_path: Path, tmp_path: Path) -> None:
    drafter = drafters.make(LAGUNA).write(tmp_path / "drafter.gguf")
    asked = EngineOptions(tiny_model_path, n_ctx=512, drafter=drafter, gpu_layers=-1, speculation=Speculation.FAST)
    with Engine.open(asked) as engine:
        assert not engine.info.warnings
        plain = gather(engine.generate(Request(PROMPT * 4, max_tokens=24, drafting=PLAIN)))
        engine.snapshot(tmp_path / "snapshots")
        # The prompt brings the first token; each round commits the drafted one and the next.
        script = tuple([token] for token in plain.tokens[1::2])
        drafted = gather(engine.generate(Request(PROMPT * 4, max_tokens=24, drafting=Drafting(script=script))))
        assert drafted.stats.accepted > 0
        engine.clear()
        # All of it: the sliding window of a shorter prompt is no longer there.
        restored = engine.restore(tmp_path / "snapshots", [*PROMPT * 4, *plain.tokens])
        assert restored.tokens >= len(PROMPT) * 4
        again = gather(engine.generate(Request(PROMPT * 4, max_tokens=24, drafting=PLAIN)))
        assert again.tokens == plain.tokens
        own = gather(engine.generate(Request(PROMPT * 4, max_tokens=24)))
        assert len(own.tokens) == 24


def test_what_llama_cpp_takes_on_the_card_is_counted_there(tiny_model_path: Path) -> None:
    found = check_target(EngineOptions(tiny_model_path, n_ctx=512, gpu_layers=-1, threads=1))
    card = CARDS[0].name
    assert found.buffers[card]["weights"] > 0
    assert found.buffers[card]["kv"] > 0
    assert found.buffers[card]["compute"] > 0
    assert found.taps.right
