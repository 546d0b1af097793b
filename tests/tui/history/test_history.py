"""Undo, redo, rewind and diffs on the screen, with a model that follows a script."""

from contextlib import asynccontextmanager

import pytest
from textual.widgets import OptionList

from laguna_tui.tui.history.conflict_screen import ConflictScreen
from laguna_tui.tui.history.diff_screen import DiffScreen
from laguna_tui.tui.history.rewind_screen import RewindScreen
from tests.scripted_model import call, say, scripted_session
from tests.tui.pilot import ask, ready, running, screen, transcript, until

pytestmark = pytest.mark.usefixtures("unasked")
TO_TWO = [say(call("read", path="a.txt")), say(call("edit", path="a.txt", old="one", new="two")), "It is two now."]
TO_THREE = [say(call("edit", path="a.txt", old="two", new="three")), "It is three now."]


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "project").mkdir()
    (tmp_path / "project/a.txt").write_text("one\n")
    return tmp_path / "project"


@asynccontextmanager
async def chatting(project, *script, size=(80, 24)):
    settings = {"mode": "auto", "context": 8192, "thinking": False}
    session = scripted_session(project, list(script), state=project.parent / "state", **settings)
    async with running(session, size=size) as (app, pilot):
        await ready(app, pilot)
        try:
            yield app, pilot
        finally:
            session.close()


async def test_undo_takes_the_turn_out_of_the_transcript_and_redo_brings_it_back(project):
    async with chatting(project, "Hello.", *TO_TWO) as (app, pilot):
        await ask(app, pilot, "hello")
        await ask(app, pilot, "make it two")
        used = app.status_bar.status.used
        await ask(app, pilot, "/undo")
        assert (project / "a.txt").read_text() == "one\n"
        shown = transcript(app)
        assert "It is two now." not in shown
        assert "❯ make it two" not in shown
        assert "Hello." in shown
        assert "Undone: “make it two”. Restored 1 file: a.txt." in shown
        assert app.status_bar.status.used < used
        await ask(app, pilot, "/redo")
        assert (project / "a.txt").read_text() == "two\n"
        assert "It is two now." in transcript(app)
        # The status had counted all but the marker that ends the answer.
        assert app.status_bar.status.used >= used


async def test_there_is_a_sentence_when_nothing_can_be_undone(project):
    async with chatting(project, "Hello.") as (app, pilot):
        await ask(app, pilot, "/undo")
        await until(pilot, lambda: "There is nothing to undo" in screen(app))


async def test_undo_waits_for_nobody(project):
    async with chatting(project, say(call("shell", cmd="sleep 20")), "Done.") as (app, pilot):
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "sleep 20" in transcript(app))
        await pilot.press(*"/undo", "enter")
        await until(pilot, lambda: "The session is busy" in screen(app))
        await pilot.press("escape")
        await ready(app, pilot)


def marked(app):
    """The messages that the list of turns marks."""
    rows = [str(option.prompt).split("\n")[0] for option in app.screen.query_one(OptionList).options]
    return [row for row in rows if row.startswith("❯")]


async def test_rewind_shows_the_turns_and_gives_the_message_back(project):
    async with chatting(project, *TO_TWO, *TO_THREE) as (app, pilot):
        await ask(app, pilot, "make it two")
        await ask(app, pilot, "make it three")
        await ask(app, pilot, "/rewind")
        await until(pilot, lambda: isinstance(app.screen, RewindScreen) and "make it three" in screen(app))
        assert "1 file: a.txt" in screen(app)
        await until(pilot, lambda: marked(app) == ["❯ make it three"])
        await pilot.press("up")
        await until(pilot, lambda: marked(app) == ["❯ make it two"])
        await pilot.press("enter")
        await until(pilot, lambda: app.prompt.text == "make it two")
        assert (project / "a.txt").read_text() == "one\n"
        assert "2 messages, from “make it two” on" in transcript(app)
        assert "It is three now." not in transcript(app)


