"""A prompt may be prefilled ahead of its request: it is cached then, without any other effect."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from laguna_engine.config import PLAIN
from laguna_engine.engine import Engine, EngineOptions, Request
from laguna_engine.events import ContextOverflow, Finished, FinishReason, Prefill
from laguna_engine.llama.context import Context
from laguna_engine.sequence import PrefillRate
from tests.engine.runs import Run, answer, assert_same_answer, gather

UBATCH = 32
PROMPT = [40 + (11 * index) % 400 for index in range(150)]


@pytest.fixture(scope="module")
def options(tiny_model_path: Path) -> EngineOptions:
    return EngineOptions(tiny_model_path, n_ctx=400, n_ubatch=UBATCH, threads=1)


@pytest.fixture
def engine(options: EngineOptions) -> Iterator[Engine]:
    with Engine.open(options) as engine:
        yield engine


def read(engine: Engine, tokens: list[int]) -> Run:
    return gather(engine.generate(Request(tokens, max_tokens=0)))


def test_reading_ahead_tells_its_progress_and_commits_nothing(engine: Engine) -> None:
    run = read(engine, PROMPT)
    assert [type(event) for event in run.events] == [Prefill] * 6 + [Finished]
    assert [prefill.done for prefill in run.prefills] == [0, 32, 64, 96, 128, 150]
    assert run.reason is FinishReason.MAX_TOKENS
    assert (run.stats.prompt_tokens, run.stats.generated_tokens, run.stats.rounds) == (150, 0, 0)


def test_what_was_read_ahead_is_cached_for_the_request_that_goes_on_from_it(engine: Engine) -> None:
    read(engine, PROMPT[:100])
    assert engine.preview(PROMPT).cached == 100
    run = gather(engine.generate(Request(PROMPT, max_tokens=3)))
    assert run.stats.cached_tokens == 100


def test_the_answer_is_the_one_without_reading_ahead(options: EngineOptions, engine: Engine) -> None:
    with Engine.open(options) as fresh:
        expected = answer(fresh, PROMPT, 20)
        for stop in (10, 75, 150):
            read(engine, PROMPT[:stop])
        assert_same_answer(fresh._sequence.model, PROMPT, answer(engine, PROMPT, 20), expected)


def test_reading_ahead_works_without_any_drafting(options: EngineOptions, engine: Engine) -> None:
    run = gather(engine.generate(Request(PROMPT, max_tokens=0, drafting=PLAIN)))
    assert (run.reason, engine.preview([*PROMPT, 7]).cached) == (FinishReason.MAX_TOKENS, 150)


def test_what_the_cache_begins_with_is_not_computed_and_what_follows_it_not_dropped(engine: Engine) -> None:
    read(engine, PROMPT)
    run = read(engine, PROMPT[:60])
    assert [(prefill.done, prefill.cached) for prefill in run.prefills] == [(60, 60)]
    assert engine.preview([*PROMPT, 7]).cached == 150


def test_a_cancelled_reading_ahead_leaves_a_cache_that_can_go_on(
    options: EngineOptions, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancelled, decode = threading.Event(), Context.decode

    def decode_once_cancelled(*arguments: Any, **named: Any) -> Any:
        assert cancelled.wait(60)
        return decode(*arguments, **named)

    with monkeypatch.context() as patched:
        patched.setattr(Context, "decode", decode_once_cancelled)
        stream = engine.generate(Request(PROMPT, max_tokens=0))
        assert isinstance(next(stream), Prefill)
        engine.cancel()
        cancelled.set()
        run = gather(stream)
    assert run.reason is FinishReason.CANCELLED
    assert engine.preview(PROMPT).cached == run.stats.prompt_tokens < 150
    with Engine.open(options) as fresh:
        assert_same_answer(fresh._sequence.model, PROMPT, answer(engine, PROMPT, 20), answer(fresh, PROMPT, 20))


def test_the_rate_is_taken_once_the_device_is_done(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []

    def note(owner: type, name: str) -> None:
        real = getattr(owner, name)

        def noted(*arguments: object) -> object:
            result = real(*arguments)
            called.append(name)
            return result

        monkeypatch.setattr(owner, name, noted)

    note(Context, "decode")
    note(Context, "synchronize")
    note(PrefillRate, "record")
    read(engine, PROMPT)
    # Every decode waits for the one before it; here none comes after the wait.
    assert called[-2:] == ["synchronize", "record"]
    assert engine.preview([*PROMPT, *PROMPT]).seconds


def test_a_prompt_that_could_not_be_continued_is_not_read_ahead_either(engine: Engine) -> None:
    run = read(engine, [40] * 400)
    assert (run.reason, run.overflows) == (FinishReason.CONTEXT_FULL, [ContextOverflow(401, 400)])
