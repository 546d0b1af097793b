"""A terminal may be of any size: too little room hides things, and never ends the app."""

import pytest

from tests.tui.changes import Project
from tests.tui.contexts import BLOCKS, TEXTS, prompting
from tests.tui.models.test_model_picker import CHOICES
from tests.tui.pilot import ask, ready, running, screen, until
from tests.tui.scripted import PlayedSession, answer
from tests.tui.scripted_model_setup import ScriptedModelSetup

TEXT = "Hello `x` **w** 日本\n\n- a\n  - b\n\n| a | b |\n|---|---|\n| c | d |\n\n```py\nimport x\n```\n"
SIZES = [(1, 1), (1, 24), (2, 24), (3, 3), (4, 24), (4, 1), (5, 5), (6, 24), (6, 8), (7, 2), (80, 1), (80, 2), (80, 3)]


def session(*more):
    return prompting(PlayedSession(answer(TEXT, before=more), models=CHOICES), blocks=BLOCKS, texts=TEXTS)


async def opened_and_closed(app, pilot, keys):
    for key in keys.split():
        await pilot.press(key)
        await pilot.pause()
        screen(app)
    while len(app.screen_stack) > 1:
        await pilot.press("escape")
        await pilot.pause()


ALL = ["f1", "f2 f3", "f4", "f7", "f8", "f9 d", "ctrl+p", "ctrl+r", "/ h", "a @", "ctrl+t ctrl+o pageup"]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.sampled(4)
async def test_everything_opens_in_a_terminal_of_any_size(size):
    async with running(session(), size=size, model_setup=ScriptedModelSetup()) as (app, pilot):
        await ask(app, pilot, "hi there, 日本")
        for keys in ALL:
            await opened_and_closed(app, pilot, keys)


@pytest.mark.parametrize("keys", ["f7", "f9", "ctrl+p", "ctrl+r", "f1", ""])
@pytest.mark.sampled(3)
async def test_a_terminal_shrinks_to_nothing_and_grows_again(keys):
    async with running(session(), model_setup=ScriptedModelSetup()) as (app, pilot):
        await ask(app, pilot, "hi there, 日本")
        if keys:
            await pilot.press(keys)
        before = screen(app)
        for size in [*SIZES, (80, 24)]:
            await pilot.resize_terminal(*size)
            await pilot.pause()
            screen(app)
        await until(pilot, lambda: screen(app) == before)


async def test_a_question_about_an_edit_is_answered_in_a_tiny_terminal(tmp_path):
    async with running(session(Project(tmp_path).rename()), size=(4, 3)) as (app, pilot):
        await ready(app, pilot)
        app.prompt.replace_text("change it")
        await pilot.press("enter")
        await until(pilot, lambda: app.approval_panel.display)
        screen(app)
        await pilot.press("escape")
        await ready(app, pilot)
