"""What the user sends while the model works: into the turn, behind it, or back to the input; with a scripted model."""

import asyncio
import shutil
from contextlib import asynccontextmanager

import pytest

from laguna_tui.tui.session_controller import SessionState
from tests.scripted_model import call, say, scripted_session
from tests.tui.pilot import ask, ready, running, transcript, until

pytestmark = pytest.mark.usefixtures("unasked")
WAIT = say(call("shell", cmd="while [ ! -e go ]; do sleep 0.05; done; echo went"))


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def saw(word):
    return lambda seen: say(f"I {'saw' if word in seen.text else 'missed'} {word}.")


@asynccontextmanager
async def working(project, *script):
    """The app, in the middle of a command of the model's that ends once there is a file `go`."""
    settings = {"mode": "auto", "context": 8192, "thinking": False}
    session = scripted_session(project, [WAIT, *script], **settings)
    async with running(session) as (app, pilot):
        await ready(app, pilot)
        await pilot.press(*"start", "enter")
        await until(pilot, lambda: "while" in transcript(app))
        await asyncio.sleep(0.2)
        try:
            yield app, pilot
        finally:
            (project / "go").touch()
            session.close()


async def test_enter_steers_the_turn_that_runs(project):
    async with working(project, saw("faster")) as (app, pilot):
        await pilot.press(*"faster", "enter")
        await until(pilot, lambda: "faster  waiting for the next step" in transcript(app))
        (project / "go").touch()
        await ready(app, pilot)
        shown = transcript(app)
        assert "I saw faster." in shown
        assert "waits for" not in shown
        assert shown.count("faster") == 2
        assert len(app.session.history.points()) == 1


@pytest.mark.parametrize("keys", [("l", "ctrl+enter"), (*"/queue l", "enter")])
async def test_what_is_queued_waits_for_the_end(project, keys):
    async with working(project, "First.", "Second.") as (app, pilot):
        await pilot.press(*keys)
        assert app.hint_bar.queued == ("l",)
        (project / "go").touch()
        await until(pilot, lambda: "Second." in transcript(app))
        await ready(app, pilot)
        assert [point.title for point in app.session.history.points()] == ["start", "l"]


async def test_nothing_typed_is_lost_when_the_turn_is_stopped_and_it_goes_on(project):
    async with working(project, "Here I am again.") as (app, pilot):
        await pilot.press(*"steer", "enter", *"/queue later", "enter", "escape")
        await until(pilot, lambda: app.state is SessionState.READY and "steer" in app.prompt.text)
        assert sorted(app.prompt.text.split()) == ["later", "steer"]
        assert app.session.chat.unsent() == ()
        app.prompt.load_text("")
        await ask(app, pilot, "go on")
        assert "Here I am again." in transcript(app)


async def test_a_message_that_a_killed_turn_was_steered_with_is_back_in_the_input(project, tmp_path):
    settings = {"mode": "auto", "context": 8192, "thinking": False}
    session = scripted_session(project, [WAIT, "Done."], state=tmp_path / "state", **settings)
    async with running(session) as (app, pilot):
        await ready(app, pilot)
        await pilot.press(*"start", "enter")
        await until(pilot, lambda: "while" in transcript(app))
        await pilot.press(*"cents", "enter")
        await until(pilot, lambda: "cents  waiting for the next step" in transcript(app))
        shutil.copytree(tmp_path / "state", tmp_path / "killed")
        (project / "go").touch()
        await ready(app, pilot)
        session.close()
    (saved,) = (tmp_path / "killed/sessions").glob("*/journal.jsonl")
    for texts in ("cents", ""):
        session = scripted_session(project, ["Done."], state=tmp_path / "killed", **settings)
        session.sessions.given = ("model",)
        session.sessions.choose(saved.parent.name)
        async with running(session) as (app, pilot):
            await ready(app, pilot)
            await pilot.pause()
            assert app.prompt.text == texts
            session.close()


async def test_several_lines_can_be_queued(project):
    async with working(project, "First.", "Second.") as (app, pilot):
        app.prompt.replace_text("/queue one\ntwo")
        await pilot.press("enter")
        await pilot.pause()
        assert app.controller.queued == ["one\ntwo"]
