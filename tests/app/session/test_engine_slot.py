"""The slot of a session's engine, with real engines: a dead one is given to nobody, and none is left open."""

import shutil
from dataclasses import replace

import pytest

from laguna_engine.config import Speculation
from laguna_engine.engine import Engine
from laguna_engine.errors import EngineClosed, EngineError, NativeAbort
from laguna_tui.base.errors import UserError
from laguna_tui.base.settings import Settings
from laguna_tui.models.model_selection import select_model, select_other
from laguna_tui.session.engine_slot import LOSSES, LOST, OPEN_AGAIN, EngineSlot, keep_open


def quiet(progress):
    pass


@pytest.fixture
def opened(monkeypatch):
    """Every engine that is opened, oldest first."""
    engines = []

    def recorded(options, progress=None, _open=Engine.open):
        engines.append(_open(options, progress))
        return engines[-1]

    monkeypatch.setattr(Engine, "open", recorded)
    return engines


@pytest.fixture
def adopted():
    return []


@pytest.fixture
def slot(tiny_model_path, opened, adopted):
    selection = select_model(Settings(model=str(tiny_model_path), context=512, threads=1))
    slot = EngineSlot(selection, Speculation.FAST, None, lambda backend, of: adopted.append(backend.engine))
    yield slot
    slot.close()


def assert_closed(engine):
    with pytest.raises(EngineClosed):
        engine.preview([1])


def lose(slot):
    with pytest.raises(NativeAbort), slot.watched():
        raise NativeAbort("GGML_ASSERT")


def refuse(error):
    def adopt(backend, selection):
        raise error

    return adopt


def test_the_error_of_an_empty_slot_says_what_to_do(slot):
    assert slot.engine is None
    with pytest.raises(UserError) as error:
        slot.healthy()
    assert str(error.value) == "no model is loaded; open one first"


def test_the_same_engine_is_given_again_while_it_is_well(slot, opened):
    slot.open(quiet)
    assert slot.healthy() is slot.healthy() is slot.backend
    assert len(opened) == 1


def test_a_lost_engine_is_replaced_by_one_that_was_adopted(slot, opened, adopted):
    slot.open(quiet)
    lose(slot)
    assert slot.engine is None
    fresh = slot.healthy().engine
    assert fresh is slot.engine is opened[1]
    assert adopted == opened
    assert_closed(opened[0])
    fresh.preview([1])


@pytest.mark.parametrize("seconds", [301, 1000])
def test_an_unattended_model_is_opened_again(slot, opened, seconds):
    slot.open(quiet)
    times, said = iter(range(0, 4 * seconds, seconds)), []

    def ended(_):
        assert not slot.lost
        if len(opened) == 5:
            return True
        lose(slot)
        return False

    keep_open(slot, ended, said.append, lambda: next(times))
    assert said == [LOST, OPEN_AGAIN] * 4


def test_a_model_that_is_lost_again_and_again_is_given_up(slot, opened):
    slot.open(quiet)
    times = iter(range(0, 600, 299))

    def ended(_):
        lose(slot)
        return False

    with pytest.raises(EngineError) as error:
        keep_open(slot, ended, quiet, lambda: next(times))
    assert str(error.value) == (
        "llama.cpp stopped on a failed check 3 times in 10 minutes; run laguna-tui selfcheck, and start this "
        "again with other settings, such as a smaller --context or --speculation off"
    )
    assert len(opened) == LOSSES


@pytest.mark.parametrize("error", [EngineError("no further"), KeyboardInterrupt()])
def test_an_engine_that_cannot_be_adopted_is_closed(tiny_model_path, opened, error):
    selection = select_model(Settings(model=str(tiny_model_path), context=512, threads=1))
    slot = EngineSlot(selection, Speculation.FAST, None, refuse(error))
    with pytest.raises(type(error)):
        slot.open(quiet)
    assert slot.engine is None
    assert_closed(opened[0])


@pytest.mark.parametrize("error", [EngineError("no room"), UserError("not here")])
def test_when_no_engine_opens_for_a_mode_the_previous_one_is_opened_again(slot, monkeypatch, error):
    slot.mode = Speculation.OFF
    slot.open(quiet)

    def no_drafts(options, progress=None, _open=Engine.open):
        if options.speculation is not Speculation.OFF:
            raise error
        return _open(options, progress)

    monkeypatch.setattr(Engine, "open", no_drafts)
    with pytest.raises(type(error)):
        slot.reopen(Speculation.FAST, quiet)
    assert slot.engine is not None
    slot.engine.preview([1])


def test_a_model_that_cannot_be_adopted_leaves_the_selection_and_an_engine_of_it(
    slot, opened, tiny_model_path, tmp_path
):
    slot.open(quiet)
    before = slot.selection
    other = select_other(before.settings, str(shutil.copy(tiny_model_path, tmp_path / "other.gguf")))
    with pytest.raises(EngineError) as error:
        slot.replace(other, refuse(EngineError("cannot chat")), quiet)
    assert str(error.value) == "cannot chat"
    assert slot.selection is before
    assert slot.engine is opened[2]
    assert_closed(opened[0])
    assert_closed(opened[1])


def test_another_model_takes_the_place_with_its_selection(slot, opened, adopted, tiny_model_path, tmp_path):
    slot.open(quiet)
    other = select_other(slot.selection.settings, str(shutil.copy(tiny_model_path, tmp_path / "other.gguf")))
    others = []
    slot.replace(other, lambda backend, of: others.append((backend.engine, of)), quiet)
    assert others == [(opened[1], other)]
    assert slot.selection is other
    assert adopted == opened[:1]


def test_after_a_fresh_engine_could_not_be_had_the_next_call_tries_again(slot, opened):
    slot.open(quiet)
    lose(slot)
    good = slot.selection
    slot.selection = replace(good, settings=replace(good.settings, context=1 << 30))
    with pytest.raises(UserError):
        slot.healthy()
    assert slot.engine is None
    slot.selection = good
    assert slot.healthy().engine is opened[1]


def test_closing_frees_the_engine_for_good_and_can_be_repeated(slot, opened):
    slot.open(quiet)
    slot.close()
    slot.close()
    assert_closed(opened[0])
    assert slot.engine is None
    assert slot.opened_as is None
