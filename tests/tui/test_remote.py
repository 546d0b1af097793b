"""The whole agent loop on the screen with a model behind an endpoint, also one that breaks off."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest
from textual.pilot import Pilot

from laguna_tui.base.settings import Settings
from laguna_tui.session.session import Session
from laguna_tui.tui.app import LagunaApp
from laguna_tui.tui.approvals import approval_panel
from laguna_tui.tui.controllers import approval_controller
from laguna_tui.tui.session_controller import SessionState
from tests.scripted_endpoint import MODEL, Served, answer, dies, endpoint, tool
from tests.tui.pilot import ask, ready, running, screen, transcript, until

FILE = "price = 1\n"


@pytest.fixture(autouse=True)
def _quick(monkeypatch) -> None:
    monkeypatch.setattr(approval_panel, "REACTION_S", 0.0)
    monkeypatch.setattr(approval_controller, "TYPING_S", 0.0)
    monkeypatch.delenv("LAGUNA_API_KEY", raising=False)


def prepared(folder: Path, served: Served) -> Session:
    project = folder / "shop"
    project.mkdir()
    (project / "prices.py").write_text(FILE)
    return Session(Settings(model=f"{served.url}#{MODEL}", scorer="none"), project, folder / "state")


@asynccontextmanager
async def shown(folder: Path, served: Served) -> AsyncIterator[tuple[LagunaApp, Pilot[None], Path]]:
    """The app on an endpoint's model, in a folder with one file."""
    with closing(prepared(folder, served)) as session:
        async with running(session, size=(110, 44)) as (app, pilot):
            yield app, pilot, folder / "shop" / "prices.py"


async def test_edit_shell_and_undo_go_as_with_a_model_in_this_process(tmp_path: Path) -> None:
    edit = tool("edit", {"path": "prices.py", "old": "price = 1", "new": "price = 2"})
    script = [answer("I change it.", edit), answer("", tool("shell", {"cmd": "cat prices.py"})), answer("It is two.")]
    with endpoint(script) as served:
        async with shown(tmp_path, served) as (app, pilot, file):
            await ready(app, pilot)
            app.prompt.replace_text("make it two")
            await pilot.press("enter")
            await until(pilot, lambda: app.approval_panel.has_focus)
            assert "price = 2" in screen(app)
            await pilot.press("y")
            await until(pilot, lambda: file.read_text() == "price = 2\n")
            await until(pilot, lambda: app.approval_panel.has_focus)
            assert "cat prices.py" in screen(app)
            await pilot.press("y")
            await until(pilot, lambda: "It is two." in transcript(app))
            await ready(app, pilot)
            await ask(app, pilot, "/undo")
            await until(pilot, lambda: file.read_text() == FILE)
    last = served.asked[-1]["messages"]
    assert [each["role"] for each in last[1:]] == ["user", "assistant", "tool", "assistant", "tool"]
    assert "price = 2" in last[-1]["content"]


async def test_an_answer_that_breaks_off_goes_on_when_the_user_says_so(tmp_path: Path) -> None:
    with endpoint([dies("The first half,"), answer("and the second.")]) as served:
        async with shown(tmp_path, served) as (app, pilot, _):
            await ask(app, pilot, "tell me")
            await until(pilot, lambda: "was lost in the middle of the answer" in transcript(app).replace("\n", " "))
            assert "The first half," in transcript(app)
            assert len(served.asked) == 1, "nothing is sent twice unasked"
            await ask(app, pilot, "/retry")
            await until(pilot, lambda: "and the second." in transcript(app))
            await ready(app, pilot)
            await ask(app, pilot, "/retry")
            assert len(served.asked) == 2, "an answer that came to its end is not retried"
    assert [each["content"] for each in served.asked[1]["messages"][2:3]] == ["The first half,"]


async def test_an_endpoint_that_comes_up_later_is_opened_by_retry(tmp_path: Path) -> None:
    with endpoint() as served:
        port = int(served.url.rsplit(":", 1)[1].removesuffix("/v1"))
    async with shown(tmp_path, served) as (app, pilot, _):
        await until(pilot, lambda: app.state is SessionState.FAILED)
        await until(pilot, lambda: "Cannot connect" in transcript(app))
        with endpoint([answer("Here I am.")], port=port):
            await pilot.press(*"/retry", "enter")
            await ready(app, pilot)
            await ask(app, pilot, "hi")
            await until(pilot, lambda: "Here I am." in transcript(app))


async def test_what_only_the_engine_knows_says_so(tmp_path: Path) -> None:
    with endpoint([answer("Hello.")]) as served:
        async with shown(tmp_path, served) as (app, pilot, _):
            await ask(app, pilot, "hi")
            await ask(app, pilot, "/speed")
            await until(pilot, lambda: "not shown for a remote model" in screen(app))
            await ask(app, pilot, "/context")
            await until(pilot, lambda: "does not report its cache" in screen(app))
            await pilot.press("escape")
            await ask(app, pilot, "/prove")
            await until(pilot, lambda: "remote model" in transcript(app))
