"""Which drafted tokens stand, and that what is committed is distributed as the target says."""

import ctypes
import random
from bisect import bisect
from collections import Counter
from itertools import accumulate, product

import numpy as np
import pytest

from laguna_engine.config import Sampling
from laguna_engine.llama.context import Context, ContextOptions, Outputs
from laguna_engine.llama.model import Model
from laguna_engine.llama.sampler import CANDIDATE, SamplerChain, gumbel
from laguna_engine.native.library import lib
from laguna_engine.native.structs import TokenData, TokenDataArray
from laguna_engine.speculate.speculator import accept
from tests.engine.speculate.fit import DRAWS, assert_fits

VOCABULARY = 16
SEEDS = 60_000


def distribution(weights) -> np.ndarray:
    array = np.asarray(weights, np.float64)
    return array / array.sum()


def one_hot(token: int) -> np.ndarray:
    return distribution([index == token for index in range(VOCABULARY)])


GEOMETRIC = distribution([0.7**token for token in range(VOCABULARY)])
UNIFORM = distribution([1] * VOCABULARY)
LOWER = distribution([1] * 8 + [0] * 8)
UPPER = distribution([0] * 8 + [3] * 4 + [1] * 4)
WITH_HOLES = distribution([token % 3 for token in range(VOCABULARY)])
NEARLY_GEOMETRIC = distribution(GEOMETRIC + 1e-9 * np.arange(VOCABULARY))


def as_shares(wanted: np.ndarray) -> dict[int, float]:
    return dict(enumerate(wanted.tolist()))


class Rows:
    """The target's picks, row by row; remembers what it was asked."""

    def __init__(self, picks: list[int]) -> None:
        self.picks = picks
        self.asked: list[int] = []

    def __call__(self, row: int) -> int:
        self.asked.append(row)
        return self.picks[row]


def test_an_oracle_commits_its_draft_and_one_token_more():
    rows = Rows([5, 6, 7, 8])
    assert accept([5, 6, 7], rows) == [5, 6, 7, 8]
    assert rows.asked == [0, 1, 2, 3]


@pytest.mark.parametrize("wrong_at", [0, 1, 2])
def test_the_first_difference_commits_the_targets_token_and_asks_no_further(wrong_at):
    rows = Rows([5, 6, 7, 8])
    draft = [5, 6, 7]
    draft[wrong_at] = 9
    assert accept(draft, rows) == [5, 6, 7][: wrong_at + 1]
    assert rows.asked == list(range(wrong_at + 1))


def test_without_a_draft_a_round_is_plain_decoding():
    assert accept([], Rows([5])) == [5]


@pytest.mark.parametrize(
    "proposed", [0, VOCABULARY - 1, 2], ids=["the most likely", "the least likely", "something between"]
)
@pytest.mark.parametrize("wanted", [GEOMETRIC, UNIFORM, LOWER], ids=["geometric", "uniform", "half ruled out"])
def test_sample_and_compare_commits_what_the_target_would(wanted, proposed):
    chance = random.Random(7).random
    sums = list(accumulate(wanted.tolist()))
    counts = Counter(accept([proposed], lambda _: bisect(sums, chance()))[0] for _ in range(DRAWS))
    assert_fits(counts, as_shares(wanted))


@pytest.fixture(scope="module")
def noise() -> np.ndarray:
    """Of the first three positions of an answer and every token, for one seed after the other: [seeds, 3, tokens]."""
    tokens = range(VOCABULARY)
    return np.stack([np.stack([gumbel(seed, place, tokens) for place in range(3)]) for seed in range(SEEDS)])


