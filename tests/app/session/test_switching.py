"""Another model for the same conversation, on real engines: the old one goes first, the words stay."""

import shutil
from dataclasses import replace

import pytest

from laguna_engine.chat.messages import AssistantMessage
from laguna_engine.engine import Engine
from laguna_engine.errors import EngineClosed, EngineError, ModelFileError
from laguna_tui.base.errors import UserError
from laguna_tui.base.events import TurnFinished
from laguna_tui.base.settings import Settings
from laguna_tui.session.session import Session
from laguna_tui.session.values import Here
from tests.app.agent.scripted_engine import text
from tests.app.session.place import tokens
from tests.engine import tiny


def quiet(progress):
    pass


@pytest.fixture
def session(tiny_model_path, tmp_path):
    settings = Settings(model=str(tiny_model_path), context=8192, threads=1, max_tokens=8, temperature=0.0)
    session = Session(settings, tmp_path)
    session.open(quiet)
    yield session
    session.close()


@pytest.fixture
def other(tiny_model_path, tmp_path):
    return shutil.copy(tiny_model_path, tmp_path / "Laguna-S-2.1-other.gguf")


def engine(session):
    return session.slot.engine


def agent(session):
    return session.parts.agent


def test_the_old_engine_is_closed_before_the_new_one_opens(session, other, monkeypatch):
    before, closed = engine(session), []

    def opened(options, progress=None, _open=Engine.open):
        with pytest.raises(EngineClosed):
            before.preview([1])
        closed.append(options.model.name)
        return _open(options, progress)

    monkeypatch.setattr(Engine, "open", opened)
    session.models.switch(str(other), quiet)
    assert closed == ["Laguna-S-2.1-other.gguf"]


def test_the_conversation_continues_in_the_new_models_own_format(session, other):
    list(session.chat.ask("where is the cart?"))
    said = agent(session).conversation.items()
    session.models.switch(str(other), quiet)
    # The first model's template breaks lines behind its markers, that of S 2.1 does not.
    read = text(agent(session).conversation)
    assert "<user>\n" not in read
    assert "where is the cart?" in read
    assert agent(session).conversation.items() == said
    assert session.title == "Laguna S 2.1"
    assert isinstance(list(session.chat.ask("and now?"))[-1], TurnFinished)


def test_messages_survive_a_switch_and_back(session, other, tiny_model_path):
    list(session.chat.ask("where is the cart?"))
    said = agent(session).conversation.items()
    session.models.switch(str(other), quiet)
    session.models.switch(str(tiny_model_path), quiet)
    assert agent(session).conversation.items() == said
    assert isinstance(said[1].answer, AssistantMessage)


def test_a_file_that_is_not_there_is_refused_before_anything_is_closed(session):
    before = engine(session)
    with pytest.raises(UserError) as error:
        session.models.switch("nowhere.gguf", quiet)
    assert str(error.value) == "nowhere.gguf: there is no such file; check the path"
    assert engine(session) is before


def test_a_model_that_is_not_downloaded_is_refused_and_says_how_to_get_it(session, monkeypatch, tmp_path):
    monkeypatch.setenv("LAGUNA_TUI_MODELS", str(tmp_path / "none"))
    with pytest.raises(UserError) as error:
        session.models.switch("xs-2.1", quiet)
    assert str(error.value) == (
        "Laguna XS 2.1 is not on this machine; download it (laguna-tui models download xs-2.1), or pass the path of "
        "its GGUF: --model FILE.gguf"
    )


def test_a_model_that_cannot_be_opened_leaves_the_one_before(session, tmp_path, tiny_model_path):
    list(session.chat.ask("where is the cart?"))
    before = tokens(session)
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(ModelFileError) as error:
        session.models.switch(str(broken), quiet)
    assert str(error.value) == (
        f"{broken}: is GGUF version 0, this engine reads little-endian versions 2 and 3; download a current conversion"
    )
    assert session.slot.selection.settings.model == str(tiny_model_path)
    assert tokens(session) == before
    assert isinstance(list(session.chat.ask("and now?"))[-1], TurnFinished)


def test_a_model_that_cannot_chat_is_closed_again(session, other, monkeypatch):
    opened = []

    def remember(options, progress=None, _open=Engine.open):
        opened.append(_open(options, progress))
        return opened[-1]

    def refuse(*_):
        raise ModelFileError("not a Laguna model")

    monkeypatch.setattr(Engine, "open", remember)
    monkeypatch.setattr(type(agent(session)), "use_model", refuse)
    with pytest.raises(ModelFileError) as error:
        session.models.switch(str(other), quiet)
    assert str(error.value) == "not a Laguna model"
    with pytest.raises(EngineClosed):
        opened[0].preview([1])
    assert engine(session) is opened[1]
    assert isinstance(list(session.chat.ask("and now?"))[-1], TurnFinished)


def test_after_a_model_that_could_not_be_opened_at_all_another_can(tmp_path, tiny_model_path):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(100))
    session = Session(Settings(model=str(broken), context=8192, threads=1, max_tokens=8), tmp_path)
    with pytest.raises(EngineError):
        session.open(quiet)
    first, *others = session.models.choices()
    assert (first.name, first.current, first.runs) == (str(broken), False, False)
    assert first.fits.startswith(f"did not open: {broken}: is GGUF version 0, ")
    assert not any(choice.current for choice in others)
    assert session.models.switch(str(tiny_model_path), quiet).context_size == 8192
    assert [choice.name for choice in session.models.choices() if choice.current] == [str(tiny_model_path)]
    assert isinstance(list(session.chat.ask("hello"))[-1], TurnFinished)
    session.close()


def test_a_drafter_that_was_named_for_one_model_is_not_tried_with_another(session, other, tiny_model_path):
    slot = session.slot
    drafting = slot.selection.settings.merged({"drafter": str(tiny_model_path)})
    slot.selection = replace(slot.selection, settings=drafting)
    session.models.switch(str(other), quiet)
    assert session.slot.selection.drafter is None


def test_a_model_with_less_context_than_was_set_for_the_one_before_has_all_of_its_own(session, tmp_path):
    smaller = tiny.laguna(tiny.Shape(n_ctx=4096)).write(tmp_path / "smaller.gguf")
    assert session.models.switch(str(smaller), quiet).context_size == 4096


def test_the_models_are_listed_with_what_is_here_and_whether_they_run(session, monkeypatch, tmp_path):
    monkeypatch.setenv("LAGUNA_TUI_MODELS", str(tmp_path / "none"))
    found = {choice.name: choice for choice in session.models.choices()}
    assert found[session.slot.selection.settings.model].current
    assert (found["nano"].here, found["nano"].runs) == (Here.READY, True)
    assert found["xs-2.1"].here is Here.MISSING
    assert found["xs-2.1"].size == 20_274_300_032
    assert found["xs-2.1"].fits
