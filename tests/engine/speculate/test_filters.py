"""The numpy filters against llama.cpp's own chain, on the logits of a real model: same tokens, same probabilities."""

import ctypes
import math
from itertools import product

import numpy as np
import pytest

from laguna_engine.draft.drafter import Candidates
from laguna_engine.llama.context import Context, ContextOptions
from laguna_engine.llama.model import Model
from laguna_engine.llama.sampler import CANDIDATE, SamplerChain
from laguna_engine.native.library import lib
from laguna_engine.native.structs import TokenData, TokenDataArray
from laguna_engine.sampling import GREEDY, Sampling
from laguna_engine.speculate.filters import Distribution, candidates_needed, filtered, likeliest

TOLERANCE = 1e-5
PROMPT = [40, 41, 42, 41, 40, 43]

ONE_BY_ONE = [
    Sampling(temperature=1.0),
    Sampling(temperature=0.3),
    Sampling(temperature=4.0, top_k=7),
    Sampling(temperature=1.0, top_p=0.8),
    Sampling(temperature=1.0, top_p=0.999),
    Sampling(temperature=1.0, min_p=0.05),
    Sampling(temperature=1.5, repeat_penalty=1.8),
    Sampling(repeat_penalty=1.8),
    GREEDY,
]
TOGETHER = [
    Sampling(temperature, top_k, top_p, min_p, penalty, last)
    for temperature, top_k, top_p, min_p, (penalty, last) in product(
        (0.7, 3.0), (0, 20, 100_000), (1.0, 0.9), (0.0, 0.02), ((1.0, 64), (1.5, 3))
    )
]


@pytest.fixture(scope="module")
def rows(tiny_model: Model) -> list[np.ndarray]:
    """Logits after every token of the prompt; flat and steep ones."""
    context = Context(tiny_model, ContextOptions(n_ctx=256, threads=1))
    found = []
    for position, token in enumerate(PROMPT):
        context.decode([token], position)
        found.append(context.logits())
    context.close()
    return [*found, found[-1] * np.float32(8), found[-1] * np.float32(0.1)]


def from_llama_cpp(logits: np.ndarray, sampling: Sampling, recent: list[int]) -> dict[int, float]:
    """What is left of `logits` after the chain, with the probabilities that its last stage drew by."""
    data = np.zeros(len(logits), CANDIDATE)
    data["id"], data["logit"] = np.arange(len(logits)), logits
    array = TokenDataArray(ctypes.cast(data.ctypes.data, ctypes.POINTER(TokenData)), len(data), -1, False)
    chain = SamplerChain(sampling.stages(), len(logits))
    for token in recent:
        chain.accept(token)
    lib.llama_sampler_apply(chain.handle, array)
    chain.close()
    left = data[: array.size]
    if sampling.temperature == 0:
        return {int(left["id"][array.selected]): 1.0}
    return dict(zip(left["id"].tolist(), left["p"].tolist(), strict=True))


def as_shares(found: Distribution) -> dict[int, float]:
    return dict(zip(found.ids.tolist(), found.probabilities.tolist(), strict=True))


@pytest.mark.parametrize("sampling", ONE_BY_ONE + TOGETHER, ids=repr)
def test_the_filters_keep_and_weigh_what_llama_cpps_chain_does(rows, sampling):
    for logits in rows:
        expected = from_llama_cpp(logits, sampling, PROMPT)
        found = as_shares(filtered(likeliest(logits), sampling, PROMPT))
        assert found.keys() == expected.keys()
        assert found == pytest.approx(expected, abs=TOLERANCE)
        assert sum(found.values()) == pytest.approx(1)


@pytest.mark.parametrize("sampling", [s for s in ONE_BY_ONE + TOGETHER if candidates_needed(s)], ids=repr)
def test_as_many_candidates_as_needed_are_enough(rows, sampling):
    for logits in rows:
        few = likeliest(logits, candidates_needed(sampling))
        assert as_shares(filtered(few, sampling, PROMPT)) == as_shares(filtered(likeliest(logits), sampling, PROMPT))


def test_only_a_draw_from_everything_needs_the_whole_row():
    assert candidates_needed(Sampling(temperature=1.0, top_p=0.9)) is None
    assert candidates_needed(Sampling(temperature=1.0, top_k=20)) == 20
    assert candidates_needed(Sampling(temperature=1.0, top_k=20, repeat_penalty=1.1, repeat_last_n=5)) == 25
    assert candidates_needed(Sampling(top_k=20)) == 1


def test_the_likeliest_come_first_and_the_row_is_left_alone():
    logits = np.array([0.5, 3.0, -1.0, 2.0], np.float32)
    found = likeliest(logits, 3)
    assert found.ids.tolist() == [1, 3, 0]
    assert found.logits.tolist() == [3.0, 2.0, 0.5]
    assert logits.tolist() == [0.5, 3.0, -1.0, 2.0]
    assert likeliest(logits, 9).ids.tolist() == [1, 3, 0, 2]


def test_greedy_takes_the_lowest_id_among_equals_as_llama_cpp_does():
    logits = np.array([1.0, 4.0, 2.0, 4.0], np.float32)
    assert as_shares(filtered(likeliest(logits), GREEDY)) == from_llama_cpp(logits, GREEDY, []) == {1: 1.0}


@pytest.mark.parametrize("broken", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("sampling", [GREEDY, Sampling(temperature=0.8, top_k=3, top_p=0.9, min_p=0.05)], ids=repr)
def test_logits_that_are_no_numbers_still_give_one_token(broken, sampling):
    candidates = Candidates(np.array([7, 8], np.int32), np.full(2, broken, np.float32))
    assert as_shares(filtered(candidates, sampling)) == {7: 1.0}


def test_only_the_remembered_tokens_are_penalised():
    candidates = Candidates(np.array([1, 2, 3], np.int32), np.array([4.0, 3.0, 2.0], np.float32))
    sampling = Sampling(repeat_penalty=100.0, repeat_last_n=1)
    assert filtered(candidates, sampling, [2, 1]).ids.tolist() == [2]
    assert filtered(candidates, sampling, [1, 2]).ids.tolist() == [1]
