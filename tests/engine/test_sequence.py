"""The KV cache answers like a fresh one, whatever was in it before."""

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from laguna_engine.llama.context import Context, ContextOptions, DecodeStatus, Outputs
from laguna_engine.llama.model import Model
from laguna_engine.sequence import Reuse, TokenSequence
from tests.engine import tiny
from tests.engine.runs import NEAR_TIE

WINDOW, UBATCH, CAPACITY = 16, 32, 768
"""The sliding-window cache has 256 cells here, so a rewind of more than 240 tokens loses the window."""

EDITS = 40


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    # All experts are used, because a rounding error in the routing would change an answer as much as a bug.
    shape = tiny.Shape(window=WINDOW, experts_used=4)
    path: Path = tiny.laguna(shape).write(tmp_path_factory.mktemp("models") / "narrow.gguf")
    model = Model.open(path)
    yield model
    model.close()


def make_target(model: Model, *, swa_full: bool) -> TokenSequence:
    options = ContextOptions(CAPACITY, n_ubatch=UBATCH, swa_full=swa_full, threads=1)
    return TokenSequence(model, Context(model, options), CAPACITY)


def feed(target: TokenSequence, tokens: list[int]) -> tuple[Reuse, np.ndarray]:
    """Prefill as a generation does; the logits after the last token."""
    reuse = target.rewind(tokens)
    while target.position < len(tokens):
        assert target.decode(UBATCH) is DecodeStatus.OK
    return reuse, target.context.logits()


def edited(tokens: list[int], dice: random.Random) -> list[int]:
    """Cut the end off, near or far, and write something else there."""
    at = max(1, len(tokens) - dice.choice([0, 1, 5, 30, 100, 230, 250, 300, 400]))
    new = [dice.randrange(30, 400) for _ in range(dice.choice([1, 3, 50, 200, 400]))]
    tail = tokens[at + 1 :] if dice.random() < 0.3 else []
    return (tokens[:at] + new + tail)[: CAPACITY - 1]


@pytest.mark.parametrize("swa_full", [False, True])
def test_a_reused_cache_gives_the_logits_of_a_fresh_one(model, swa_full):
    used, fresh = make_target(model, swa_full=swa_full), make_target(model, swa_full=swa_full)
    dice = random.Random(5)
    tokens = [dice.randrange(30, 400) for _ in range(600)]
    kept = lost = 0
    for _ in range(EDITS):
        reuse, found = feed(used, tokens)
        fresh.clear()
        _, expected = feed(fresh, tokens)
        assert np.abs(found - expected).max() < NEAR_TIE
        kept, lost = kept + (reuse.keep > 0), lost + reuse.reprefill
        tokens = edited(tokens, dice)
    assert kept >= EDITS // 2
    assert (lost > 0) is not swa_full
    used.context.close()
    fresh.context.close()


def test_the_plan_says_what_the_rewind_will_do(model):
    target = make_target(model, swa_full=False)
    tokens = list(range(30, 430))
    feed(target, tokens)
    target.settle()
    for prompt in (tokens[:390], [*tokens[:200], 5], tokens[:100]):
        plan = target.plan(prompt)
        assert feed(target, prompt)[0] == plan
        target.settle()
    target.context.close()


def test_a_stopped_decode_leaves_the_position_that_is_really_there(model):
    target = make_target(model, swa_full=False)
    tokens = list(range(30, 130))
    target.rewind(tokens)
    target.decode(50)
    target.context.request_abort()
    assert target.decode(50) is DecodeStatus.ABORTED
    target.context.clear_abort()
    assert target.position == target.context.positions()[1] + 1
    _, found = feed(target, tokens)
    fresh = make_target(model, swa_full=False)
    assert np.abs(found - feed(fresh, tokens)[1]).max() < NEAR_TIE
    target.context.close()
    fresh.context.close()


def test_a_refused_decode_leaves_the_position_that_is_really_there(model):
    target = make_target(model, swa_full=False)
    target.rewind([40, 41, 10**6])
    target.decode(2)
    with pytest.raises(Exception, match="outside the vocabulary"):
        target.decode(1)
    assert target.position == 2
    target.context.close()


def test_in_pairs_a_token_without_outputs_stays_alone_in_the_cache(model):
    options = ContextOptions(CAPACITY, n_ubatch=UBATCH, swa_full=True, threads=1)
    target = TokenSequence(model, Context(model, options), CAPACITY, paired=True)
    target.rewind([40])
    assert target.decode(1, Outputs.NONE) is DecodeStatus.OK
    assert (target.position, target.context.positions()) == (1, (0, 0))
    target.context.close()
