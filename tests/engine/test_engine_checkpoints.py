"""A change far back in the prompt costs the prefill of what follows it, not of everything; and memory is bounded."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from laguna_engine import checkpoints
from laguna_engine.config import KvType
from laguna_engine.engine import Engine, EngineOptions, Request
from laguna_engine.events import FinishReason
from laguna_engine.fit.memory import window_size
from laguna_engine.fit.model_shape import ModelShape
from tests.engine.runs import Run, answer, assert_same_answer, gather

EARLIER = [40 + (11 * index) % 400 for index in range(400)]
QUESTION = [50 + (7 * index) % 380 for index in range(150)]
ANSWER = 300
"""Further back than the 256 cells of the sliding window."""

Open = Callable[..., Engine]


@pytest.fixture(autouse=True)
def at_any_price(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models this small are prefilled faster than copied; the test must not depend on the machine's speed."""
    monkeypatch.setattr(checkpoints, "_SHARE", float("inf"))


@pytest.fixture
def opened(tiny_model_path: Path) -> Iterator[Open]:
    plain = EngineOptions(tiny_model_path, n_ctx=1200, n_ubatch=64, threads=1)
    with ExitStack() as stack:
        yield lambda **changes: stack.enter_context(Engine.open(replace(plain, **changes)))


def run(engine: Engine, tokens: list[int], count: int) -> Run:
    return gather(engine.generate(Request(tokens, max_tokens=count)))


def converse(engine: Engine) -> None:
    """Two turns, the second of which is answered at length."""
    run(engine, EARLIER, 1)
    run(engine, [*EARLIER, *QUESTION], ANSWER)


EDITED = [*EARLIER, *QUESTION[:50], 77, *QUESTION[51:]]


def test_an_edited_message_is_read_from_its_beginning_on(opened: Open) -> None:
    engine = opened()
    converse(engine)
    cost = engine.preview(EDITED)
    assert (cost.cached, cost.new, cost.first_changed, cost.reprefill) == (400, 150, 450, False)
    assert run(engine, EDITED, 5).stats.cached_tokens == 400


def test_without_checkpoints_everything_is_read_again(opened: Open) -> None:
    engine = opened(checkpoints=0)
    converse(engine)
    assert engine.preview(EDITED).reprefill
    assert run(engine, EDITED, 5).stats.cached_tokens == 0


def test_an_answer_told_again_reads_one_token(opened: Open) -> None:
    engine = opened()
    converse(engine)
    assert run(engine, [*EARLIER, *QUESTION], 5).stats.cached_tokens == len(EARLIER) + len(QUESTION) - 1


def test_a_reading_ahead_that_is_thrown_away_costs_the_message_nothing(opened: Open) -> None:
    engine = opened()
    said = [*EARLIER, *run(engine, EARLIER, 60).tokens]
    run(engine, [*said, *QUESTION, *QUESTION, *QUESTION], 0)
    cost = engine.preview([*said, 77, 78])
    assert (cost.reprefill, cost.new) == (False, 3)


def test_the_answer_after_going_back_is_that_of_a_fresh_engine(opened: Open) -> None:
    engine = opened()
    converse(engine)
    found = answer(engine, EDITED, 20)
    fresh = opened()
    assert_same_answer(fresh._sequence.model, EDITED, found, answer(fresh, EDITED, 20))


def test_a_cleared_cache_has_no_checkpoints(opened: Open) -> None:
    engine = opened()
    converse(engine)
    engine.clear()
    assert engine.preview(EDITED).cached == 0
    assert engine._sequence.checkpoints.nbytes == 0


def test_a_window_of_full_length_needs_no_checkpoints_and_has_none(opened: Open) -> None:
    engine = opened(swa_full=True)
    converse(engine)
    assert engine._sequence.checkpoints.nbytes == 0
    assert engine.preview(EDITED).cached == 450


def test_their_number_and_their_bytes_stay_within_the_options(opened: Open) -> None:
    two, small = opened(checkpoints=2), opened(checkpoint_bytes=100_000)
    for stop in range(150, 1200, 150):
        for engine in (two, small):
            run(engine, (EARLIER * 3)[:stop], 0)
    assert len(two._sequence.checkpoints.lengths) == 2
    assert 50_000 < small._sequence.checkpoints.nbytes <= 100_000


@pytest.mark.parametrize("kv", KvType, ids=lambda kv: kv.value)
def test_what_one_takes_is_known_before_it_is_made(opened: Open, kv: KvType) -> None:
    engine = opened(kv_type=kv)
    run(engine, EARLIER, 0)
    expected = window_size(ModelShape.of(engine._sequence.model.header), kv)
    assert expected <= engine._sequence.checkpoints.nbytes < expected + 2000


def test_too_little_memory_for_one_is_told_when_the_model_is_opened(opened: Open) -> None:
    assert opened().info.warnings == ()
    engine = opened(checkpoint_bytes=1000)
    assert any("checkpoint" in warning and "raise the limit" in warning for warning in engine.info.warnings)
    converse(engine)
    assert engine.preview(EDITED).reprefill


def test_where_memory_runs_out_the_answer_comes_all_the_same(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = opened()

    def none_left(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(engine._sequence.context, "save_window", none_left)
    assert run(engine, EARLIER, 5).reason is FinishReason.MAX_TOKENS


def test_no_checkpoint_is_made_while_an_answer_is_decoded(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "STEP", 64)
    monkeypatch.setattr(checkpoints, "_LEAST", 1)
    engine = opened()
    run(engine, EARLIER, ANSWER)
    assert engine._sequence.checkpoints.lengths[-1] == len(EARLIER)
