"""Drafters that leave the device for a while: answers stay the same, and what they knew is there again afterwards."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from laguna_engine.config import Speculation
from laguna_engine.draft import dflash
from laguna_engine.draft.dflash import DFlash
from laguna_engine.draft.suffix import FileDrafter
from laguna_engine.engine import Drafting, Engine, EngineOptions, Request
from laguna_engine.errors import GraphError
from laguna_engine.events import DrafterFailed, Round, Source
from laguna_engine.llama.model import Model
from tests.engine.runs import Run, assert_same_answer, gather

PROMPT = [40 + (11 * index) % 400 for index in range(130)]
COUNT = 24


@pytest.fixture
def engine(files: tuple[Path, Path]) -> Iterator[Engine]:
    target, drafter = files
    options = EngineOptions(target, n_ctx=1024, threads=1, speculation=Speculation.FAST, drafter=drafter)
    with Engine.open(options) as opened:
        yield opened


def ask(engine: Engine, prompt: list[int] = PROMPT, *sources: Source) -> Run:
    """An answer, drafted by the drafter with drafts of three tokens unless others are named."""
    drafting = Drafting(length=3, sources=frozenset(sources or (DFlash.source,)))
    return gather(engine.generate(Request(prompt, max_tokens=COUNT, drafting=drafting)))


def drafts(run: Run) -> list[tuple[int, int]]:
    return [(event.drafted, event.accepted) for event in run.events if isinstance(event, Round)]


def test_the_answer_is_the_same_while_they_rest_and_is_not_drafted(engine: Engine, model: Model) -> None:
    before = ask(engine)
    assert any(drafted for drafted, _ in drafts(before))
    assert engine.rest_drafters() > 0
    assert engine.drafter_nbytes == 0
    resting = ask(engine)
    assert_same_answer(model, PROMPT, resting.tokens, before.tokens)
    assert not any(drafted for drafted, _ in drafts(resting))
    assert not [event for event in resting.events if isinstance(event, DrafterFailed)]


def test_they_draft_again_as_they_did(files: tuple[Path, Path]) -> None:
    answers = []
    for rests in (False, True):
        target, drafter = files
        options = EngineOptions(target, n_ctx=1024, threads=1, speculation=Speculation.FAST, drafter=drafter)
        with Engine.open(options) as engine:
            first = ask(engine)
            if rests:
                taken = engine.drafter_nbytes
                assert engine.rest_drafters() == taken
                engine.resume_drafters()
                assert engine.drafter_nbytes > 0
            answers.append(ask(engine, [*PROMPT, *first.tokens, 77]))
    assert answers[0].tokens == answers[1].tokens
    # To the draft: what it knew of the first answer was put back.
    assert drafts(answers[0]) == drafts(answers[1])


def test_what_was_read_meanwhile_is_not_taken_for_what_they_knew(engine: Engine, model: Model) -> None:
    ask(engine)
    engine.rest_drafters()
    other = [60 + (7 * index) % 380 for index in range(200)]
    while_resting = ask(engine, other)
    engine.resume_drafters()
    again = ask(engine, other)
    assert_same_answer(model, other, again.tokens, while_resting.tokens)
    assert any(drafted for drafted, _ in drafts(again))


def test_those_that_take_nothing_on_the_device_stay(engine: Engine) -> None:
    answer = ask(engine)
    engine.rest_drafters()
    drafting = Drafting(length=3, sources=frozenset([FileDrafter.source]), files=([*PROMPT[-8:], *answer.tokens],))
    copying = gather(engine.generate(Request(PROMPT, max_tokens=COUNT, drafting=drafting)))
    assert any(drafted for drafted, _ in drafts(copying))


def test_resting_twice_and_resuming_twice_changes_nothing(engine: Engine) -> None:
    taken = engine.drafter_nbytes
    assert [engine.rest_drafters(), engine.rest_drafters()] == [taken, 0]
    engine.resume_drafters()
    engine.resume_drafters()
    assert any(drafted for drafted, _ in drafts(ask(engine)))


def test_one_that_has_no_room_any_more_costs_drafts_and_a_warning(
    engine: Engine, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = ask(engine)
    engine.rest_drafters()

    def full(*_: object, **__: object) -> None:
        raise GraphError("there is not enough free memory")

    monkeypatch.setattr(dflash.DFlash, "open", full)
    engine.resume_drafters()
    after = ask(engine)
    (failure,) = [event for event in after.events if isinstance(event, DrafterFailed)]
    assert failure.drafter == DFlash.source
    assert "not enough free memory" in failure.problem
    assert_same_answer(model, PROMPT, after.tokens, before.tokens)


def test_an_engine_without_drafters_has_none_that_rest(files: tuple[Path, Path]) -> None:
    with Engine.open(EngineOptions(files[0], n_ctx=256, threads=1, speculation=Speculation.OFF)) as engine:
        assert (engine.drafter_nbytes, engine.rest_drafters()) == (0, 0)
        engine.resume_drafters()
