"""Snapshots of the edit panel: fixed sizes, no clock, no cursor, no animation."""

from pathlib import Path

import pytest

from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.tui.approvals import approval_controller, approval_panel
from tests.tui.changes import Project
from tests.tui.pilot import ready, until
from tests.tui.scripted import ScriptedSession, answer
from tests.tui.test_snapshots import still

NARROW, USUAL, WIDE = (40, 24), (80, 24), (200, 50)


@pytest.fixture
def project(tmp_path: Path, monkeypatch) -> Project:
    monkeypatch.setattr(approval_panel, "REACTION_S", 0.0)
    monkeypatch.setattr(approval_controller, "TYPING_S", 0.0)
    return Project(tmp_path)


def session(*proposals: ChangeProposal) -> ScriptedSession:
    script = answer("`total` is called `amount` now.", before=proposals)
    return ScriptedSession(script, title="Laguna Nano", folder=Path("/src/project"))


async def asked(pilot) -> None:
    app = pilot.app
    await ready(app, pilot)
    app.prompt.replace_text("rename total to amount in shop/cart.py")
    await pilot.press("enter")
    await until(pilot, lambda: app.approval_panel.has_focus)
    await pilot.pause(0.2)


@pytest.mark.parametrize("size", [USUAL, NARROW, WIDE])
def test_the_question(snap_compare, project: Project, size: tuple[int, int]) -> None:
    assert snap_compare(still(session(project.rename())), terminal_size=size, run_before=asked)


def test_the_question_in_light(snap_compare, project: Project) -> None:
    assert snap_compare(still(session(project.rename()), "laguna-light"), terminal_size=USUAL, run_before=asked)


@pytest.mark.parametrize("size", [USUAL, NARROW])
def test_a_warning_while_something_is_typed(snap_compare, project: Project, size: tuple[int, int]) -> None:
    async def typing(pilot) -> None:
        await asked(pilot)
        await pilot.press("tab")
        pilot.app.prompt.replace_text("and then")
        await pilot.pause(0.2)

    chat = session(project.edit("def total(self):", "def total(self:"))
    assert snap_compare(still(chat), terminal_size=size, run_before=typing)


@pytest.mark.parametrize("size", [USUAL, NARROW])
def test_a_long_diff(snap_compare, project: Project, size: tuple[int, int]) -> None:
    assert snap_compare(still(session(project.long())), terminal_size=size, run_before=asked)


@pytest.mark.parametrize("size", [USUAL, NARROW])
def test_an_edit_that_was_made_and_one_that_was_not(snap_compare, project: Project, size: tuple[int, int]) -> None:
    async def decided(pilot) -> None:
        await asked(pilot)
        first = pilot.app.writer.asked
        await pilot.press("n")
        await until(pilot, lambda: pilot.app.approval_panel.has_focus and pilot.app.writer.asked is not first)
        await pilot.press("y")
        await ready(pilot.app, pilot)

    chat = session(project.rename(), project.edit("# in cents", "# in cents, with taxes"))
    assert snap_compare(still(chat), terminal_size=size, run_before=decided)
