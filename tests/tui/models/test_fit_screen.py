"""The fit screen shows the table of `laguna-tui fit` for the recommended or a named model."""

import pytest

from laguna_tui.base.errors import UserError
from tests.tui.pilot import ask, ready, running, screen, until
from tests.tui.scripted import PlayedSession
from tests.tui.scripted_model_setup import ScriptedModelSetup


async def test_the_table_of_a_named_model_is_shown_and_escape_closes_it() -> None:
    async with running(PlayedSession(), model_setup=ScriptedModelSetup()) as (app, pilot):
        await ready(app, pilot)
        app.prompt.replace_text("/fit xs.2")
        await pilot.press("enter")
        await until(pilot, lambda: "xs.2 on this machine" in screen(app))
        assert "*2.5 GiB free" in screen(app)
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert "xs.2 on this machine" not in screen(app)


async def test_without_a_name_it_is_the_recommended_model() -> None:
    async with running(PlayedSession(), model_setup=ScriptedModelSetup()) as (app, pilot):
        await ready(app, pilot)
        app.run_command("models.show_fit")
        await until(pilot, lambda: "xs-2.1 on this machine" in screen(app))
        assert "What fits" in screen(app)


@pytest.mark.parametrize("size", [(80, 24), (40, 24)])
async def test_a_model_that_nobody_knows_is_a_sentence(size: tuple[int, int]) -> None:
    model_setup = ScriptedModelSetup()
    model_setup.unfit = UserError("xs.9: no such model")
    async with running(PlayedSession(), model_setup=model_setup, size=size) as (app, pilot):
        await ready(app, pilot)
        app.run_command("models.show_fit", "xs.9")
        await until(pilot, lambda: "no such model" in screen(app))
        assert "What fits" in screen(app)


async def test_an_error_that_nobody_expected_is_a_sentence_and_the_app_goes_on() -> None:
    model_setup = ScriptedModelSetup()
    model_setup.unfit = OSError(5, "Input/output error")
    async with running(PlayedSession(), model_setup=model_setup) as (app, pilot):
        await ready(app, pilot)
        app.run_command("models.show_fit")
        await until(pilot, lambda: "Input/output error" in screen(app))
        await pilot.press("escape")
        await ask(app, pilot, "hello")
