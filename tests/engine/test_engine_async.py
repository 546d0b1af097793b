"""The async stream: the same events, woken once per batch, cancelled by dropping it."""

import asyncio
import gc
from pathlib import Path
from types import SimpleNamespace

import pytest

from laguna_engine import stream as outlet
from laguna_engine.engine import Engine, EngineOptions, Request
from laguna_engine.events import Finished, FinishReason, Token
from laguna_engine.generation import Generation
from laguna_engine.stream import _waker
from tests.engine.runs import answer, gather

PROMPT = list(range(40, 60))
LONG_PROMPT = [30 + (7 * index) % 400 for index in range(900)]


@pytest.fixture
def engine(tiny_model_path: Path):
    with Engine.open(EngineOptions(tiny_model_path, n_ctx=1024, n_ubatch=32, threads=1)) as engine:
        yield engine


async def test_it_says_what_the_plain_iterator_says(engine):
    plain = gather(engine.generate(Request(PROMPT, max_tokens=30)))
    events = [event async for event in engine.agenerate(Request(PROMPT, max_tokens=30))]
    assert [event for event in events if isinstance(event, Token)] == [e for e in plain.events if isinstance(e, Token)]
    assert isinstance(events[-1], Finished)


async def test_the_loop_goes_on_while_the_engine_works(engine):
    beats = 0

    async def beat():
        nonlocal beats
        while True:
            beats += 1
            await asyncio.sleep(0.001)

    heart = asyncio.create_task(beat())
    async for _ in engine.agenerate(Request(LONG_PROMPT, max_tokens=20)):
        pass
    heart.cancel()
    assert beats > 5


async def test_a_fast_stream_wakes_the_loop_once_a_batch_not_once_a_token(engine, monkeypatch):
    # A clock that stands still: however slow this machine is, the stream counts as infinitely fast.
    monkeypatch.setattr(outlet, "time", SimpleNamespace(perf_counter=lambda: 100.0))
    loop = asyncio.get_running_loop()
    wakes: list[object] = []
    wake = loop.call_soon_threadsafe

    def counting(callback, *arguments, **named):
        wakes.append(callback)
        return wake(callback, *arguments, **named)

    monkeypatch.setattr(loop, "call_soon_threadsafe", counting)
    events = [event async for event in engine.agenerate(Request(PROMPT, max_tokens=30))]
    assert sum(isinstance(event, Token) for event in events) == 30
    # Two prefill reports, the first token, the rest: a wake-up each at most.
    assert len(wakes) <= 4


async def test_leaving_the_loop_cancels(engine):
    async for event in engine.agenerate(Request(LONG_PROMPT)):
        if isinstance(event, Token):
            break
    gc.collect()
    assert len(answer(engine, PROMPT, 3)) == 3


async def test_closing_cancels_and_ends_the_iteration(engine):
    async with engine.agenerate(Request(LONG_PROMPT)) as stream:
        await anext(stream)
    assert [event async for event in stream] == []
    assert len(answer(engine, PROMPT, 3)) == 3


async def test_a_cancelled_task_cancels_its_generation(engine):
    async def read():
        async for _ in engine.agenerate(Request(LONG_PROMPT)):
            pass

    task = asyncio.create_task(read())
    await asyncio.sleep(0.005)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    del task
    gc.collect()
    assert len(answer(engine, PROMPT, 3)) == 3


async def test_an_engines_error_is_raised_to_the_reader(engine, monkeypatch):
    monkeypatch.setattr(Generation, "_generate", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        async for _ in engine.agenerate(Request(PROMPT)):
            pass


def test_a_loop_that_was_closed_under_the_reader_cancels(engine):
    streams = []

    async def start():
        stream = engine.agenerate(Request(LONG_PROMPT))
        streams.append(stream)
        await anext(stream)
        # Left waiting for a wake-up, as a task is when its loop is torn down.
        stream._channel.wake = _waker(asyncio.get_running_loop(), asyncio.Event(), stream._cancel)

    asyncio.run(start())
    *_, last = iter(streams[0]._channel.take, [])
    assert last[-1].reason is FinishReason.CANCELLED
