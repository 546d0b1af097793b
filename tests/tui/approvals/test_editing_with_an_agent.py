"""Edits from the question to the answer, with the real agent and a scripted model."""

from pathlib import Path

import pytest

from laguna_tui.base.permission_request import Mode
from laguna_tui.session.session import Session
from laguna_tui.tui.approvals import approval_panel
from laguna_tui.tui.controllers import approval_controller
from tests.scripted_model import call, say
from tests.tui.changes import CART, Project
from tests.tui.pilot import ready, running, transcript, until

RENAME = say(call("edit", path="shop/cart.py", old="total", new="amount", all=True))


@pytest.fixture
def project(chat, tmp_path: Path, monkeypatch) -> Project:
    monkeypatch.setattr(approval_panel, "REACTION_S", 0.0)
    monkeypatch.setattr(approval_controller, "TYPING_S", 0.0)
    return Project(tmp_path / "project")


@pytest.fixture
def session(chat) -> Session:
    return chat(RENAME, "Renamed.", mode="ask")


async def asked(app, pilot) -> None:
    await ready(app, pilot)
    await pilot.press(*"rename", "enter")
    await until(pilot, lambda: app.approval_panel.has_focus)


async def test_an_edit_is_made_and_answered(session: Session, project: Project) -> None:
    async with running(session) as (app, pilot):
        await asked(app, pilot)
        await pilot.press("y")
        await ready(app, pilot)
        assert project.cart.read_text() == CART.replace("total", "amount")
        assert "Renamed." in transcript(app)


async def test_a_turn_that_is_stopped_while_it_asks_leaves_a_whole_conversation(
    session: Session, project: Project
) -> None:
    async with running(session) as (app, pilot):
        await asked(app, pilot)
        await pilot.press("escape")
        await ready(app, pilot)
        assert project.cart.read_text() == CART
        assert "stopped" in transcript(app)
        assert "Renamed." not in transcript(app)
        assert len(session.opened().agent.conversation.items()) >= 2
        await pilot.press(*"again", "enter")
        await until(pilot, lambda: "Renamed." in transcript(app))


async def test_what_other_programs_obey_is_asked_about_although_all_edits_are_allowed(
    session: Session, project: Project
) -> None:
    (project.root / "AGENTS.md").symlink_to("shop/cart.py")
    session.permissions.mode = Mode.ACCEPT_EDITS
    async with running(session) as (app, pilot):
        await asked(app, pilot)
        assert "coding assistants follow it" in app.approval_panel.render().plain
        assert project.cart.read_text() == CART
        await pilot.press("y")
        await ready(app, pilot)
        assert project.cart.read_text() == CART.replace("total", "amount")
