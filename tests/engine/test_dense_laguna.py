"""A Laguna without experts, as the export of XS.2 has them: all layers dense, padded to the width of the first one."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from laguna_engine.config import PLAIN
from laguna_engine.engine import Engine
from laguna_engine.fit.devices import simulated_machine
from laguna_engine.fit.model_shape import ModelShape
from laguna_engine.fit.plan import choose_plan
from laguna_engine.gguf import header
from laguna_engine.llama.model import Model
from tests.engine import drafters, tiny
from tests.engine.fit import outlines
from tests.engine.runs import assert_same_answer
from tests.engine.snapshot.chats import EARLIER, options, say

DENSE = replace(tiny.Shape(), dense=tiny.Shape().n_layer)


@pytest.fixture(scope="module")
def dense(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.never_ends(tiny.laguna(DENSE)).write(tmp_path_factory.mktemp("models") / "dense.gguf")


def test_it_fits_on_a_small_card(tmp_path: Path) -> None:
    shape = replace(tiny.XS, dense=tiny.XS.n_layer)
    found = ModelShape.of(header.check(outlines.write(tmp_path / "dense.gguf", shape, outlines.q4_k_m)))
    assert found.experts_size == 0
    assert 2e9 < found.size < 3e9
    plan = choose_plan(found, None, simulated_machine("6GB"))
    assert plan.whole
    assert plan.load.n_ctx >= 32_768


def test_it_answers_drafts_and_resumes(tmp_path: Path, dense: Path) -> None:
    dflash = drafters.make(drafters.LAGUNA).write(tmp_path / "dflash.gguf")
    with Engine.open(options(dense, drafter=dflash)) as engine:
        drafted = say(engine, EARLIER, 30)
    with Engine.open(options(dense)) as engine:
        plain = say(engine, EARLIER, 30, PLAIN)
        chat = [*EARLIER, *plain.tokens, 50]
        engine.snapshot(tmp_path / "snapshots")
        following = say(engine, chat, 10, PLAIN)
    assert any(drafted.drafts)
    with closing(Model.open(dense)) as model:
        assert_same_answer(model, EARLIER, drafted.tokens, plain.tokens)
    with Engine.open(options(dense)) as engine:
        assert engine.restore(tmp_path / "snapshots", chat).tokens > 0
        assert say(engine, chat, 10, PLAIN).tokens == following.tokens
