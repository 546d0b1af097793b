"""Cancelling a generation, explicitly or by dropping its stream, and continuing afterwards."""

import gc
import random
import signal
import threading
import time
from pathlib import Path

import pytest

from laguna_engine import generation
from laguna_engine.engine import Engine, EngineOptions, Request
from laguna_engine.errors import RequestError
from laguna_engine.events import FinishReason, Prefill, Token
from laguna_engine.llama.model import Model
from tests.engine import tiny
from tests.engine.runs import answer, assert_same_answer, gather

N_CTX, UBATCH = 1536, 64
PROMPT = [30 + (7 * index) % 400 for index in range(600)]
SECONDS = 20
"""Far longer than any test here takes; reached only by a hang."""


@pytest.fixture(scope="module")
def model_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # All experts are used, because a rounding error in the routing would change an answer as much as a bug.
    file = tiny.laguna(tiny.Shape(window=16, experts_used=4))
    return file.write(tmp_path_factory.mktemp("models") / "narrow.gguf")


@pytest.fixture(scope="module")
def model(model_path: Path):
    model = Model.open(model_path)
    yield model
    model.close()


@pytest.fixture
def engine(model_path: Path):
    with Engine.open(EngineOptions(model_path, n_ctx=N_CTX, n_ubatch=UBATCH, threads=1)) as engine:
        yield engine


def test_a_cancelled_prefill_stops_within_a_micro_batch_and_is_kept(engine, model):
    stream = engine.generate(Request(PROMPT, max_tokens=5))
    assert isinstance(next(stream), Prefill)
    engine.cancel()
    rest = gather(stream)
    assert rest.reason is FinishReason.CANCELLED
    done = rest.stats.prompt_tokens
    assert done < len(PROMPT)
    assert engine.preview(PROMPT).cached == done
    fresh = answer_of_fresh(model, PROMPT)
    assert_same_answer(model, PROMPT, answer(engine, PROMPT, 12), fresh)


def test_a_cancel_stops_the_computation_that_is_running_not_only_the_next_one(engine, monkeypatch):
    decode = engine._sequence.context.decode

    def cancelled_just_as_it_begins(*arguments):
        engine.cancel()
        return decode(*arguments)

    monkeypatch.setattr(engine._sequence.context, "decode", cancelled_just_as_it_begins)
    stopped = gather(engine.generate(Request(PROMPT)))
    assert (stopped.reason, stopped.stats.prompt_tokens) == (FinishReason.CANCELLED, 0)


def test_a_request_that_was_cancelled_while_it_waited_does_not_touch_the_cache(engine):
    answer(engine, PROMPT, 3)
    busy = engine.generate(Request(PROMPT))
    engine.cancel()
    waiting = engine.generate(Request([77, 78, 79]))
    engine.cancel()
    assert gather(waiting).tokens == []
    assert gather(busy).reason is FinishReason.CANCELLED
    assert engine.preview(PROMPT).cached == len(PROMPT) - 1


def answer_of_fresh(model: Model, prompt: list[int]) -> list[int]:
    with Engine.open(EngineOptions(model.header.path, n_ctx=N_CTX, n_ubatch=UBATCH, threads=1)) as engine:
        return answer(engine, prompt, 12)


def test_wherever_it_is_cancelled_the_next_answer_is_that_of_a_fresh_engine(engine, model):
    dice = random.Random(3)
    with Engine.open(EngineOptions(model.header.path, n_ctx=N_CTX, n_ubatch=UBATCH, threads=1)) as fresh:
        for _ in range(25):
            prompt = [*PROMPT[: dice.randrange(50, 600)], dice.randrange(30, 400)]
            timer = threading.Timer(dice.uniform(0, 0.03), engine.cancel)
            stream = engine.generate(Request(prompt))
            timer.start()
            stopped = gather(stream)
            timer.join()
            assert stopped.reason in (FinishReason.CANCELLED, FinishReason.STOP_TOKEN, FinishReason.CONTEXT_FULL)
            follow = (prompt + stopped.tokens)[: N_CTX - 20]
            fresh.clear()
            assert_same_answer(model, follow, answer(engine, follow, 12), answer(fresh, follow, 12))


def test_cancelling_without_a_generation_does_nothing(engine):
    engine.cancel()
    assert len(answer(engine, PROMPT[:50], 3)) == 3
    engine.cancel()
    assert len(answer(engine, PROMPT[:50], 3)) == 3


def test_cancelling_from_another_thread_ends_a_waiting_reader(engine):
    reasons = []
    stream = engine.generate(Request(PROMPT))
    reader = threading.Thread(target=lambda: reasons.append(gather(stream).reason))
    reader.start()
    engine.cancel()
    reader.join(SECONDS)
    assert reasons == [FinishReason.CANCELLED]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that sends signals")
