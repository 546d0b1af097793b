"""Snapshots of what the agent asks and does: fixed sizes, no clock, no cursor, no animation."""

from pathlib import Path

import pytest

from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.base.events import (
    ChangeMade,
    Compacted,
    Compacting,
    PermissionAnswered,
    TodoChanged,
    TodoItem,
    TodoState,
    ToolFinished,
    ToolProgress,
    ToolStarted,
)
from laguna_tui.base.permission_request import CommandProposal, Decision, Mode, PermissionAnswer, PermissionRequest
from laguna_tui.tui.approvals import approval_panel
from laguna_tui.tui.approvals.text_editor import EditorArea, MessageInput, TextEditor
from laguna_tui.tui.controllers import approval_controller
from tests.tui.changes import Project
from tests.tui.pilot import ready, screen, until
from tests.tui.scripted import PlayedSession, answer
from tests.tui.test_snapshots import still

NARROW, USUAL, WIDE = (40, 24), (80, 24), (200, 50)


@pytest.fixture
def project(tmp_path: Path, monkeypatch) -> Project:
    monkeypatch.setattr(approval_panel, "REACTION_S", 0.0)
    monkeypatch.setattr(approval_controller, "TYPING_S", 0.0)
    return Project(tmp_path)


def session(*proposals: ChangeProposal | PermissionRequest) -> PlayedSession:
    script = answer("`total` is called `amount` now.", before=proposals)
    return PlayedSession(script, title="Laguna Nano", folder=Path("/src/project"))


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


@pytest.mark.parametrize("size", [USUAL, NARROW, (140, 40)])
def test_hunks_one_by_one(snap_compare, project: Project, size: tuple[int, int]) -> None:
    async def deciding(pilot) -> None:
        await asked(pilot)
        await pilot.press("h", "y", "n")
        await until(pilot, lambda: "Accept hunk 3 of 3" in screen(pilot.app))
        await pilot.pause(0.2)

    def change(name: str) -> str:
        return "".join(f"def {name}_{number}():\n    return {number}\n" + "\n" * 8 for number in range(3))

    project.prices.write_text(change("price"))
    chat = session(project.edit(change("price"), change("cost"), "shop/prices.py"))
    assert snap_compare(still(chat), terminal_size=size, run_before=deciding)


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


def command(text: str, **more) -> PermissionRequest:
    return PermissionRequest(
        "shell",
        CommandProposal(text, Path("/src/project"), 120.0),
        why="Commands need approval in ask mode.",
        sandbox=(
            "Sandbox (bubblewrap): no network, no credentials, and writes only to this folder and a private temporary"
            " one."
        ),
        **more,
    )


@pytest.mark.parametrize("size", [USUAL, NARROW, WIDE])
def test_a_command(snap_compare, project: Project, size: tuple[int, int]) -> None:
    request = command("pytest -q tests/test_cart.py && echo 'passed'", rule="shell(pytest …)", network=True)
    assert snap_compare(still(session(request)), terminal_size=size, run_before=asked)


@pytest.mark.parametrize("theme", ["laguna-dark", "laguna-light"])
def test_a_long_command(snap_compare, project: Project, theme: str) -> None:
    text = "for file in shop/*.py; do\n  # one by one\n  python -m compileall $file\ndone\nmake test\nmake lint"
    assert snap_compare(still(session(command(text)), theme), terminal_size=USUAL, run_before=asked)


@pytest.mark.parametrize("size", [USUAL, NARROW, WIDE])
def test_a_destructive_command_that_hides_its_end(snap_compare, project: Project, size: tuple[int, int]) -> None:
    request = command("ls" + "\n" * 301 + "rm -rf ~/\u0441ache\u200b", network=True)
    assert snap_compare(still(session(request)), terminal_size=size, run_before=asked)


def test_a_destructive_command_in_light(snap_compare, project: Project) -> None:
    chat = session(command("git push --force origin main"))
    assert snap_compare(still(chat, "laguna-light"), terminal_size=USUAL, run_before=asked)


@pytest.mark.parametrize("size", [USUAL, NARROW])
def test_the_edited_change_before_it_is_applied(snap_compare, project: Project, size: tuple[int, int]) -> None:
    async def edited(pilot) -> None:
        await asked(pilot)
        await pilot.press("e")
        await until(pilot, lambda: isinstance(pilot.app.screen, TextEditor))
        area = pilot.app.screen.query_one(EditorArea)
        area.load_text(area.text.replace("amount", "amount_in_cents"))
        await pilot.press("ctrl+s")
        await pilot.pause(0.2)

    assert snap_compare(still(session(project.rename())), terminal_size=size, run_before=edited)


@pytest.mark.parametrize("size", [USUAL, NARROW])
def test_a_message_with_the_no(snap_compare, project: Project, size: tuple[int, int]) -> None:
    async def written(pilot) -> None:
        await asked(pilot)
        await pilot.press("m")
        await until(pilot, lambda: isinstance(pilot.app.screen, MessageInput))
        area = pilot.app.screen.query_one(EditorArea)
        area.load_text("keep the name, and add a docstring instead")
        await until(pilot, lambda: "instead" in screen(pilot.app))
        await pilot.pause(0.2)

    assert snap_compare(still(session(project.rename())), terminal_size=size, run_before=written)


@pytest.mark.parametrize("size", [USUAL, NARROW])
def test_a_plan(snap_compare, project: Project, size: tuple[int, int]) -> None:
    chat = PlayedSession(answer("1. Read the tests.\n2. Rename `total`.\n3. Run the tests."), folder=Path("/src"))
    chat.permissions.mode = Mode.PLAN
    assert snap_compare(still(chat), terminal_size=size, run_before=asked)


@pytest.mark.parametrize("size", [USUAL, NARROW])
def test_what_the_agent_did(snap_compare, project: Project, size: tuple[int, int]) -> None:
    async def answered(pilot) -> None:
        await ready(pilot.app, pilot)
        pilot.app.prompt.replace_text("fix the tests")
        await pilot.press("enter")
        await pilot.pause()
        await ready(pilot.app, pilot)

    steps = [
        TodoChanged((TodoItem("run the tests", TodoState.DONE), TodoItem("fix the cart", TodoState.ACTIVE))),
        ToolStarted(1, "shell", {"cmd": "pytest -q"}),
        PermissionAnswered(1, PermissionAnswer(Decision.YES), "shell(pytest …)"),
        ToolProgress(1, "F.\n"),
        ToolFinished(1, "shell", '{"stdout": "F.\\n1 failed", "exit_code": 1}', ok=True, seconds=1.2),
        ToolStarted(2, "shell", {"cmd": "npm run dev", "background": True}),
        ToolFinished(2, "shell", '{"stdout": "", "exit_code": null, "job": 1}', ok=True, seconds=1.0),
        ToolStarted(3, "edit", {"path": "shop/cart.py"}),
        ChangeMade(3, project.edit("# in cents", "# in cents, with taxes")),
        ToolFinished(3, "edit", "Changed.", ok=True, seconds=0.1),
        Compacting(7900, 8192),
        Compacted(7900, 3000, 3, 0, 2800),
        ToolStarted(4, "shell", {"cmd": "make"}),
        ToolProgress(4, "".join(f"compiling {number}\n" for number in range(9))),
    ]
    script = answer("The tests pass.", before=steps)
    assert snap_compare(still(PlayedSession(script, folder=Path("/src"))), terminal_size=size, run_before=answered)
