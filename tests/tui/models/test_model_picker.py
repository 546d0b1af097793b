"""Changing the model: the picker, the command, and models that are not available."""

from threading import Event

import pytest

from laguna_engine.errors import ModelFileError
from laguna_tui.session.values import Here, ModelChoice
from laguna_tui.tui.session_controller import SessionState
from tests.tui.pilot import ask, ready, running, screen, transcript, until
from tests.tui.scripted import PlayedSession, answer
from tests.tui.test_snapshots import still

GB = 10**9
CHOICES = (
    ModelChoice("nano", "Laguna Nano", Here.READY, "runs on any machine", True, 9_647_200, 9_647_200, current=True),
    ModelChoice("xs-2.1", "Laguna XS 2.1", Here.READY, "fits on the GPU with 96 K tokens", True, 20 * GB, 20 * GB),
    ModelChoice("xs.2", "Laguna XS.2", Here.PARTIAL, "fits on the GPU with 96 K tokens", True, 20 * GB, 5 * GB),
    ModelChoice("xs-big", "Laguna Big", Here.MISSING, "does not fit on this machine", False, 80 * GB),
    ModelChoice("s-2.1", "Laguna S 2.1", Here.NOWHERE, "too little is known of it"),
)


def session(*scripts, **more):
    return PlayedSession(*scripts, title="Laguna Nano", models=CHOICES, **more)


def failing(session, error):
    session.models.error = error
    return session


async def picked(app, pilot, *keys):
    await pilot.press("f7")
    await until(pilot, lambda: "Laguna XS 2.1" in screen(app))
    await pilot.press(*keys)


async def test_the_list_tells_what_is_here_and_what_fits_and_enter_chooses():
    async with running(session()) as (app, pilot):
        await ready(app, pilot)
        await picked(app, pilot)
        shown = screen(app)
        for text in ("in use", "fits on the GPU", "5.0 GB of 20.0 GB", "not here, 80.0 GB", "does not fit"):
            assert text in shown
        await pilot.press("down", "enter")
        await until(pilot, lambda: app.session.models.switched == ["xs-2.1"])
        await ready(app, pilot)
        assert "Laguna XS 2.1 answers from now on" in transcript(app)
        assert app.status_bar.status.model == "Laguna XS 2.1"


async def test_the_command_takes_a_name_or_a_file_with_blanks():
    async with running(session()) as (app, pilot):
        for wanted in ("xs-2.1", "/models/my model.gguf"):
            await ready(app, pilot)
            app.prompt.replace_text(f"/model {wanted}")
            await pilot.press("enter")
            await until(pilot, lambda wanted=wanted: wanted in app.session.models.switched)
        assert not app.session.chat.asked


async def test_the_command_alone_opens_the_list():
    async with running(session()) as (app, pilot):
        await ready(app, pilot)
        app.prompt.replace_text("/model")
        await pilot.press("enter")
        await until(pilot, lambda: "does not fit on this machine" in screen(app))


async def test_the_model_that_answers_now_is_not_opened_again():
    async with running(session()) as (app, pilot):
        await ready(app, pilot)
        await picked(app, pilot, "enter")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert not app.session.models.switched


async def test_a_model_that_cannot_be_had_is_told_and_the_chat_goes_on():
    problem = ModelFileError("x.gguf: it is damaged; download it again")
    async with running(failing(session(), problem)) as (app, pilot):
        await ready(app, pilot)
        await picked(app, pilot, "down", "enter")
        await until(pilot, lambda: "download it again" in transcript(app))
        await ready(app, pilot)
        assert app.status_bar.status.model == "Laguna Nano"
        await ask(app, pilot, "still there?")
        assert app.session.chat.asked == ["still there?"]


async def test_after_a_model_that_could_not_be_opened_another_is_chosen():
    missing = ModelFileError("There is no such file.")
    async with running(session(opening=missing)) as (app, pilot):
        await until(pilot, lambda: app.state is SessionState.FAILED)
        await picked(app, pilot, "down", "enter")
        await ready(app, pilot)
        assert app.session.models.switched == ["xs-2.1"]
        await ask(app, pilot, "hello")
        assert app.session.chat.asked == ["hello"]


async def test_without_any_model_a_second_failure_leaves_none():
    missing = ModelFileError("There is no such file.")
    async with running(failing(session(opening=missing), ModelFileError("Nor this."))) as (app, pilot):
        await until(pilot, lambda: app.state is SessionState.FAILED)
        await picked(app, pilot, "down", "enter")
        await until(pilot, lambda: "Nor this." in transcript(app))
        assert app.state is SessionState.FAILED


async def test_while_it_answers_the_change_waits_and_so_do_messages():
    gate = Event()
    script = answer("Hello.", before=[gate])
    async with running(session(script, answer("Again."))) as (app, pilot):
        await ready(app, pilot)
        app.prompt.replace_text("first")
        await pilot.press("enter")
        await until(pilot, lambda: app.state is SessionState.BUSY)
        app.prompt.replace_text("/model xs-2.1")
        await pilot.press("enter")
        app.prompt.replace_text("second")
        await pilot.press("enter")
        await pilot.pause()
        assert not app.session.models.switched
        gate.set()
        await until(pilot, lambda: len(app.session.chat.asked) == 2)
        await ready(app, pilot)
        text = transcript(app)
        assert text.index("Hello.") < text.index("answers from now on") < text.index("second")


async def test_a_list_that_cannot_be_made_says_why():
    broken = session()
    broken.models.choices = lambda: (_ for _ in ()).throw(ModelFileError("models.toml is wrong; mend it"))
    async with running(broken) as (app, pilot):
        await ready(app, pilot)
        await pilot.press("f7")
        await until(pilot, lambda: "models.toml is wrong" in screen(app))
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)


@pytest.mark.parametrize("size", [(80, 24), (40, 24)])
def test_the_picker(snap_compare, size: tuple[int, int]) -> None:
    async def shown(pilot) -> None:
        await ready(pilot.app, pilot)
        await picked(pilot.app, pilot, "down")

    assert snap_compare(still(session()), terminal_size=size, run_before=shown)
