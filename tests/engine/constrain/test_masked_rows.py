"""A row is sampled from the allowed tokens alone, and among them as the model's own distribution has it."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from laguna_engine.config import Sampling
from laguna_engine.constrain.base import Constraints, RowMask
from laguna_engine.llama import masked_row
from laguna_engine.llama.sampler import CANDIDATE, SamplerChain, gumbel
from tests.engine.constrain.only import Ids, Only, OnlyConstraint

VOCABULARY = 100_352
TOP_K = 20
DRAWS = 6000


@pytest.fixture(scope="module")
def hostile() -> tuple[np.ndarray, np.ndarray]:
    """Logits that prefer forbidden tokens, and the allowed ids.

    Of the most likely 20 all but six are forbidden; the others that are allowed come at ranks up to a thousand.
    """
    generator = np.random.default_rng(7)
    logits = generator.normal(0, 1, VOCABULARY).astype(np.float32)
    allowed = generator.choice(VOCABULARY, 400, replace=False)
    forbidden = np.setdiff1d(np.arange(VOCABULARY), allowed)
    logits[forbidden[:1000]] = generator.uniform(7, 9, 1000)
    logits[allowed[:6]] = generator.uniform(9.5, 11, 6)
    logits[allowed[6:30]] = generator.uniform(8, 9, 24)
    return logits, np.sort(allowed)


def drawn(logits: np.ndarray, allowed: Ids, top_k: int = TOP_K, draws: int = DRAWS) -> np.ndarray:
    """Tokens sampled from one row at as many positions, at temperature 1."""
    chain = SamplerChain(Sampling(temperature=1.0, top_k=top_k, seed=5), len(logits))
    try:
        mask, constraints = RowMask(allowed=allowed), Constraints([])
        top = candidates_of(logits, top_k)
        return np.array(
            [masked_row.pick(chain, constraints, mask, top.copy(), lambda: logits) or -1 for _ in range(draws)]
        )
    finally:
        chain.close()


def candidates_of(logits: np.ndarray, count: int) -> np.ndarray:
    """What a readout of `count` candidates has."""
    order = np.argsort(-logits, kind="stable")[:count]
    candidates = np.zeros(count, CANDIDATE)
    candidates["id"], candidates["logit"] = order, logits[order]
    return candidates


def chi_square(logits: np.ndarray, allowed: np.ndarray, found: np.ndarray) -> float:
    """How far the counts are from the softmax of the `TOP_K` most likely allowed tokens, in standard deviations.

    Infinite for a token that is none of these. Chi-square of n degrees of freedom has mean n and variance 2n.
    """
    kept = allowed[np.argsort(-logits[allowed], kind="stable")[:TOP_K]]
    if not np.isin(found, kept).all():
        return np.inf
    powers = np.exp(logits[kept] - logits[kept].max(), dtype=np.float64)
    expected = len(found) * powers / powers.sum()
    counts = np.array([(found == token).sum() for token in kept])
    freedom = TOP_K - 1
    return float((((counts - expected) ** 2 / expected).sum() - freedom) / np.sqrt(2 * freedom))


CERTAIN = 5.0
"""Standard deviations: one run in more than ten thousand would fail by chance, and the seeds are fixed."""


def test_nothing_outside_the_set_and_inside_it_the_distribution_of_the_most_likely_allowed(hostile):
    logits, allowed = hostile
    found = drawn(logits, Ids(allowed.tolist()))
    assert np.isin(found, allowed).all()
    assert chi_square(logits, allowed, found) < CERTAIN


def test_that_comparison_notices_a_mask_that_comes_after_top_k(hostile, monkeypatch):
    def after_top_k(mask, row, wanted):
        top = masked_row._most_likely(row.logits, wanted)
        return top[masked_row._passing(mask, top)]

    monkeypatch.setattr(masked_row, "_allowed", after_top_k)
    logits, allowed = hostile
    found = drawn(logits, Ids(allowed.tolist()))
    assert np.isin(found, allowed).all()
    assert chi_square(logits, allowed, found) > 10 * CERTAIN


def test_where_all_candidates_pass_nothing_else_is_read(hostile):
    logits, _ = hostile
    chain = SamplerChain(Sampling(temperature=1.0, top_k=TOP_K, seed=5), VOCABULARY)
    top = candidates_of(logits, TOP_K)
    mask = RowMask(allowed=Ids(top["id"].tolist()))
    found = masked_row.pick(chain, Constraints([]), mask, top, lambda: pytest.fail("the row was read"))
    chain.close()
    assert found in top["id"]


@pytest.fixture
def greedy() -> Iterator[SamplerChain]:
    chain = SamplerChain(Sampling(), 64)
    yield chain
    chain.close()


ROWS = st.lists(st.floats(-30, 30, width=32), min_size=64, max_size=64).map(lambda row: np.array(row, np.float32))
SETS = st.sets(st.integers(0, 63), min_size=1)


@given(ROWS, SETS, st.sets(st.integers(0, 63)), st.sampled_from([1, 5, 64, None]))
def test_any_row_and_any_set_give_the_token_that_the_whole_masked_row_gives(logits, allowed, banned, top_k):
    chain = SamplerChain(Sampling(temperature=1.0, top_k=top_k or 0, seed=9), 64)
    mask = RowMask(banned=frozenset(banned), allowed=Ids(allowed))
    top = None if top_k is None else candidates_of(logits, top_k)
    left = np.array(sorted(allowed - banned), int)
    found = masked_row.pick(chain, Constraints([]), mask, top, lambda: logits)
    chain.close()
    if not len(left):
        assert found is None
        return
    kept = left[np.lexsort((left, -logits[left]))][: top_k or None]
    assert found == kept[(logits[kept] + gumbel(9, 0, kept)).argmax()]


def test_what_holds_too_little_is_dropped_and_the_most_likely_of_all_is_taken(greedy):
    logits = np.zeros(64, np.float32)
    logits[3], logits[8] = 9, 5
    constraint = OnlyConstraint(Only(frozenset({8}), least=0.05), 10)
    constraints = Constraints([constraint])
    assert masked_row.pick(greedy, constraints, constraints.mask(), candidates_of(logits, 1), lambda: logits) is None
    assert constraints.dropped == 1
    assert constraints.mask().allowed is None


def test_what_holds_enough_is_not_dropped_although_another_token_is_more_likely(greedy):
    logits = np.zeros(64, np.float32)
    logits[3], logits[8] = 9, 7
    constraints = Constraints([OnlyConstraint(Only(frozenset({8}), least=0.05), 10)])
    assert masked_row.pick(greedy, constraints, constraints.mask(), candidates_of(logits, 1), lambda: logits) == 8
    assert constraints.dropped == 0
