"""A session's edits: the setting, who is asked, and that a switch of models loses nothing."""

import pytest

from laguna_tui.base.messages import BlockKind
from laguna_tui.base.permission_request import Decision, Mode, PermissionAnswer
from laguna_tui.base.settings import Settings
from laguna_tui.session.session import Session
from tests.app.approvers import always, run_tool

CALL = {"path": "cart.py", "old": "total", "new": "amount"}


def quiet(progress):
    pass


@pytest.fixture
def cart(tmp_path):
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/cart.py").write_text("total = 1\n")
    return tmp_path / "shop/cart.py"


@pytest.fixture
def session(tiny_model_path, cart, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    settings = Settings(model=str(tiny_model_path), context=8192, threads=1, max_tokens=8, temperature=0.0)
    session = Session(settings, cart.parent)
    yield session
    session.close()


def edit(session):
    return run_tool(session.parts.toolbox, "edit", CALL).output


def test_nobody_is_asked_before_there_is_an_approver(session, cart):
    session.open(quiet)
    assert "nobody can be asked" in edit(session)
    session.permissions.use_approver(always)
    assert edit(session).startswith("Changed")


def test_the_approver_may_be_set_before_the_model_is_open(session, cart):
    session.permissions.use_approver(always)
    session.open(quiet)
    assert edit(session).startswith("Changed")


def test_the_mode_is_the_settings_until_it_is_changed(session, cart):
    session.permissions.use_approver(lambda request, cancelled: PermissionAnswer(Decision.ALWAYS))
    assert session.permissions.mode is Mode.ASK
    session.permissions.mode = Mode.PLAN
    session.open(quiet)
    assert session.permissions.mode is Mode.PLAN
    assert "plan mode" in edit(session)
    session.permissions.mode = Mode.ASK
    assert edit(session).startswith("Changed")
    assert session.permissions.mode is Mode.ASK


def test_an_edited_file_that_is_mentioned_again_is_attached_as_it_is_now(session, cart):
    session.permissions.mode = Mode.ACCEPT_EDITS
    session.open(quiet)
    list(session.chat.ask("@cart.py what is this?"))
    edit(session)
    list(session.chat.ask("@cart.py and now?"))
    attached = [block.number for block in session.prompt.blocks() if block.kind is BlockKind.FILE]
    texts = [session.prompt.block_text(number).before for number in attached]
    assert [("total = 1" in text, "amount = 1" in text) for text in texts] == [(True, False), (False, True)]
