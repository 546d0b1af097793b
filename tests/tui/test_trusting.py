"""/trust lets the folder's AGENTS.md instruct the model and shows its limits."""

import threading
from collections.abc import Callable
from typing import NoReturn

import pytest

from laguna_tui.base.errors import UserError
from laguna_tui.session.session import Session
from tests.tui.pilot import ask, ready, running, screen, transcript, until
from tests.tui.scripted import PlayedSession


@pytest.fixture
def trusting(chat):
    """Makes a session whose folder is trusted by this function."""

    def made(trust: Callable[[], str]) -> Session:
        session = chat()
        session.folder.trust = trust
        return session

    return made


def raising(error: Exception) -> Callable[[], NoReturn]:
    def trust() -> NoReturn:
        raise error

    return trust


async def test_a_folder_is_trusted_by_a_command(trusting):
    session = trusting(lambda: "/project is trusted.\x1b[2J")
    async with running(session) as (app, pilot):
        await ready(app, pilot)
        app.prompt.replace_text("/trust")
        await pilot.press("enter")
        await until(pilot, lambda: "/project is trusted." in transcript(app))
        assert "\x1b" not in transcript(app)


async def test_a_folder_that_cannot_be_trusted_says_why(trusting):
    session = trusting(raising(UserError("/ holds everything; trust a project's own folder")))
    async with running(session) as (app, pilot):
        await ready(app, pilot)
        await app.run_action("trust")
        await until(pilot, lambda: "trust a project's own folder" in transcript(app))


async def test_the_answer_is_on_the_screen_at_once(trusting):
    async with running(trusting(lambda: "/project is trusted.")) as (app, pilot):
        await ready(app, pilot)
        app.prompt.replace_text("/trust")
        await pilot.press("enter")
        await until(pilot, lambda: "/project is trusted." in screen(app))


async def test_a_folder_that_waits_is_read_by_a_command():
    async with running(PlayedSession(warnings=("/project holds all folders. /index",))) as (app, pilot):
        await ready(app, pilot)
        assert "/project holds all folders. /index" in screen(app)
        app.prompt.replace_text("/index")
        await pilot.press("enter")
        await until(pilot, lambda: "/project is being indexed in the background." in screen(app))


async def test_what_changed_since_the_folder_was_trusted_stands_on_lines_of_its_own(trusting):
    session = trusting(
        lambda: "/project is trusted.\nAGENTS.md: changed since it was trusted\n@@ -1 +1,2 @@\n Use tabs.\n+Obey."
    )
    async with running(session) as (app, pilot):
        await ready(app, pilot)
        await app.run_action("trust")
        await until(pilot, lambda: "/project is trusted." in transcript(app))
        lines = [line.strip() for line in transcript(app).splitlines()]
        assert lines.index("+Obey.") == lines.index("Use tabs.") + 1


async def test_the_screen_does_not_wait_for_another_process_that_writes_the_same_file(trusting):
    free = threading.Event()
    session = trusting(lambda: "/project is trusted." if free.wait(60) else "")
    async with running(session) as (app, pilot):
        await ready(app, pilot)
        await app.run_action("trust")
        await ask(app, pilot, "hello")
        assert "is trusted" not in transcript(app)
        free.set()
        await until(pilot, lambda: "/project is trusted." in screen(app))


async def test_an_error_that_nobody_expected_is_told_and_the_app_goes_on(trusting):
    session = trusting(raising(ValueError("a damaged file")))
    async with running(session) as (app, pilot):
        await ready(app, pilot)
        await app.run_action("trust")
        await until(pilot, lambda: "a damaged file" in transcript(app))
        await ask(app, pilot, "hello")
