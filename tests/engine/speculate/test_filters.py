"""The numpy filters against llama.cpp's own chain, on the logits of a real model: same tokens, same probabilities."""

import ctypes
import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from laguna_engine.draft.drafter import Candidates
from laguna_engine.llama.context import Context, ContextOptions
from laguna_engine.llama.model import Model
from laguna_engine.llama.sampler import CANDIDATE, SamplerChain
from laguna_engine.native.library import lib
from laguna_engine.native.structs import TokenData, TokenDataArray
from laguna_engine.sampling import GREEDY, Sampling
from laguna_engine.speculate.filters import Distribution, candidates_needed, filtered, filtered_row, likeliest

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
        assert as_shares(filtered_row(logits, sampling, PROMPT)) == pytest.approx(found, rel=1e-12)


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


OPEN_ENDED = [
    Sampling(temperature, 0, top_p, min_p, penalty, last)
    for temperature, top_p, min_p, (penalty, last) in product(
        (0.7, 3.0), (1.0, 0.95, 0.3, 1e-6), (0.0, 0.02, 1.0), ((1.0, 64), (1.5, 3))
    )
]
SHARP, FLAT = st.sampled_from([1, 3, 5]), st.floats(-9, 9, width=32)
LOGIT = st.one_of(SHARP, FLAT, st.sampled_from([-math.inf, 0.0, -0.0]))


@given(st.lists(LOGIT, min_size=6, max_size=60), st.sampled_from(OPEN_ENDED), st.lists(st.integers(0, 5), max_size=4))
def test_any_row_keeps_the_tokens_that_it_keeps_when_all_of_it_is_sorted(logits, sampling, recent):
    row = np.array(logits, np.float32)
    expected = as_shares(filtered(likeliest(row), sampling, recent))
    assert as_shares(filtered_row(row, sampling, recent)) == pytest.approx(expected, rel=1e-12)


def large_rows() -> dict[str, np.ndarray]:
    random, size = np.random.default_rng(3), 20_000
    peaked = random.normal(0, 3, size).astype(np.float32)
    few = np.full(size, -math.inf, np.float32)
    few[[7, 70, 700]] = 1.0
    return {
        "normal": peaked,
        "steep": peaked * 4,
        "nearly flat": random.normal(0, 1e-3, size).astype(np.float32),
        "all equal": np.zeros(size, np.float32),
        "rounded, so full of ties": peaked.round(),
        "three equals and nothing else": few,
        "all impossible": np.full(size, -math.inf, np.float32),
        "one that is no number": np.append(peaked, np.float32(math.nan)),
        "one that is infinite": np.append(peaked, np.float32(math.inf)),
    }


@pytest.mark.parametrize("name", large_rows())
@pytest.mark.parametrize("sampling", OPEN_ENDED, ids=repr)
def test_a_large_row_keeps_the_tokens_that_it_keeps_when_all_of_it_is_sorted(name, sampling):
    row = large_rows()[name]
    before = row.copy()
    expected, found = (
        Distribution(one.ids[order], one.probabilities[order])
        for one in (filtered(likeliest(row), sampling, PROMPT), filtered_row(row, sampling, PROMPT))
        for order in [np.argsort(one.ids)]
    )
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_allclose(found.probabilities, expected.probabilities, rtol=1e-12)
    np.testing.assert_array_equal(row, before)


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(temperature=0.7),
        Sampling(temperature=0.7, top_p=0.95),
        Sampling(temperature=0.7, min_p=0.05),
        Sampling(temperature=0.7, top_p=0.95, min_p=0.05, repeat_penalty=1.1),
    ],
    ids=repr,
)
def test_only_what_may_be_drawn_is_sorted(sampling, monkeypatch):
    row = np.random.default_rng(3).normal(0, 3, 100_000).astype(np.float32)
    sort, sizes = np.argsort, [0]

    def counted(values, **options):
        sizes.append(len(values))
        return sort(values, **options)

    monkeypatch.setattr(np, "argsort", counted)
    kept = len(filtered_row(row, sampling, PROMPT).ids)
    assert sum(sizes) <= (0 if kept == len(row) else 1.1 * kept + 64)


def test_only_the_remembered_tokens_are_penalised():
    candidates = Candidates(np.array([1, 2, 3], np.int32), np.array([4.0, 3.0, 2.0], np.float32))
    sampling = Sampling(repeat_penalty=100.0, repeat_last_n=1)
    assert filtered(candidates, sampling, [2, 1]).ids.tolist() == [2]
    assert filtered(candidates, sampling, [1, 2]).ids.tolist() == [1]
