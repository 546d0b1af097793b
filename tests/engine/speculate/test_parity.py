"""Drafting changes no answer: byte for byte in strict mode, up to ties that rounding decides in fast mode."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import drafters
import pytest
import tiny
from runs import answer, assert_same_answer, gather
from scripted_drafters import Oracle, use

from laguna_engine.engine import Drafting, Engine, EngineOptions, Request
from laguna_engine.errors import ContextError
from laguna_engine.events import Source, Token
from laguna_engine.llama.model import Model
from laguna_engine.options import Speculation
from laguna_engine.request import PLAIN
from laguna_engine.sampling import Sampling

ROOT = Path(__file__).parents[3]
NANO = ROOT / "assets/nano/laguna-nano.gguf"
PROMPT = [40 + (11 * index) % 400 for index in range(65)]
GATED = drafters.Variant(window=128, causal=True, gate=True, tap_norm=True, context_norm=True)


@pytest.fixture(scope="module")
def drafter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A drafter like Laguna XS-2.1's, for the tiny model."""
    return drafters.make(GATED).write(tmp_path_factory.mktemp("drafters") / "tiny-dflash.gguf")


def test_strict_answers_are_the_plain_ones_byte_for_byte(tiny_model_path: Path, drafter: Path) -> None:
    """Every draft length from 1 to 16, three cache types, right and wrong drafts, greedy and sampled."""
    cases = [f"{tiny_model_path},{drafter},{kv}" for kv in ("f16", "q8_0", "q4_0")] + [f"{NANO},,f16"]
    script = Path(__file__).with_name("strict_child.py")
    environment = {name: value for name, value in os.environ.items() if name != "GGML_CPU_TILED_MM"}
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests/engine")])
    run = subprocess.run(
        [sys.executable, str(script), *cases],
        env={**environment, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["320"], run.stdout[:2000]


def test_strict_mode_is_refused_once_other_kernels_were_used(tiny_model_path: Path) -> None:
    Engine.open(EngineOptions(tiny_model_path, n_ctx=256, threads=1)).close()
    if os.environ.get("GGML_CPU_TILED_MM") != "0":
        with pytest.raises(ContextError, match="--speculation strict"):
            Engine.open(EngineOptions(tiny_model_path, n_ctx=256, speculation=Speculation.STRICT))


@pytest.mark.parametrize("length", [1, 4, 16])
@pytest.mark.parametrize("accuracy", [0.0, 0.5, 1.0])
def test_fast_answers_are_the_plain_ones_up_to_near_ties(
    tiny_model_path: Path, tiny_model: Model, length: int, accuracy: float
) -> None:
    with Engine.open(EngineOptions(tiny_model_path, n_ctx=512, threads=1)) as engine:
        plain = gather(engine.generate(Request(PROMPT, max_tokens=40, drafting=PLAIN))).tokens
        use(engine, Oracle([*PROMPT, *plain], engine.vocab.size, accuracy))
        drafted = gather(engine.generate(Request(PROMPT, max_tokens=40, drafting=Drafting(length=length)))).tokens
    assert_same_answer(tiny_model, PROMPT, drafted, plain)


def test_every_round_commits_a_token_even_if_the_drafter_is_always_wrong(tiny_model_path: Path) -> None:
    with Engine.open(EngineOptions(tiny_model_path, n_ctx=512, threads=1)) as engine:
        use(engine, Oracle([], engine.vocab.size, 0.0))
        run = gather(engine.generate(Request(PROMPT, max_tokens=20, drafting=Drafting(length=8))))
    assert run.stats.generated_tokens == 20
    assert run.stats.rounds == 19


def test_a_perfect_drafter_has_every_draft_accepted(tiny_model_path: Path) -> None:
    with Engine.open(EngineOptions(tiny_model_path, n_ctx=512, threads=1)) as engine:
        plain = gather(engine.generate(Request(PROMPT, max_tokens=33, drafting=PLAIN))).tokens
        use(engine, Oracle([*PROMPT, *plain], engine.vocab.size, 1.0))
        run = gather(engine.generate(Request(PROMPT, max_tokens=33, drafting=Drafting(length=7))))
    assert run.tokens == plain
    assert run.stats.rounds == 4
    assert run.stats.accepted == 28


def test_each_token_says_who_proposed_it(tiny_model_path: Path) -> None:
    with Engine.open(EngineOptions(tiny_model_path, n_ctx=512, threads=1)) as engine:
        plain = gather(engine.generate(Request(PROMPT, max_tokens=9, drafting=PLAIN))).tokens
        use(engine, Oracle([*PROMPT, *plain], engine.vocab.size, 1.0))
        events = engine.generate(Request(PROMPT, max_tokens=9, drafting=Drafting(length=3)))
        sources = [event.source for event in events if isinstance(event, Token)]
    drafted = [Source.SUFFIX] * 3 + [Source.TARGET]
    assert sources == [Source.TARGET, *drafted, *drafted]


def test_the_same_seed_draws_the_same_answer_with_drafts_and_without(tiny_model_path: Path) -> None:
    sampling = Sampling(temperature=0.9, top_k=20, seed=11)
    with Engine.open(EngineOptions(tiny_model_path, n_ctx=512, threads=1)) as engine:
        runs = []
        for drafting in (PLAIN, Drafting(length=2)):
            request = Request(PROMPT, sampling=sampling, max_tokens=12, drafting=drafting)
            runs.append(gather(engine.generate(request)))
    assert runs[0].tokens[:4] == runs[1].tokens[:4]
    assert runs[0].stats.seed == runs[1].stats.seed == 11


def test_a_drawn_seed_is_told_so_that_the_answer_can_be_made_again(tiny_model_path: Path) -> None:
    with Engine.open(EngineOptions(tiny_model_path, n_ctx=512, threads=1)) as engine:
        drawn = Request(PROMPT, sampling=Sampling(temperature=1.5), max_tokens=10, drafting=PLAIN)
        first = gather(engine.generate(drawn))
        engine.clear()
        again = replace(drawn, sampling=Sampling(temperature=1.5, seed=first.stats.seed))
        assert gather(engine.generate(again)).tokens == first.tokens


def test_a_replay_finds_the_answer_identical(tiny_model_path: Path) -> None:
    told: list[int] = []
    with Engine.open(EngineOptions(tiny_model_path, n_ctx=512, threads=1, speculation=Speculation.OFF)) as engine:
        tokens = answer(engine, PROMPT, 30)
        replay = engine.replay(PROMPT, tokens, progress=told.append)
    assert replay.identical
    assert replay.compared == 30
    assert told == list(range(1, 31))


def test_a_replay_says_where_an_answer_departs_and_by_how_much(tiny_model_path: Path) -> None:
    with Engine.open(EngineOptions(tiny_model_path, n_ctx=512, threads=1)) as engine:
        tokens = answer(engine, PROMPT, 30)
        forged = [*tokens[:12], (tokens[12] + 1) % 512, *tokens[13:]]
        replay = engine.replay(PROMPT, forged)
    assert not replay.identical
    assert replay.compared == 12
    assert replay.divergence is not None
    assert (replay.divergence.index, replay.divergence.found) == (12, tokens[12])
    assert replay.divergence.margin > 0


def test_without_speculation_no_rounds_are_told(tiny_model_path: Path) -> None:
    with Engine.open(EngineOptions(tiny_model_path, n_ctx=512, threads=1, speculation=Speculation.OFF)) as engine:
        run = gather(engine.generate(Request(PROMPT, max_tokens=5)))
    assert run.stats.rounds == 0
    assert run.stats.tokens_per_round is None


def test_a_model_without_sliding_windows_is_drafted_for_too(tmp_path: Path) -> None:
    file = tiny.laguna(tiny.Shape(n_layer=1)).remove("laguna.attention.sliding_window")
    path = file.write(tmp_path / "full.gguf")
    with Engine.open(EngineOptions(path, n_ctx=512, threads=1)) as engine:
        plain = gather(engine.generate(Request(PROMPT, max_tokens=20, drafting=PLAIN))).tokens
        use(engine, Oracle([*PROMPT, *plain], engine.vocab.size, 1.0))
        assert gather(engine.generate(Request(PROMPT, max_tokens=20, drafting=Drafting(length=5)))).tokens == plain
