"""Adapters of the bundled drafter, switched within one chat of the bundled model.

A switch makes the drafter forget what it has read. What it is not fed again afterwards costs no right answer, only
tokens that stand: so it is acceptance that is looked at, with adapters that add nothing and that mislead.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from laguna_engine.engine import Engine, EngineOptions, Request
from laguna_engine.events import Round
from laguna_engine.gguf import drafter_header as drafters
from tests.engine import tiny
from tests.engine.draft.test_nano_drafter import ASSETS, DRAFTED, OPENING, PRICED, tokens_of
from tests.engine.runs import Run, gather

DRAFTER = ASSETS / "laguna-nano-dflash.gguf"
PARTS = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
RANK, ALPHA = 8, 16.0


def adapter(folder: Path, name: str, size: float) -> tuple[str, Path]:
    """An adapter of every layer's matrices; size: of what it adds, beside the matrices' own."""
    random, shapes = np.random.default_rng(4), drafters.read(DRAFTER).tensors
    file = tiny.GgufFile().set("general.architecture", "dflash").set("general.type", "adapter")
    file.set("adapter.type", "lora").set("adapter.lora.alpha", ALPHA)
    for matrix in (f"blk.{layer}.{part}.weight" for layer in range(3) for part in PARTS):
        width, rows = shapes[matrix].shape
        file.tensors[f"{matrix}.lora_a"] = random.normal(0, width**-0.5, (RANK, width)).astype(np.float32)
        file.tensors[f"{matrix}.lora_b"] = random.normal(0, 1, (rows, RANK)).astype(np.float32) * np.float32(size)
    return name, file.write(folder / f"{name}.gguf")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Laguna Nano with its drafter and two adapters of it."""
    folder = tmp_path_factory.mktemp("adapters")
    adapters = (adapter(folder, "nothing", 0.0), adapter(folder, "misleading", 0.3))
    options = EngineOptions(ASSETS / "laguna-nano.gguf", n_ctx=2048, threads=1, drafter=DRAFTER, adapters=adapters)
    with Engine.open(options) as opened:
        yield opened


@pytest.fixture(scope="module")
def prompt(engine: Engine) -> list[int]:
    """A question, and what the search for it found."""
    return tokens_of(engine, OPENING.format("Where is parse_price defined?") + PRICED)


def answered(engine: Engine, tokens: list[int], adapter: str | None) -> Run:
    return gather(engine.generate(Request(tokens, max_tokens=120, drafting=replace(DRAFTED, adapter=adapter))))


def accepted(run: Run) -> list[int]:
    return [event.accepted for event in run.events if isinstance(event, Round)]


def test_an_adapter_that_adds_nothing_costs_no_token(engine: Engine, prompt: list[int]) -> None:
    engine.clear()
    plain, adapted = (accepted(answered(engine, prompt, name)) for name in (None, "nothing"))
    assert adapted == plain


def test_a_misleading_adapter_costs_tokens_but_changes_no_word(engine: Engine, prompt: list[int]) -> None:
    engine.clear()
    plain, misled = (answered(engine, prompt, name) for name in (None, "misleading"))
    assert misled.tokens == plain.tokens
    assert sum(accepted(misled)) < sum(accepted(plain))


def test_the_drafter_is_itself_again_where_a_misleading_adapter_read_the_prompt(
    engine: Engine, prompt: list[int]
) -> None:
    engine.clear()
    plain = accepted(answered(engine, prompt, None))
    engine.clear()
    _, again = (answered(engine, prompt, name) for name in ("misleading", None))
    assert again.stats.cached_tokens == len(prompt) - 1
    assert accepted(again) == plain
