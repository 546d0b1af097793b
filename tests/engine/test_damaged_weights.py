"""Weights with NaN are found on opening a model: a target is refused, a drafter is left out."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from laguna_engine.config import Speculation
from laguna_engine.draft.dflash import DFlash
from laguna_engine.engine import Drafting, Engine, EngineOptions, Request
from laguna_engine.errors import EngineError, ModelFileError
from laguna_engine.events import Round
from tests.engine import drafters, tiny
from tests.engine.runs import gather

PROMPT = [40 + (11 * index) % 400 for index in range(65)]
VARIANT = drafters.Variant(window=64, causal=True)
MARKOV = drafters.Variant(rank=16, confidence="both")
TARGET_PARTS = ["output_norm.weight", "blk.0.attn_norm.weight", "blk.2.attn_v.weight", "blk.3.ffn_down_shexp.weight"]
DRAFTER_PARTS = ["fc.weight", "output_norm.weight", "blk.0.attn_k.weight", "blk.1.ffn_down.weight"]


def options(model: Path, **settings: object) -> EngineOptions:
    return replace(EngineOptions(model, n_ctx=512, n_ubatch=64, threads=1), **settings)


def harmed(file: tiny.GgufFile, name: str, value: float) -> tiny.GgufFile:
    file.tensors[name][...] = value
    return file


@pytest.mark.parametrize("mode", [Speculation.OFF, Speculation.FAST])
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", TARGET_PARTS)
def test_a_target_whose_weights_give_no_numbers_is_refused(
    tmp_path: Path, name: str, value: float, mode: Speculation
) -> None:
    path = harmed(tiny.laguna(), name, value).write(tmp_path / "nan.gguf")
    with pytest.raises(ModelFileError) as error:
        Engine.open(options(path, speculation=mode))
    assert str(error.value) == f"{path}: its weights are not finite numbers; download it again"


def test_weights_that_are_large_but_numbers_are_not_refused(tmp_path: Path) -> None:
    path = harmed(tiny.laguna(), "blk.0.attn_norm.weight", 50.0).write(tmp_path / "large.gguf")
    with Engine.open(options(path)) as engine:
        assert engine.info.warnings == ()


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("variant", [VARIANT, MARKOV], ids=["dflash", "dspark"])
@pytest.mark.parametrize("name", DRAFTER_PARTS)
def test_a_drafter_whose_weights_give_no_numbers_is_left_out(
    tmp_path: Path, tiny_model_path: Path, name: str, variant: drafters.Variant, value: float
) -> None:
    path = harmed(drafters.make(variant), name, value).write(tmp_path / "nan-drafter.gguf")
    with Engine.open(options(tiny_model_path, drafter=path)) as engine:
        assert engine.info.warnings == (
            "the drafter nan-drafter.gguf is not used: its weights are not finite numbers; download it again",
        )
        assert engine.info.drafter == ""
        assert len(gather(engine.generate(Request(PROMPT, max_tokens=5))).tokens) == 5


@pytest.mark.parametrize("name", ["markov_w2.weight", "conf_proj.weight"])
def test_so_is_one_whose_second_head_gives_none(tmp_path: Path, tiny_model_path: Path, name: str) -> None:
    path = harmed(drafters.make(MARKOV), name, np.nan).write(tmp_path / "nan-drafter.gguf")
    with Engine.open(options(tiny_model_path, drafter=path)) as engine:
        assert "its weights are not finite numbers" in engine.info.warnings[0]


@pytest.mark.parametrize("variant", [VARIANT, MARKOV], ids=["dflash", "dspark"])
def test_a_whole_drafter_is_used_as_if_it_had_never_been_tried(
    tmp_path: Path, tiny_model_path: Path, variant: drafters.Variant
) -> None:
    path = drafters.make(variant).write(tmp_path / "drafter.gguf")
    with Engine.open(options(tiny_model_path, drafter=path)) as engine:
        assert engine.info.warnings == ()
        assert engine.info.drafter != ""


@pytest.mark.parametrize("matrix", ["blk.0.attn_k.weight", "blk.1.ffn_down.weight"])
def test_an_adapter_whose_weights_give_no_numbers_is_left_out_and_the_drafter_drafts_as_it_is(
    tmp_path: Path, tiny_model_path: Path, matrix: str
) -> None:
    drafter = drafters.make(VARIANT).write(tmp_path / "drafter.gguf")
    bad = harmed(drafters.adapter(VARIANT, matrix), f"{matrix}.lora_b", np.nan).write(tmp_path / "bad.gguf")
    good = drafters.adapter(VARIANT, matrix).write(tmp_path / "good.gguf")
    asked = options(tiny_model_path, drafter=drafter, adapters=(("bad", bad), ("good", good)))

    def drafted(engine: Engine, adapter: str | None) -> list[int]:
        drafting = Drafting(sources=frozenset({DFlash.source}), length=3, adapter=adapter)
        engine.clear()
        run = gather(engine.generate(Request(PROMPT, max_tokens=9, drafting=drafting)))
        return [each.drafted for each in run.events if isinstance(each, Round)]

    with Engine.open(asked) as engine:
        assert engine.info.warnings == (
            "the adapter bad.gguf is not used: its weights are not finite numbers; download it again",
        )
        assert drafted(engine, "bad") == drafted(engine, None) != []
        assert drafted(engine, "good")
        with pytest.raises(EngineError) as error:
            drafted(engine, "unknown")
        assert str(error.value) == "the drafter has no adapter 'unknown'; choose one of: bad, good"


def test_the_adapter_of_a_drafter_that_is_left_out_is_no_error(tmp_path: Path, tiny_model_path: Path) -> None:
    drafter = harmed(drafters.make(VARIANT), "fc.weight", np.nan).write(tmp_path / "drafter.gguf")
    adapter = drafters.adapter(VARIANT, "blk.0.attn_k.weight").write(tmp_path / "mine.gguf")
    with Engine.open(options(tiny_model_path, drafter=drafter, adapters=(("mine", adapter),))) as engine:
        request = Request(PROMPT, max_tokens=4, drafting=Drafting(adapter="mine"))
        assert len(gather(engine.generate(request)).tokens) == 4
        with pytest.raises(EngineError) as error:
            gather(engine.generate(replace(request, drafting=Drafting(adapter="other"))))
        assert str(error.value) == "there is no drafter that 'other' could adapt; open one with the model"