async def test_escape_twice_on_an_idle_empty_input_shows_the_turns(project):
    async with chatting(project, "Hello.") as (app, pilot):
        await ask(app, pilot, "hello")
        await pilot.press("x", "escape", "backspace", "escape")
        assert not isinstance(app.screen, RewindScreen)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, RewindScreen))
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, RewindScreen))


async def conflicting(app, pilot, project):
    await ask(app, pilot, "make it two")
    (project / "a.txt").write_text("mine\n")
    await ask(app, pilot, "/undo")
    await until(pilot, lambda: isinstance(app.screen, ConflictScreen) and "mine" in screen(app))


async def test_a_file_that_the_user_changed_is_kept_unless_they_choose_to_overwrite_it(project):
    async with chatting(project, *TO_TWO) as (app, pilot):
        await conflicting(app, pilot, project)
        await pilot.press("enter")
        await ready(app, pilot)
        assert (project / "a.txt").read_text() == "mine\n"
        assert "Not changed: a.txt (it was changed since)" in transcript(app)


async def test_a_file_that_the_user_changed_is_overwritten_when_they_choose_so(project):
    async with chatting(project, *TO_TWO) as (app, pilot):
        await conflicting(app, pilot, project)
        await pilot.press("space")
        await until(pilot, lambda: "overwrite  a.txt" in screen(app))
        await pilot.press("enter")
        await until(pilot, lambda: (project / "a.txt").read_text() == "one\n")


async def test_escape_at_a_conflict_changes_nothing_at_all(project):
    async with chatting(project, *TO_TWO) as (app, pilot):
        await conflicting(app, pilot, project)
        await pilot.press("escape")
        await ready(app, pilot)
        assert (project / "a.txt").read_text() == "mine\n"
        assert "It is two now." in transcript(app)


@pytest.mark.parametrize("size", [(80, 24), (40, 24), (200, 50)])
async def test_diff_shows_files_and_lines_at_every_size(project, size):
    async with chatting(project, *TO_TWO, say(call("write", path="b.txt", content="b\n")), "Ok.", size=size) as (
        app,
        pilot,
    ):
        await ask(app, pilot, "make it two")
        await ask(app, pilot, "write b")
        await ask(app, pilot, "/diff")
        await until(pilot, lambda: isinstance(app.screen, DiffScreen) and "2 files  +2 −1" in screen(app))
        assert "− one" in screen(app)
        assert "+ two" in screen(app)
        await pilot.press("escape")
        await ask(app, pilot, "/diff turn")
        await until(pilot, lambda: "1 file  +1 −0" in screen(app))
        assert "new" in screen(app)


async def test_names_of_files_reach_the_screen_sanitised(project):
    command = "touch $'a\\e[31m\\x9b2Jb'"
    async with chatting(project, say(call("shell", cmd=command)), "Ok.") as (app, pilot):
        await ask(app, pilot, "go")
        assert any("\x1b" in path.name for path in project.iterdir())
        await ask(app, pilot, "/diff")
        await until(pilot, lambda: isinstance(app.screen, DiffScreen) and "1 file" in screen(app))
        assert "\x1b" not in screen(app)
        await pilot.press("escape")
        await ask(app, pilot, "/undo")
        assert "\x1b" not in transcript(app)


async def test_f_goes_back_in_a_copy_and_the_session_stays_as_it_is(project):
    async with chatting(project, *TO_TWO, *TO_THREE) as (app, pilot):
        await ask(app, pilot, "make it two")
        await ask(app, pilot, "make it three")
        before = app.session.sessions.open_id
        await ask(app, pilot, "/rewind")
        await until(pilot, lambda: isinstance(app.screen, RewindScreen) and marked(app) == ["❯ make it three"])
        await until(pilot, lambda: "Going back:" in screen(app))
        await pilot.press("f")
        await until(pilot, lambda: app.prompt.text == "make it three")
        assert app.session.sessions.open_id not in ("", before)
        assert "This is a copy. The original is unchanged: /resume" in transcript(app)
        assert "It is two now." in transcript(app)
        assert "It is three now." not in transcript(app)
        assert (project / "a.txt").read_text() == "two\n"
        kept = {session.id: session.turns for session in app.session.sessions.list()}
        assert kept[before] == 2
