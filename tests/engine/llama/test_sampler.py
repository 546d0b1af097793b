"""Sampler chains: settings in, tokens out."""

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from laguna_engine.config import GREEDY, Drafting, EngineOptions, Sampling
from laguna_engine.engine import Engine, Request
from laguna_engine.events import Token
from laguna_engine.llama.context import Context, ContextOptions
from laguna_engine.llama.model import Model
from laguna_engine.llama.sampler import SamplerChain
from tests.engine import tiny

VOCABULARY = 512


@pytest.fixture(scope="module")
def context(tiny_model: Model) -> Iterator[Context]:
    context = Context(tiny_model, ContextOptions(n_ctx=256, threads=1))
    context.decode([5, 6, 7], 0)
    yield context
    context.close()


def sample(context: Context, sampling: Sampling, seen: tuple[int, ...] = ()) -> int:
    chain = SamplerChain(sampling, VOCABULARY)
    for token in seen:
        chain.accept(token)
    token = context.sample(chain)
    chain.close()
    return token


@pytest.mark.parametrize("narrowest", [{"top_k": 1}, {"top_p": 1e-6}, {"min_p": 1.0}, {"temperature": 0.0}], ids=str)
def test_the_narrowest_setting_of_each_stage_is_greedy(context: Context, narrowest: dict[str, Any]) -> None:
    best = int(context.logits().argmax())
    settings = {"temperature": 1.0, **narrowest}
    assert {sample(context, Sampling(**settings, seed=seed)) for seed in range(8)} == {best}


def test_a_penalty_makes_a_seen_token_less_likely(context: Context) -> None:
    best = int(context.logits().argmax())
    penalised = Sampling(repeat_penalty=100.0)
    assert sample(context, penalised) == best
    assert sample(context, penalised, seen=(best,)) != best


def test_two_chains_of_one_seed_select_alike(context: Context) -> None:
    one, two = (SamplerChain(Sampling(2.0, seed=3), VOCABULARY) for _ in range(2))
    assert [context.sample(one) for _ in range(8)] == [context.sample(two) for _ in range(8)]
    one.close()
    one.close()
    two.close()


def test_logits_that_are_no_numbers_still_give_a_token(tmp_path: Path) -> None:
    file = tiny.laguna()
    file.tensors["output_norm.weight"][:] = math.nan
    model = Model.open(file.write(tmp_path / "nan.gguf"))
    context = Context(model, ContextOptions(n_ctx=256, threads=1))
    context.decode([5, 6, 7], 0)
    for sampling in (GREEDY, Sampling(1.0, seed=1), Sampling(0.8, top_k=20, top_p=0.9, min_p=0.05, seed=1)):
        assert 0 <= sample(context, sampling) < VOCABULARY
    model.close()


@pytest.mark.parametrize("drafting", [Drafting(enabled=False), Drafting(length=4)], ids=["plain", "drafts"])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_logprobs_are_those_of_the_logits_whatever_was_drafted(
    tiny_model_path: Path, drafting: Drafting, temperature: float
):
    prompt = list(range(40, 60)) * 2
    sampling = Sampling(temperature=temperature, seed=3)
    with Engine.open(EngineOptions(tiny_model_path, n_ctx=512, threads=1)) as engine:
        request = Request(prompt, sampling, max_tokens=12, drafting=drafting, logprobs=3)
        tokens = [event for event in engine.generate(request) if isinstance(event, Token)]
        silent = [event for event in engine.generate(replace(request, logprobs=None)) if isinstance(event, Token)]
        assert [each.id for each in silent] == [each.id for each in tokens]
        assert {each.logprobs for each in silent} == {None}
        for place, token in enumerate(tokens):
            noted = token.logprobs
            assert noted is not None
            assert len(noted.top) == 3
            assert noted.chosen <= noted.top[0][1] < 0
            best, second = noted.top[0][0], noted.top[1][0]
            said = [each.id for each in tokens[:place]]
            margin = engine._margin([*prompt, *said], second, best)
            assert noted.top[0][1] - noted.top[1][1] == pytest.approx(margin, abs=1e-3)
            if temperature == 0:
                assert token.id == best
