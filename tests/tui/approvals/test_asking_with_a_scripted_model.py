"""Questions, from the model's call to what it reads next: a real session and engine, and a model with a script."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from laguna_tui.agent.permissions.modes import PLAN_OFF, PLAN_ON
from laguna_tui.base.permission_request import Mode
from laguna_tui.session.session import Session
from laguna_tui.tui.app import LagunaApp
from laguna_tui.tui.approvals import approval_panel
from laguna_tui.tui.approvals.text_editor import EditorArea, MessageInput, TextEditor
from laguna_tui.tui.controllers import approval_controller
from laguna_tui.tui.controllers.mode_controller import APPROVED
from tests.scripted_model import Script, call, say, scripted_session
from tests.tui.pilot import ready, running, screen, transcript, until

FILE = "price = 1\n"


@pytest.fixture(autouse=True)
def _quick(monkeypatch) -> None:
    monkeypatch.setattr(approval_panel, "REACTION_S", 0.0)
    monkeypatch.setattr(approval_controller, "TYPING_S", 0.0)


@asynccontextmanager
async def told(folder: Path, script: Script, **settings: Any) -> AsyncIterator[tuple[LagunaApp, Pilot[None], Session]]:
    """The app after a message to a model with this script, in a folder with one file."""
    project = folder / "shop"
    project.mkdir()
    (project / "prices.py").write_text(FILE)
    with closing(scripted_session(project, script, **settings)) as session:
        async with running(session, size=(100, 40)) as (app, pilot):
            await ready(app, pilot)
            app.prompt.replace_text("do it")
            await pilot.press("enter")
            yield app, pilot, session


async def asked(app: LagunaApp, pilot: Pilot[None]) -> None:
    await until(pilot, lambda: app.approval_panel.has_focus)


def edit(old: str, new: str):
    return call("edit", path="prices.py", old=old, new=new)


async def test_a_command_is_approved_and_its_output_streams_and_folds(tmp_path: Path) -> None:
    command = "for i in 1 2 3 4 5 6 7 8 9; do echo line $i; done; while [ ! -e go ]; do sleep 0.02; done; echo over"
    script = Script([say(call("shell", cmd=command)), say("Nine lines.")])
    async with told(tmp_path, script) as (app, pilot, _):
        await asked(app, pilot)
        assert "$ for i in 1 2 3" in screen(app)
        await pilot.press("y")
        await until(pilot, lambda: "line 9" in transcript(app))
        assert "running …" in transcript(app)
        assert "│ line 1\n" not in transcript(app), "only the last lines show"
        assert "… 3 lines above" in transcript(app)
        (tmp_path / "shop" / "go").touch()
        await until(pilot, lambda: "Nine lines." in transcript(app))
        await ready(app, pilot)
        assert "running …" not in transcript(app)
        assert "line 9" not in transcript(app).replace(command, "")
        await pilot.press("ctrl+o")
        await until(pilot, lambda: "│ line 1\n" in transcript(app))
        assert '"exit_code": 0' in script.asked[-1].result


async def test_an_edit_is_edited_before_it_is_applied_and_the_model_is_told(tmp_path: Path) -> None:
    script = Script([say(edit("price = 1", "price = 2")), say("Two.")])
    async with told(tmp_path, script) as (app, pilot, _):
        await asked(app, pilot)
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, TextEditor))
        app.screen.query_one(EditorArea).load_text("price = 3\n")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "+ price = 3" in screen(app))
        assert (tmp_path / "shop" / "prices.py").read_text() == FILE
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "Two." in transcript(app))
        assert (tmp_path / "shop" / "prices.py").read_text() == "price = 3\n"
        assert "The user edited the change" in script.asked[-1].result
        assert "+ price = 3" in transcript(app)


async def test_the_model_reads_why_the_user_said_no(tmp_path: Path) -> None:
    script = Script([say(edit("price = 1", "price = 2")), say("In cents, then.")])
    async with told(tmp_path, script) as (app, pilot, _):
        await asked(app, pilot)
        await pilot.press("m")
        await until(pilot, lambda: isinstance(app.screen, MessageInput))
        await pilot.press(*"in_cents", "enter")
        await until(pilot, lambda: "In cents, then." in transcript(app))
        assert "declined this edit and says: in_cents" in script.asked[-1].result
        assert (tmp_path / "shop" / "prices.py").read_text() == FILE


async def test_always_writes_the_rule_that_was_shown_and_the_next_one_is_not_asked(tmp_path: Path) -> None:
    script = Script([say(edit("price = 1", "price = 2")), say(edit("price = 2", "price = 3")), say("Three.")])
    async with told(tmp_path, script) as (app, pilot, _):
        await asked(app, pilot)
        assert "a adds the rule edit(prices.py) for this folder" in screen(app)
        await pilot.press("a")
        await until(
            pilot,
            lambda: "edit(prices.py) is now allowed in this folder." in [note.message for note in app._notifications],
        )
        await until(pilot, lambda: "Three." in transcript(app))
        assert (tmp_path / "shop" / "prices.py").read_text() == "price = 3\n"
        assert transcript(app).count("allowed by the rule edit(prices.py)") == 1


async def test_a_plan_is_approved_and_carried_out(tmp_path: Path) -> None:
    script = Script([say("1. Raise the price."), say(edit("price = 1", "price = 2")), say("Raised.")])
    async with told(tmp_path, script, mode="plan") as (app, pilot, session):
        await asked(app, pilot)
        assert "Carry out this plan?" in screen(app)
        assert "plan · fast" in screen(app)
        await pilot.press("y")
        await until(pilot, lambda: "Raised." in transcript(app))
        assert PLAN_ON in script.asked[0].user
        assert APPROVED in script.asked[1].user
        assert PLAN_OFF in script.asked[1].user
        assert session.permissions.mode is Mode.ACCEPT_EDITS
        assert (tmp_path / "shop" / "prices.py").read_text() == "price = 2\n"


async def test_a_plan_is_edited_and_sent(tmp_path: Path) -> None:
    script = Script([say("1. Raise the price."), say("Lowered.")])
    async with told(tmp_path, script, mode="plan") as (app, pilot, session):
        await asked(app, pilot)
        await pilot.resize_terminal(40, 24)
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, TextEditor))
        assert "Ctrl+S approves it · Esc back" in screen(app)
        assert app.screen.query_one(EditorArea).text == "1. Raise the price."
        app.screen.query_one(EditorArea).load_text("1. Lower the price.")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "Lowered." in transcript(app))
        assert "1. Lower the price." in script.asked[1].user
        assert session.permissions.mode is Mode.ACCEPT_EDITS


async def test_a_plan_that_is_declined_stays_a_plan(tmp_path: Path) -> None:
    script = Script([say("1. Raise the price."), say("1. Lower it.")])
    async with told(tmp_path, script, mode="plan") as (app, pilot, session):
        await asked(app, pilot)
        await pilot.press("n")
        await until(pilot, lambda: app.prompt.has_focus)
        assert not app.approval_panel.display
        await pilot.press(*"lower", "enter")
        await until(pilot, lambda: "1. Lower it." in transcript(app) and app.approval_panel.has_focus)
        assert session.permissions.mode is Mode.PLAN
        await pilot.press("escape")
        await until(pilot, lambda: app.prompt.has_focus)


async def test_a_message_sent_instead_of_an_answer_ends_the_question_about_the_plan(tmp_path: Path) -> None:
    script = Script([say("1. Raise the price."), say("1. Yes?")])
    async with told(tmp_path, script, mode="plan") as (app, pilot, session):
        await asked(app, pilot)
        await pilot.press(*"why", "enter")
        await until(pilot, lambda: "Yes?" in transcript(app))
        assert session.permissions.mode is Mode.PLAN
        await asked(app, pilot)
        await pilot.press("tab", "shift+tab")
        await until(pilot, lambda: not app.approval_panel.display)
        assert session.permissions.mode is Mode.AUTO
