"""Edits from the question to the answer, with the real agent on a scripted engine."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from laguna_tui.agent.changes import Changes
from laguna_tui.agent.loop import Agent
from laguna_tui.agent.permission_gate import PermissionGate
from laguna_tui.agent.tools.full.profile import FULL
from laguna_tui.agent.tools.registry import Toolbox
from laguna_tui.base.events import AgentEvent
from laguna_tui.base.permission_request import Mode
from laguna_tui.context.codebase import Codebase
from laguna_tui.repo.files.workspace import Workspace
from laguna_tui.tui.approvals import approval_controller, approval_panel
from tests.app.agent.scripted_engine import answer, backend, call
from tests.app.approvers import gate_for
from tests.engine.conftest import tiny_model, tiny_model_path
from tests.tui.changes import CART, Project
from tests.tui.pilot import ready, running, transcript, until
from tests.tui.scripted import ScriptedSession

RENAME = call("edit", path="cart.py", old="total", new="amount", all="true")

__all__ = ["tiny_model", "tiny_model_path"]


class AgentSession(ScriptedSession):
    """A session whose messages an agent answers."""

    def __init__(self, agent: Agent, made: Changes, gate: PermissionGate) -> None:
        super().__init__()
        self.agent, self.made, self.gate = agent, made, gate

    def ask(self, message: str) -> Iterator[AgentEvent]:
        return self.agent.run(message)

    def cancel(self) -> None:
        self.agent.cancel()


@pytest.fixture
def project(tmp_path: Path, monkeypatch) -> Project:
    monkeypatch.setattr(approval_panel, "REACTION_S", 0.0)
    monkeypatch.setattr(approval_controller, "TYPING_S", 0.0)
    (tmp_path / "project").mkdir()
    return Project(tmp_path / "project")


@pytest.fixture
def session(tiny_model, project: Project, tmp_path: Path) -> Iterator[AgentSession]:
    codebase = Codebase(project.root, tmp_path / "index")
    changes, gate = Changes(), gate_for(project.root)
    workspace = Workspace(project.root)
    toolbox = Toolbox(FULL, workspace, codebase=codebase, changes=changes, permissions=gate)
    scripted = backend(tiny_model.vocab, (RENAME, answer("Renamed.")), 16384)
    yield AgentSession(Agent(scripted, toolbox, opening=lambda: ""), changes, gate)
    codebase.close()


async def asked(app, pilot) -> None:
    await ready(app, pilot)
    await pilot.press(*"rename", "enter")
    await until(pilot, lambda: app.approval_panel.has_focus)


async def test_an_edit_is_made_and_answered(session: AgentSession, project: Project) -> None:
    async with running(session) as (app, pilot):
        await asked(app, pilot)
        await pilot.press("y")
        await ready(app, pilot)
        assert project.cart.read_text() == CART.replace("total", "amount")
        assert "Renamed." in transcript(app)


async def test_a_turn_that_is_stopped_while_it_asks_leaves_a_whole_conversation(
    session: AgentSession, project: Project
) -> None:
    async with running(session) as (app, pilot):
        await asked(app, pilot)
        await pilot.press("escape")
        await ready(app, pilot)
        assert project.cart.read_text() == CART
        assert "stopped" in transcript(app)
        assert "Renamed." not in transcript(app)
        assert len(session.agent.conversation.items()) >= 2
        await pilot.press(*"again", "enter")
        await until(pilot, lambda: "Renamed." in transcript(app))


async def test_what_other_programs_obey_is_asked_about_although_all_edits_are_allowed(
    session: AgentSession, project: Project
) -> None:
    (project.root / "AGENTS.md").symlink_to("shop/cart.py")
    session.mode = Mode.ACCEPT_EDITS
    async with running(session) as (app, pilot):
        await asked(app, pilot)
        assert "assistants obey it" in app.approval_panel.render().plain
        assert project.cart.read_text() == CART
        await pilot.press("y")
        await ready(app, pilot)
        assert project.cart.read_text() == CART.replace("total", "amount")
