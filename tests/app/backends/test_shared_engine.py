"""Several sessions on one real engine: each has it for a generation, and none ends another's."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from laguna_engine.chat.messages import Role
from laguna_engine.chat.template import Family
from laguna_engine.config import EngineOptions
from laguna_engine.engine import Engine
from laguna_engine.events import FinishReason, Prefill
from laguna_tui.backends.base import Message, Options, Prompt
from laguna_tui.backends.local.backend import LocalBackend
from tests.scripted_model import scripted_file

PROMPT = Prompt("Be brief.", messages=(Message(Role.USER, ("hello",)),))
# Long enough to be cancelled while it is generated.
LONG, SHORT = Options(max_tokens=1000), Options(max_tokens=4)
WORDS = " ".join(f"word{number}" for number in range(1500))


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    path = scripted_file(tmp_path_factory.mktemp("models") / "scripted.gguf", lambda seen: WORDS)
    with Engine.open(EngineOptions(model=path, n_ctx=4096, threads=1)) as opened:
        yield opened


@pytest.fixture
def shares(engine):
    turn = threading.Lock()
    return tuple(LocalBackend(engine, Family.XS_2_1, "scripted", turn) for _ in range(2))


def reason(answer) -> FinishReason:
    """How a generation ended."""
    for _ in answer:
        pass
    return answer.reason


def test_a_generation_waits_until_the_other_session_s_is_over(shares):
    first, second = shares
    running, waiting = first.generate(PROMPT, LONG), second.generate(PROMPT, SHORT)
    next(running)
    waited = next(waiting)
    assert isinstance(waited, Prefill)
    assert (waited.done, waited.total, waited.cached) == (0, second.cost(PROMPT).total, 0)
    assert reason(running) is FinishReason.MAX_TOKENS
    assert reason(waiting) is FinishReason.MAX_TOKENS


def test_cancelling_a_session_that_waits_ends_its_generation_alone(shares):
    first, second = shares
    running, waiting = first.generate(PROMPT, LONG), second.generate(PROMPT, SHORT)
    next(running)
    next(waiting)
    second.cancel()
    assert list(waiting) == []
    assert waiting.reason is FinishReason.CANCELLED
    assert reason(running) is FinishReason.MAX_TOKENS


def test_cancelling_a_session_whose_generation_is_over_ends_no_other_one(shares):
    first, second = shares
    assert reason(first.generate(PROMPT, SHORT)) is FinishReason.MAX_TOKENS
    running = second.generate(PROMPT, LONG)
    next(running)
    first.cancel()
    assert reason(running) is FinishReason.MAX_TOKENS


def test_cancelling_the_session_that_generates_ends_its_generation(shares):
    first, second = shares
    running = first.generate(PROMPT, LONG)
    next(running)
    first.cancel()
    assert reason(running) is FinishReason.CANCELLED
    assert reason(second.generate(PROMPT, SHORT)) is FinishReason.MAX_TOKENS


def test_a_generation_that_nobody_reads_any_more_leaves_the_engine(shares):
    first, second = shares
    running = first.generate(PROMPT, LONG)
    next(running)
    running.close()
    assert reason(second.generate(PROMPT, SHORT)) is FinishReason.MAX_TOKENS


def test_snapshots_are_restored_between_generations(shares, tmp_path):
    first, second = shares
    running = first.generate(PROMPT, LONG)
    next(running)
    with ThreadPoolExecutor(1) as pool:
        restored = pool.submit(second.restore, tmp_path, PROMPT)
        assert reason(running) is FinishReason.MAX_TOKENS
        assert restored.result().refused == ()