def test_a_signal_handler_may_cancel_whatever_the_thread_was_doing(engine):
    dice = random.Random(7)
    signal.signal(signal.SIGALRM, lambda *_: engine.cancel())
    try:
        for _ in range(60):
            signal.setitimer(signal.ITIMER_REAL, dice.uniform(0.0005, 0.01))
            assert gather(engine.generate(Request(PROMPT[:200]))).reason in FinishReason
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


def test_a_second_generation_is_refused_while_one_runs(engine):
    stream = engine.generate(Request(PROMPT))
    with pytest.raises(RequestError) as error:
        engine.generate(Request(PROMPT))
    assert str(error.value) == "a generation is running; read it to its end, or cancel it first"
    with pytest.raises(RequestError) as error:
        engine.clear()
    assert str(error.value) == "a generation is running; read it to its end, or cancel it first"
    stream.close()


def test_a_new_generation_may_start_right_after_a_cancel_and_waits_for_the_old_one(engine):
    old = engine.generate(Request(PROMPT))
    engine.cancel()
    assert len(answer(engine, PROMPT[:50], 3)) == 3
    assert gather(old).reason is FinishReason.CANCELLED


def test_a_new_generation_may_start_as_soon_as_the_last_event_was_read(engine):
    for _ in range(50):
        assert len(answer(engine, PROMPT[:50], 2)) == 2


@pytest.mark.parametrize("let_go", ["close", "leave a with block", "leave the loop", "forget", "cycle"])
def test_letting_go_of_the_iterator_cancels(engine, let_go):
    stream = engine.generate(Request(PROMPT))
    probe = stream._channel
    match let_go:
        case "close":
            stream.close()
            assert list(stream) == []
        case "leave a with block":
            with pytest.raises(KeyError), stream:
                raise KeyError
        case "leave the loop":
            next(iter(stream))
        case "cycle":
            stream.itself = stream
    del stream
    gc.collect()
    assert len(answer(engine, PROMPT[:50], 3)) == 3
    *_, last = iter(probe.take, [])
    assert last[-1].reason is FinishReason.CANCELLED


def test_an_exception_in_the_readers_loop_cancels(engine):
    def read():
        for event in engine.generate(Request(PROMPT)):
            raise LookupError(event)

    with pytest.raises(LookupError):
        read()
    assert len(answer(engine, PROMPT[:50], 3)) == 3


def test_a_slow_reader_slows_the_engine_and_can_still_cancel(engine, monkeypatch):
    monkeypatch.setattr(generation, "_CHANNEL_CAPACITY", 8)
    stream = engine.generate(Request(PROMPT[:50]))
    next(stream)
    produced = settled_length(engine)
    assert produced < 400
    engine.cancel()
    rest = gather(stream)
    assert rest.reason is FinishReason.CANCELLED
    assert len(rest.tokens) < 400


def settled_length(engine: Engine) -> int:
    """The length of the cache once it has stopped growing."""
    length, deadline = -1, time.monotonic() + SECONDS
    while length != engine._sequence.position:
        assert time.monotonic() < deadline
        length = engine._sequence.position
        time.sleep(0.1)
    return length


def test_a_preview_answers_while_a_generation_runs(engine):
    stream = engine.generate(Request(PROMPT))
    costs = [engine.preview(PROMPT) for event in stream if isinstance(event, Token)]
    assert {(cost.cached, cost.reprefill) for cost in costs} == {(len(PROMPT) - 1, False)}


def test_many_threads_may_use_one_engine_and_every_stream_ends_well(engine):
    problems: list[BaseException] = []

    def use(seed: int) -> None:
        dice = random.Random(seed)
        try:
            for _ in range(60):
                use_once(engine, dice)
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=use, args=(seed,)) for seed in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert not any(thread.is_alive() for thread in threads)
    assert problems == []


def use_once(engine: Engine, dice: random.Random) -> None:
    stop_texts = ("ab",) if dice.random() < 0.3 else ()
    request = Request(PROMPT[: dice.randrange(1, 300)], stop_texts=stop_texts)
    try:
        match dice.choice(["read", "read", "let go", "cancel", "preview", "clear"]):
            case "read":
                assert isinstance(gather(engine.generate(request)).reason, FinishReason)
            case "let go":
                engine.generate(request)
            case "cancel":
                engine.cancel()
            case "preview":
                engine.preview(PROMPT)
            case "clear":
                engine.clear()
    except RequestError:
        # Somebody else's generation is running.
        time.sleep(0.001)
