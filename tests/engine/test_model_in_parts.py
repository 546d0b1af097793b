"""A model in parts opens by its first file and answers as the same model in one file does."""

from pathlib import Path

import pytest

from laguna_engine.config import PLAIN
from laguna_engine.engine import Engine
from tests.engine import drafters, generic, tiny
from tests.engine.snapshot.chats import EARLIER, options, say


@pytest.fixture(scope="module")
def dflash(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A drafter that reads the embeddings and the output matrix of its target."""
    return drafters.make(drafters.LAGUNA).write(tmp_path_factory.mktemp("drafters") / "tiny-dflash.gguf")


def test_it_answers_and_drafts_as_in_one_file(tmp_path: Path, dflash: Path) -> None:
    file = tiny.never_ends(tiny.laguna())
    whole, parts = file.write(tmp_path / "whole.gguf"), tiny.in_parts(file, tmp_path / "split", 3)
    with Engine.open(options(whole, drafter=dflash)) as one, Engine.open(options(parts[0], drafter=dflash)) as split:
        expected, found = say(one, EARLIER, 30), say(split, EARLIER, 30)
    assert found.tokens == expected.tokens
    assert any(found.drafts)


def test_another_architecture_opens_after_its_trial(tmp_path: Path) -> None:
    first, *_ = tiny.in_parts(generic.model("qwen3"), tmp_path / "split", 2, first_with_tensors=False)
    with Engine.open(options(first, n_ctx=256)) as engine:
        assert say(engine, EARLIER[:20], 5, PLAIN).tokens


def test_a_snapshot_belongs_to_all_parts(tmp_path: Path) -> None:
    file = tiny.never_ends(tiny.laguna())
    parts = tiny.in_parts(file, tmp_path / "split", 2)
    with Engine.open(options(parts[0])) as engine:
        chat = [*EARLIER, *say(engine, EARLIER, 5, PLAIN).tokens, 50]
        engine.snapshot(tmp_path / "snapshots")
    with Engine.open(options(parts[0])) as engine:
        assert engine.restore(tmp_path / "snapshots", chat).tokens > 0
    tiny.in_parts(tiny.never_ends(tiny.laguna(seed=2)), tmp_path / "other", 2)[1].replace(parts[1])
    with Engine.open(options(parts[0])) as engine:
        assert engine.restore(tmp_path / "snapshots", chat).tokens == 0
