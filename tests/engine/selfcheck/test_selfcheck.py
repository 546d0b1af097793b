"""The checks of a user's machine find the bundled pair right, and notice what is wrong."""

from dataclasses import replace
from pathlib import Path

import pytest

from laguna_engine.config import EngineOptions, KvType
from laguna_engine.fit.memory import Load, memory_of
from laguna_engine.fit.model_shape import ModelShape
from laguna_engine.ggml.device import Device
from laguna_engine.gguf import header
from laguna_engine.selfcheck import drafter
from laguna_engine.selfcheck.drafter import compare_drafter
from laguna_engine.selfcheck.target import HOST, check_target
from tests.engine import drafters, tiny
from tests.engine.drafters import Variant

ASSETS = Path(__file__).parents[3] / "assets/nano"
NANO, NANO_DRAFTER = ASSETS / "laguna-nano.gguf", ASSETS / "laguna-nano-dflash.gguf"
LOGGED, ESTIMATED = 0.01, 0.25
"""llama.cpp logs its buffers in hundredths of a MiB; compute buffers are estimated from above."""


def test_the_bundled_drafter_agrees_with_float64() -> None:
    found = compare_drafter(NANO_DRAFTER, NANO, Device.cpu())
    assert found.error < 1e-4
    assert found.same == found.drafted == 7 * len(drafter.LENGTHS)


@pytest.mark.parametrize(
    "variant", [Variant(), Variant(own_embedding=False, own_head=False), Variant(reduced=300), drafters.LAGUNA], ids=str
)
def test_whatever_a_drafter_shares_with_its_target_is_found(variant: Variant, tmp_path: Path) -> None:
    target = tiny.laguna().write(tmp_path / "target.gguf")
    path = drafters.make(variant).write(tmp_path / "drafter.gguf")
    found = compare_drafter(path, target, Device.cpu())
    assert found.error < 1e-4
    assert found.same == found.drafted


def test_a_drafter_that_computes_something_else_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    right = drafter.expected_draft
    monkeypatch.setattr(
        drafter, "expected_draft", lambda shape, *rest: right(replace(shape, rope_base=2 * shape.rope_base), *rest)
    )
    assert compare_drafter(NANO_DRAFTER, NANO, Device.cpu()).error > 2e-3


def test_llama_cpp_takes_what_is_estimated_and_its_taps_are_right() -> None:
    found = check_target(EngineOptions(NANO, n_ctx=4096, drafter=NANO_DRAFTER, threads=1))
    estimated = memory_of(ModelShape.of(header.check(NANO)), Load(4096, KvType.F16, gpu_layers=0, outputs=64)).host
    taken = found.buffers[HOST]
    for part in ("weights", "kv"):
        assert taken[part] == pytest.approx(getattr(estimated, part), rel=LOGGED)
    assert taken["compute"] <= estimated.compute <= taken["compute"] * (1 + ESTIMATED)
    assert found.taps.right
    assert (found.taps.error, found.taps.same) == (0.0, found.taps.rows)
