"""Sampling settings: validation, the chains they become, their effect on an answer."""

import math
from pathlib import Path

import pytest

from laguna_engine.config import GREEDY, Sampling
from laguna_engine.engine import Engine, EngineOptions, Request
from laguna_engine.errors import RequestError
from laguna_engine.llama.sampler import stages_of
from tests.engine.runs import gather

PROMPT = list(range(40, 60))


@pytest.fixture(scope="module")
def engine(tiny_model_path: Path):
    with Engine.open(EngineOptions(tiny_model_path, n_ctx=512, threads=1)) as engine:
        yield engine


def tokens(engine: Engine, sampling: Sampling, prompt: list[int] = PROMPT, count: int = 40) -> list[int]:
    return gather(engine.generate(Request(prompt, sampling, max_tokens=count))).tokens


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": -0.1},
        {"temperature": math.nan},
        {"temperature": math.inf},
        {"top_k": -1},
        {"top_p": 0.0},
        {"top_p": 1.1},
        {"min_p": -0.1},
        {"min_p": math.nan},
        {"repeat_penalty": 0.9},
        {"repeat_last_n": -1},
        {"top_k": 2**31},
        {"repeat_last_n": 2**31},
        {"seed": -1},
        {"seed": 2**32 - 1},
    ],
    ids=str,
)
def test_a_setting_out_of_range_is_refused_by_name(wrong):
    with pytest.raises(RequestError, match=f"{next(iter(wrong))} is .*; it must be"):
        Sampling(**wrong)


def test_the_stages_come_in_llama_cpps_order():
    full = Sampling(0.7, top_k=20, top_p=0.9, min_p=0.05, repeat_penalty=1.1, repeat_last_n=32, seed=7)
    assert stages_of(full, 512) == [
        ("penalties", (512, 32, 1.1, 0.0, 0.0)),
        ("top_k", (20,)),
        ("top_p", (0.9, 1)),
        ("min_p", (0.05, 1)),
        ("temp", (0.7,)),
    ]


def test_stages_that_do_nothing_are_left_out():
    assert stages_of(GREEDY, 512) == [("greedy", ())]
    assert stages_of(Sampling(temperature=1.0, seed=1), 512) == [("temp", (1.0,))]


def test_greedy_keeps_the_penalty_and_drops_the_filters():
    penalised = Sampling(top_k=5, top_p=0.5, repeat_penalty=1.3)
    assert stages_of(penalised, 512) == [("penalties", (512, 64, 1.3, 0.0, 0.0)), ("greedy", ())]


def test_the_same_seed_gives_the_same_answer_and_another_one_another(engine):
    warm = Sampling(temperature=2.0, seed=11)
    assert tokens(engine, warm) == tokens(engine, warm)
    assert tokens(engine, warm) != tokens(engine, Sampling(temperature=2.0, seed=12))


def test_without_a_seed_answers_differ(engine):
    assert tokens(engine, Sampling(temperature=2.0)) != tokens(engine, Sampling(temperature=2.0))


def test_one_candidate_is_greedy_at_any_temperature(engine):
    assert tokens(engine, Sampling(temperature=5.0, top_k=1)) == tokens(engine, GREEDY)


def test_the_penalty_counts_the_end_of_the_prompt_and_no_further_than_asked(engine):
    loop = tokens(engine, GREEDY)
    at, back = next((i, i - j) for i in range(len(loop)) for j in range(i) if loop[i] == loop[j])
    # A prompt after which the model repeats a token that stands `back` tokens before.
    prompt = PROMPT + loop[:at]
    assert tokens(engine, GREEDY, prompt, count=1) == [loop[at]]
    blind = Sampling(repeat_penalty=100.0, repeat_last_n=back - 1)
    seeing = Sampling(repeat_penalty=100.0, repeat_last_n=back)
    assert tokens(engine, blind, prompt, count=1) == [loop[at]]
    assert tokens(engine, seeing, prompt, count=1) != [loop[at]]


def test_the_penalty_follows_the_answer(engine):
    far = Sampling(repeat_penalty=100.0, repeat_last_n=2)
    near = Sampling(repeat_penalty=100.0, repeat_last_n=64)
    found, other = tokens(engine, far), tokens(engine, near)
    assert all(a not in found[max(0, i - 2) : i] for i, a in enumerate(found))
    assert len(set(other)) == len(other)
