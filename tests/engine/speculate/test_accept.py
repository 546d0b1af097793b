"""Which drafted tokens stand: every path of both judges, and what is committed is distributed as the target says."""

import random
from bisect import bisect
from collections import Counter
from itertools import accumulate, product

import numpy as np
import pytest

from laguna_engine.llama.context import Context, ContextOptions, Outputs
from laguna_engine.llama.model import Model
from laguna_engine.llama.sampler import SamplerChain
from laguna_engine.sampling import Sampling
from laguna_engine.speculate.accept import accept, accept_by_ratio
from laguna_engine.speculate.filters import Distribution, draw, filtered, likeliest
from tests.engine.speculate.fit import DRAWS, assert_fits

VOCABULARY = 16


def distribution(weights) -> Distribution:
    array = np.asarray(weights, np.float64)
    return Distribution(np.arange(len(array), dtype=np.int32), array / array.sum())


def one_hot(token: int) -> Distribution:
    return distribution([index == token for index in range(VOCABULARY)])


GEOMETRIC = distribution([0.7**token for token in range(VOCABULARY)])
UNIFORM = distribution([1] * VOCABULARY)
LOWER = distribution([1] * 8 + [0] * 8)
UPPER = distribution([0] * 8 + [3] * 4 + [1] * 4)
WITH_HOLES = distribution([token % 3 for token in range(VOCABULARY)])
NEARLY_GEOMETRIC = distribution(GEOMETRIC.probabilities + 1e-9 * np.arange(VOCABULARY))


def as_shares(wanted: Distribution) -> dict[int, float]:
    return dict(zip(wanted.ids.tolist(), wanted.probabilities.tolist(), strict=True))


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
    assert accept_by_ratio([], [], lambda _: one_hot(5), random.Random(1).random) == [5]


def test_a_ratio_oracle_commits_its_draft_and_one_token_more():
    draft = [3, 4, 5]
    target = [one_hot(token) for token in (3, 4, 5, 6)]
    found = accept_by_ratio(draft, target[:3], target.__getitem__, random.Random(1).random)
    assert found == [3, 4, 5, 6]


def test_a_token_that_the_target_rules_out_never_stands_and_later_rows_are_not_asked():
    asked = []

    def target(row: int) -> Distribution:
        asked.append(row)
        return LOWER

    for seed in range(50):
        (found,) = accept_by_ratio([9, 9], [UPPER, UPPER], target, random.Random(seed).random)
        assert found < 8
    assert set(asked) == {0}


def test_a_residual_that_rounding_leaves_empty_is_the_targets_own_distribution():
    above = Distribution(np.array([4, 5], np.int32), np.array([0.5 + 1e-12, 0.5]))
    below = Distribution(np.array([4, 5], np.int32), np.array([0.5, 0.5]))
    just_below_one = 1 - 2**-53
    numbers = iter([just_below_one, 0.75])
    assert accept_by_ratio([4], [above], lambda _: below, numbers.__next__) == [5]


def test_every_token_needs_its_proposal():
    with pytest.raises(ValueError, match="zip"):
        accept_by_ratio([1, 2], [UNIFORM], lambda _: UNIFORM, random.Random(1).random)


@pytest.mark.parametrize(
    "proposed", [0, VOCABULARY - 1, 2], ids=["the likeliest", "the least likely", "something between"]
)
@pytest.mark.parametrize("wanted", [GEOMETRIC, UNIFORM, LOWER], ids=["geometric", "uniform", "half ruled out"])
def test_sample_and_compare_commits_what_the_target_would(wanted, proposed):
    chance = random.Random(7).random
    sums = list(accumulate(wanted.probabilities.tolist()))
    counts = Counter(accept([proposed], lambda _: bisect(sums, chance()))[0] for _ in range(DRAWS))
    assert_fits(counts, as_shares(wanted))


RATIO_CASES = {
    "disjoint": (LOWER, UPPER),
    "certain target": (one_hot(3), UNIFORM),
    "certain proposal": (GEOMETRIC, one_hot(5)),
    "proposal with holes": (GEOMETRIC, WITH_HOLES),
    "target with holes": (WITH_HOLES, GEOMETRIC),
    "nearly equal": (GEOMETRIC, NEARLY_GEOMETRIC),
}


@pytest.mark.parametrize("wanted, proposal", RATIO_CASES.values(), ids=RATIO_CASES.keys())
def test_ratio_rejection_commits_what_the_target_would(wanted, proposal):
    chance = random.Random(11).random
    sums = list(accumulate(proposal.probabilities.tolist()))
    counts = Counter(
        accept_by_ratio([bisect(sums, chance() * sums[-1])], [proposal], lambda _: wanted, chance)[0]
        for _ in range(DRAWS)
    )
    assert_fits(counts, as_shares(wanted))


def test_a_drafter_that_draws_what_it_ruled_out_still_changes_nothing():
    chance = random.Random(13).random
    upper = list(accumulate(UPPER.probabilities.tolist()))

    def token() -> int:
        return 0 if chance() < 0.3 else bisect(upper, chance() * upper[-1])

    counts = Counter(accept_by_ratio([token()], [UPPER], lambda _: GEOMETRIC, chance)[0] for _ in range(DRAWS))
    assert_fits(counts, as_shares(GEOMETRIC))


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


def test_sequences_of_rounds_with_a_sampling_drafter_are_the_targets():
    chance = random.Random(19).random
    target = [distribution(row) for row in CHAIN]
    weights = [[1, 1, 0, 2], [0, 0, 0, 1], [3, 1, 1, 1], [1, 2, 0, 1]]
    proposals = [distribution(row) for row in weights]
    sums = [list(accumulate(proposal.probabilities.tolist())) for proposal in proposals]

    def sequence() -> tuple[int, ...]:
        tokens = [0]
        while len(tokens) < 3:
            first = bisect(sums[tokens[-1]], chance() * 0.999999999)
            draft = [first, bisect(sums[first], chance() * 0.999999999)]
            before = [tokens[-1], *draft]
            drawn_from = [proposals[token] for token in before[:2]]
            tokens += accept_by_ratio(draft, drawn_from, lambda row, before=before: target[before[row]], chance)
        return tuple(tokens[1:3])

    assert_fits(Counter(sequence() for _ in range(DRAWS // 2)), sequences(2))


def test_llama_cpps_own_chain_commits_through_a_draft_what_it_would_commit_without(tiny_model: Model):
    sampling = Sampling(temperature=3.0, top_k=12, top_p=0.95, seed=23)
    context = Context(tiny_model, ContextOptions(n_ctx=256, threads=1))
    context.decode([5, 6, 7], 0)
    proposed = int(context.logits().argmax())
    context.remove(2)
    context.decode([7, proposed], 2, Outputs.ALL)
    chain = SamplerChain(sampling.stages(), tiny_model.vocab.size)
    first, second = (as_shares(filtered(likeliest(context.logits(row)), sampling)) for row in (0, 1))
    committed = Counter(tuple(accept([proposed], lambda row: context.sample(chain, row))) for _ in range(DRAWS))
    chain.close()
    context.close()
    expected = {(token,): share for token, share in first.items() if token != proposed}
    expected |= {(proposed, token): first[proposed] * share for token, share in second.items()}
    assert_fits(committed, expected)


def test_a_draw_never_gives_a_token_of_probability_zero():
    edges = distribution([0, 1, 1, 0])
    assert [draw(edges, number) for number in (0.0, 0.4999, 0.5, 1 - 2**-53)] == [1, 1, 2, 2]
