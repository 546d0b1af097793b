"""Several sessions on one real engine: each has it for a generation, and none ends another's."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from laguna_engine.config import EngineOptions, Request
from laguna_engine.engine import Engine
from laguna_engine.events import Finished, FinishReason, Prefill
from laguna_tui.session.engine_share import EngineShare

PROMPT = [1, 5, 9, 4]
# Long enough to be cancelled while it is generated.
LONG = Request(PROMPT, max_tokens=2000)
SHORT = Request(PROMPT, max_tokens=4)


@pytest.fixture(scope="module")
def engine(tiny_model_path):
    with Engine.open(EngineOptions(model=tiny_model_path, n_ctx=4096, threads=1)) as opened:
        yield opened


@pytest.fixture
def shares(engine):
    turn = threading.Lock()
    return EngineShare(engine, turn), EngineShare(engine, turn)


def reason(events) -> FinishReason:
    """How a generation ended."""
    *_, last = events
    assert isinstance(last, Finished)
    return last.reason


def test_a_generation_waits_until_the_other_session_s_is_over(shares):
    first, second = shares
    running, waiting = first.generate(LONG), second.generate(SHORT)
    next(running)
    waited = next(waiting)
    assert isinstance(waited, Prefill)
    assert (waited.done, waited.total, waited.cached) == (0, len(PROMPT), 0)
    assert reason(running) is FinishReason.MAX_TOKENS
    assert reason(waiting) is FinishReason.MAX_TOKENS


def test_cancelling_a_session_that_waits_ends_its_generation_alone(shares):
    first, second = shares
    running, waiting = first.generate(LONG), second.generate(SHORT)
    next(running)
    next(waiting)
    second.cancel()
    assert list(waiting) == []
    assert reason(running) is FinishReason.MAX_TOKENS


def test_cancelling_a_session_whose_generation_is_over_ends_no_other_one(shares):
    first, second = shares
    assert reason(first.generate(SHORT)) is FinishReason.MAX_TOKENS
    running = second.generate(LONG)
    next(running)
    first.cancel()
    assert reason(running) is FinishReason.MAX_TOKENS


def test_cancelling_the_session_that_generates_ends_its_generation(shares):
    first, second = shares
    running = first.generate(LONG)
    next(running)
    first.cancel()
    assert reason(running) is FinishReason.CANCELLED
    assert reason(second.generate(SHORT)) is FinishReason.MAX_TOKENS


def test_a_generation_that_nobody_reads_any_more_leaves_the_engine(shares):
    first, second = shares
    running = first.generate(LONG)
    next(running)
    running.close()
    assert reason(second.generate(SHORT)) is FinishReason.MAX_TOKENS


def test_snapshots_are_restored_between_generations(shares, tmp_path):
    first, second = shares
    running = first.generate(LONG)
    next(running)
    with ThreadPoolExecutor(1) as pool:
        restored = pool.submit(second.restore, tmp_path, PROMPT)
        assert reason(running) is FinishReason.MAX_TOKENS
        assert restored.result().refused == ()


def test_everything_else_is_the_engine_s_own(shares, engine):
    share, _ = shares
    assert (share.n_ctx, share.vocab, share.lost) == (engine.n_ctx, engine.vocab, False)
    assert share.preview(PROMPT).fits
