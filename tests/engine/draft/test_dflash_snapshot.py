"""What a drafter remembers is exactly what the sequence is: a life of rewinds leaves no trace in the drafts."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from laguna_engine.draft.base import Draft, Kind, Offer
from laguna_engine.draft.dflash import DFlash
from tests.engine import drafters
from tests.engine.drafters import LAGUNA, Variant
from tests.engine.drafting import Fed, drafter

CONTEXT = 200
LAST = 77

VARIANTS = {
    "full": Variant(),
    "sliding and full": Variant(n_layer=3, window=40, sliding=(True, False, True)),
    "markov": Variant(rank=16, window=40, confidence="both"),
    "laguna": replace(LAGUNA, own_embedding=True, own_head=True),
}
everywhere = pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS.keys())


def fresh(variant: Variant, path: Path, like: Fed, length: int) -> NDArray[np.float32]:
    """What a new drafter computes that never knew anything but the sequence as it is now."""
    with drafter(variant, path, len(like.features), context=CONTEXT) as fed:
        fed.features = like.features
        fed.feed(0, length)
        return fed.logits(LAST, length, variant.longest)


@everywhere
def test_a_rewind_and_another_continuation(variant: Variant, tmp_path: Path) -> None:
    with drafter(variant, tmp_path / "drafter.gguf", 900, context=CONTEXT) as fed:
        fed.feed(0, 800)
        before = fed.logits(LAST, 800, variant.longest)
        fed.dflash.truncate(770)
        fed.features = drafters.features(variant, 900, seed=4)
        fed.feed(770, 820)
        # The features before 770 were those of the first sequence.
        fed.features[:770] = drafters.features(variant, 900)[:770]
        found = fed.logits(LAST, 820, variant.longest)
        assert (found == fresh(variant, tmp_path / "fresh.gguf", fed, 820)).all()
        assert (found != before).all()


@everywhere
def test_the_next_request_after_a_reset(variant: Variant, tmp_path: Path) -> None:
    with drafter(variant, tmp_path / "drafter.gguf", 600, context=CONTEXT) as fed:
        for seed in (3, 4, 5):
            fed.features = drafters.features(variant, 600, seed)
            fed.dflash.reset()
            fed.feed(0, 300 + seed)
            found = fed.logits(LAST, 300 + seed, variant.longest)
            assert (found == fresh(variant, tmp_path / "fresh.gguf", fed, 300 + seed)).all()


@everywhere
def test_drafting_leaves_no_trace(variant: Variant, tmp_path: Path) -> None:
    with drafter(variant, tmp_path / "drafter.gguf", 500, context=CONTEXT) as fed:
        length = 0
        for step in (90, 1, 4, 8, 1, 200, 2):
            fed.feed(length, length + step)
            length += step
            for count in (variant.longest, 1, 3):
                fed.tokens(LAST + count, length, count)
        new = fresh(variant, tmp_path / "fresh.gguf", fed, length)
        for _ in range(2):
            assert (fed.logits(LAST, length, variant.longest) == new).all()


@everywhere
def test_the_end_of_a_long_prompt_is_enough(variant: Variant, tmp_path: Path) -> None:
    with drafter(variant, tmp_path / "drafter.gguf", 900, context=CONTEXT) as fed:
        start = fed.dflash.wanted_from(900)
        assert start == 900 - fed.dflash.window
        fed.feed(start, 900)
        assert fed.dflash.covered(900)
        found = fed.logits(LAST, 900, variant.longest)
        assert (found == fresh(variant, tmp_path / "fresh.gguf", fed, 900)).all()


@everywhere
def test_a_long_rewind_asks_for_what_was_overwritten(variant: Variant, tmp_path: Path) -> None:
    with drafter(variant, tmp_path / "drafter.gguf", 900, context=CONTEXT) as fed:
        fed.feed(0, 900)
        fed.dflash.truncate(400)
        assert not fed.dflash.covered(400)
        fed.feed(fed.dflash.wanted_from(400), 400)
        assert fed.dflash.covered(400)
        found = fed.logits(LAST, 400, variant.longest)
        assert (found == fresh(variant, tmp_path / "fresh.gguf", fed, 400)).all()


@everywhere
def test_a_short_rewind_needs_nothing(variant: Variant, tmp_path: Path) -> None:
    with drafter(variant, tmp_path / "drafter.gguf", 900, context=CONTEXT) as fed:
        fed.feed(0, 900)
        fed.dflash.truncate(840)
        assert fed.dflash.covered(840)
        assert not fed.dflash.covered(841)


def test_a_gap_is_not_covered(tmp_path: Path) -> None:
    with drafter(Variant(), tmp_path / "drafter.gguf", 300, context=CONTEXT) as fed:
        fed.feed(0, 100)
        fed.feed(101, 150)
        assert not fed.dflash.covered(150)
        assert fed.dflash.covered(100)


def test_features_that_are_gone_are_not_taken_for_others(tmp_path: Path) -> None:
    with drafter(Variant(window=150), tmp_path / "drafter.gguf", 300, rows=64) as fed:
        fed.dflash.inject(0, 300)
        assert not fed.dflash.covered(300)
        fed.feed(0, 300)
        assert fed.dflash.covered(300)


def test_it_offers_a_block_without_its_anchor(tmp_path: Path) -> None:
    with drafter(Variant(window=40), tmp_path / "drafter.gguf", 100) as fed:
        assert fed.dflash.offer() == Offer(DFlash.source, Kind("dflash"), 7)
        assert len(fed.dflash.draft(100).tokens) == 7
        assert fed.dflash.draft(0) == Draft([])


def test_an_anchor_that_proposes_makes_the_block_one_longer(tmp_path: Path) -> None:
    with drafter(Variant(rank=16), tmp_path / "drafter.gguf", 10) as fed:
        assert fed.dflash.offer().longest == 8
        assert len(fed.dflash.draft(100).tokens) == 8


def test_a_context_shorter_than_the_window_bounds_it(tmp_path: Path) -> None:
    with drafter(Variant(window=512), tmp_path / "drafter.gguf", 10, context=100) as fed:
        assert fed.dflash.window == 100