def drawn(wanted: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """What is drawn from `wanted` with each row of noise."""
    with np.errstate(divide="ignore"):
        found: np.ndarray = (np.log(wanted) + noise[..., : wanted.shape[-1]]).argmax(axis=-1)
    return found


PAIRS = {
    "disjoint": (LOWER, UPPER),
    "certain target": (one_hot(3), UNIFORM),
    "certain proposal": (GEOMETRIC, one_hot(5)),
    "proposal with holes": (GEOMETRIC, WITH_HOLES),
    "target with holes": (WITH_HOLES, GEOMETRIC),
    "nearly equal": (GEOMETRIC, NEARLY_GEOMETRIC),
}


@pytest.mark.parametrize("wanted, proposal", PAIRS.values(), ids=PAIRS.keys())
def test_a_drafter_that_draws_with_the_targets_noise_commits_what_the_target_would(wanted, proposal, noise):
    proposed, picked = drawn(proposal, noise[:, 0]).tolist(), drawn(wanted, noise[:, 0]).tolist()
    committed = [accept([token], lambda _, pick=pick: pick)[0] for token, pick in zip(proposed, picked, strict=True)]
    assert committed == picked
    assert_fits(Counter(committed), as_shares(wanted))


@pytest.mark.parametrize("wanted, proposal", PAIRS.values(), ids=PAIRS.keys())
def test_draws_with_the_same_noise_agree_as_often_as_the_distributions_allow(wanted, proposal, noise):
    """At least (1 - d) / (1 + d) of them at a total variation of d, and never more than 1 - d."""
    distance = np.abs(wanted - proposal).sum() / 2
    agreed = float((drawn(wanted, noise[:, 0]) == drawn(proposal, noise[:, 0])).mean())
    assert (1 - distance) / (1 + distance) - 0.005 <= agreed <= 1 - distance + 0.005


FEW = 4
CHAIN = np.array([[8, 4, 2, 0], [1, 1, 1, 1], [0, 0, 9, 1], [5, 0, 0, 5]], np.float64)
CHAIN /= CHAIN.sum(axis=1, keepdims=True)
"""The target of the sequence tests: what follows each of four tokens; some of it never does."""


def sequences(length: int) -> dict[tuple[int, ...], float]:
    """How likely the target makes each sequence that follows token 0."""
    return {
        tokens: float(np.prod([CHAIN[before, after] for before, after in zip((0, *tokens), tokens, strict=False)]))
        for tokens in product(range(FEW), repeat=length)
    }


def test_sequences_of_rounds_with_a_fixed_drafter_are_the_targets():
    chance = random.Random(17).random
    sums = [list(accumulate(row)) for row in CHAIN.tolist()]

    def sequence() -> tuple[int, ...]:
        tokens = [0]
        while len(tokens) < 4:
            draft = [(tokens[-1] + 1) % FEW, 2]
            before = [tokens[-1], *draft]
            tokens += accept(draft, lambda row, before=before: bisect(sums[before[row]], chance() * 0.999999999))
        return tuple(tokens[1:4])

    assert_fits(Counter(sequence() for _ in range(DRAWS)), sequences(3))


def test_sequences_of_rounds_with_a_drafter_that_draws_are_the_targets(noise):
    """Drafts of two tokens, of which one at random is cut off now and then: the sequence depends on the noise alone."""
    weights = [[1, 1, 0, 2], [0, 0, 0, 1], [3, 1, 1, 1], [1, 2, 0, 1]]
    proposals = np.array([distribution(row) for row in weights])
    target = drawn(CHAIN, noise[:, :, None, :]).tolist()
    drafter = drawn(proposals, noise[:, :, None, :]).tolist()
    chance = random.Random(19).random

    def sequence(picks: list[list[int]], drafts: list[list[int]]) -> tuple[int, ...]:
        tokens = [0]
        while len(tokens) < 4:
            at = len(tokens) - 1
            draft = [drafts[at][tokens[-1]]]
            if at < 2:
                draft.append(drafts[at + 1][draft[0]])
            draft = draft[: 3 - at - 1][: 1 + (chance() < 0.5)]
            before = [tokens[-1], *draft]
            tokens += accept(draft, lambda row, at=at, before=before: picks[at + row][before[row]])
        return tuple(tokens[1:4])

    found = Counter(map(sequence, target, drafter))
    assert_fits(found, sequences(3))
    chance = random.Random(20).random
    assert Counter(map(sequence, target, drafter)) == found


def from_llama_cpp(logits: np.ndarray, sampling: Sampling) -> dict[int, float]:
    """The distribution that llama.cpp's own chain leaves of `logits`, computed from what its filters keep."""
    data = np.zeros(len(logits), CANDIDATE)
    data["id"], data["logit"] = np.arange(len(logits)), logits
    array = TokenDataArray(ctypes.cast(data.ctypes.data, ctypes.POINTER(TokenData)), len(data), -1, False)
    chain = SamplerChain(sampling, len(logits))
    lib.llama_sampler_apply(chain.handle, array)
    chain.close()
    left = data[: array.size]
    weights = np.exp(left["logit"].astype(np.float64) - left["logit"].max())
    return dict(zip(left["id"].tolist(), (weights / weights.sum()).tolist(), strict=True))


def test_llama_cpps_own_chain_commits_through_a_draft_what_it_would_commit_without(tiny_model: Model):
    sampling = Sampling(temperature=3.0, top_k=12, top_p=0.95, seed=23)
    context = Context(tiny_model, ContextOptions(n_ctx=256, threads=1))
    context.decode([5, 6, 7], 0)
    proposed = int(context.logits().argmax())
    context.remove(2)
    context.decode([7, proposed], 2, Outputs.ALL)
    chain = SamplerChain(sampling, tiny_model.vocab.size)
    first, second = (from_llama_cpp(context.logits(row), sampling) for row in (0, 1))
    committed = Counter(tuple(accept([proposed], lambda row: context.sample(chain, row))) for _ in range(DRAWS // 2))
    chain.close()
    context.close()
    expected = {(token,): share for token, share in first.items() if token != proposed}
    expected |= {(proposed, token): first[proposed] * share for token, share in second.items()}
    assert_fits(committed, expected)
