"""Drafting changes no answer: byte for byte in strict mode, up to ties that rounding decides in fast mode."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from laguna_engine import loader
from laguna_engine.config import PLAIN, Sampling, Speculation
from laguna_engine.draft.suffix import SuffixDrafter
from laguna_engine.engine import Drafting, Engine, EngineOptions, Request
from laguna_engine.errors import ContextError
from laguna_engine.events import Cause, Event, Round, Source, Token
from laguna_engine.ggml.device import Device
from laguna_engine.ggml.tensor import Type
from laguna_engine.llama.model import Model
from laguna_engine.native.cpu_determinism import fixed_rows
from laguna_engine.parity import replay
from tests.engine import drafters, tiny
from tests.engine.drafting import quantized
from tests.engine.runs import answer, assert_same_answer, gather, in_a_strict_process
from tests.engine.scripted_drafters import Oracle, use

ROOT = Path(__file__).parents[3]
NANO = ROOT / "assets/nano/laguna-nano.gguf"
PROMPT = [40 + (11 * index) % 400 for index in range(65)]
WIDE = tiny.Shape(n_layer=3, n_embd=256, n_ff=256, expert_ff=256, full_heads=4, sliding_heads=8, kv_heads=4, head=64)
"""Rows of whole K-quant blocks."""

GATED = drafters.Variant(window=128, causal=True, gate=True, tap_norm=True, context_norm=True)


@pytest.fixture(scope="module")
def drafter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A drafter like Laguna XS-2.1's, for the tiny model."""
    return drafters.make(GATED).write(tmp_path_factory.mktemp("drafters") / "tiny-dflash.gguf")


def test_strict_answers_are_the_plain_ones_byte_for_byte(tiny_model_path: Path, drafter: Path) -> None:
    """Every draft length from 1 to 16, three cache types, right and wrong drafts, drawn ones and such that are cut at
    random, answers greedy and sampled, free and constrained."""
    cases = [f"{tiny_model_path},{drafter},{kv}" for kv in ("f16", "q8_0", "q4_0")] + [f"{NANO},,f16"]
    assert strictly("strict_child.py", *cases).split() == ["560"]


@pytest.mark.parametrize(("kv", "histories"), [("f16", 25), ("q8_0", 10), ("q4_0", 10)])
def test_a_strict_answer_and_its_logits_do_not_depend_on_what_was_asked_before(
    tiny_model_path: Path, kv: str, histories: int
) -> None:
    """Random histories of prompts that reuse, rewind, extend and give up, with other splits and drafts."""
    assert int(strictly("history_child.py", str(tiny_model_path), kv, str(histories))) >= histories


@pytest.mark.parametrize("kind", [Type.Q8_0, Type.Q4_K], ids=lambda kind: kind.name)
def test_a_strict_answer_of_quantized_weights_does_not_depend_on_what_was_asked_before(
    tmp_path: Path, kind: Type
) -> None:
    path = quantized(tiny.laguna(WIDE), kind).write(tmp_path / "quantized.gguf")
    assert int(strictly("history_child.py", str(path), "f16", "15")) >= 15


def strictly(script: str, *arguments: str) -> str:
    """What a script in this folder prints, run in a process that has computed nothing yet."""
    return in_a_strict_process(Path(__file__).with_name(script), *arguments)


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if nothing had been computed in this process yet."""
    monkeypatch.setattr(loader, "use_fixed_kernels", lambda: True)


def test_a_strict_prompt_is_read_in_pieces_too_small_for_tiled_attention(strict: None, tiny_model_path: Path) -> None:
    with Engine.open(EngineOptions(tiny_model_path, 512, threads=1, speculation=Speculation.STRICT)) as engine:
        assert engine._sequence.context.n_ubatch == fixed_rows(device.kind for device in Device.all()) < 64
        assert not engine.info.warnings


def test_pieces_are_smaller_still_where_blas_would_take_the_products() -> None:
    assert (fixed_rows(["cpu"]), fixed_rows(["cpu", "accel"])) == (63, 31)


def test_strict_on_a_gpu_says_what_it_cannot_promise(
    strict: None, tiny_model_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Device, "gpus", lambda: [Device.cpu()])
    options = EngineOptions(tiny_model_path, 512, threads=1, gpu_layers=-1, speculation=Speculation.STRICT)
    with Engine.open(options) as engine:
        assert engine._sequence.context.n_ubatch == 512
        assert "only on the CPU" in engine.info.warnings[0]
    with Engine.open(replace(options, gpu_layers=0)) as engine:
        assert engine._sequence.context.n_ubatch < 64
        assert not engine.info.warnings


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
    drafted = [SuffixDrafter.source] * 3 + [Source.TARGET]
    assert sources == [Source.TARGET, *drafted, *drafted]


def test_in_fast_mode_the_same_seed_begins_the_same_answer_with_drafts_and_without(tiny_model_path: Path) -> None:
    """Until rounding decides a draw; in strict mode all of it is the same (`strict_child`)."""
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
        proof = engine.replay(PROMPT, tokens, progress=told.append)
    assert proof.identical
    assert proof.compared == 30
    assert told == list(range(1, 31))


def test_a_replay_says_where_an_answer_departs_and_by_how_much(tiny_model_path: Path) -> None:
    with Engine.open(EngineOptions(tiny_model_path, n_ctx=512, threads=1)) as engine:
        tokens = answer(engine, PROMPT, 30)
        forged = [*tokens[:12], (tokens[12] + 1) % 512, *tokens[13:]]
        proof = engine.replay(PROMPT, forged)
    assert not proof.identical
    assert proof.compared == 12
    assert proof.divergence is not None
    assert (proof.divergence.index, proof.divergence.found) == (12, tokens[12])
    assert proof.divergence.margin > 0


def test_the_margin_of_a_drawn_token_has_the_noise_of_the_draw(tiny_model_path: Path) -> None:
    """Plain decoding draws the token that is first with it, so no other one is ahead of that."""
    sampling = Sampling(temperature=0.9, top_k=0, top_p=1.0, min_p=0.0, seed=11)
    with Engine.open(EngineOptions(tiny_model_path, n_ctx=512, threads=1)) as engine:
        drawn = gather(engine.generate(Request(PROMPT, sampling=sampling, max_tokens=8, drafting=PLAIN))).tokens
        for index in range(8):
            likeliest = gather(engine.generate(Request([*PROMPT, *drawn[:index]], max_tokens=1))).tokens
            if likeliest == drawn[index : index + 1]:
                continue
            found = engine.replay(PROMPT, [*drawn[:index], *likeliest], sampling).divergence
            assert found is not None
            assert (found.index, found.found) == (index, drawn[index])
            assert found.margin > 0


def drafted_answer(engine: Engine, count: int) -> tuple[list[int], list[tuple[int, int]]]:
    """An answer whose drafts of three tokens are half right, and what each round drafted and accepted."""
    plain = answer(engine, PROMPT, count)
    use(engine, Oracle([*PROMPT, *plain], engine.vocab.size, 0.5))
    run = gather(engine.generate(Request(PROMPT, max_tokens=count, drafting=Drafting(length=3))))
    return run.tokens, [(event.drafted, event.accepted) for event in run.events if isinstance(event, Round)]


def test_a_script_drafts_what_it_says_and_teaches_nothing(tiny_model_path: Path) -> None:
    with Engine.open(EngineOptions(tiny_model_path, n_ctx=512, threads=1)) as engine:
        plain = answer(engine, PROMPT, 12)
        learned = engine.economy()
        script = ([*plain[1:4]], [], [plain[6], (plain[7] + 1) % 512, 1])
        run = gather(engine.generate(Request(PROMPT, max_tokens=12, drafting=Drafting(script=script))))
        assert engine.economy() == learned
    rounds = [(event.drafted, event.accepted) for event in run.events if isinstance(event, Round)]
    assert run.tokens == plain
    assert rounds[:4] == [(3, 3), (0, 0), (3, 1), (0, 0)]


def test_an_answer_that_no_batch_width_brings_back_is_not_blamed_on_verifying(tiny_model_path: Path) -> None:
    with Engine.open(EngineOptions(tiny_model_path, n_ctx=512, threads=1)) as engine:
        tokens, rounds = drafted_answer(engine, 30)
        forged = [*tokens[:12], (tokens[12] + 1) % 512, *tokens[13:]]
        causes = [engine.replay(PROMPT, forged, rounds=how).divergence.cause for how in (rounds, (), None)]
    assert any(drafted for drafted, _ in rounds)
    assert causes == [Cause.READ, Cause.READ, None]


@pytest.mark.parametrize("at", [1, 5, 6, 7, 17, 29])
def test_an_answer_that_comes_back_with_its_own_batch_widths_is_blamed_on_verifying(
    tiny_model_path: Path, at: int
) -> None:
    """Plain decoding is made to prefer another token at one place, as rounding would."""
    with Engine.open(EngineOptions(tiny_model_path, n_ctx=512, threads=1)) as engine:
        tokens, rounds = drafted_answer(engine, 30)

        def generate(request: Request) -> Iterator[Event]:
            for event in engine.generate(request):
                swapped = isinstance(event, Token) and event.index == at and not request.drafting.enabled
                yield replace(event, id=(event.id + 1) % 512) if swapped else event

        found = replay(generate, engine._margin, Request(PROMPT), tokens, lambda _: None, rounds).divergence
    assert found is not None
    assert (found.index, found.expected, found.cause) == (at, tokens[at], Cause.VERIFIED)


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
