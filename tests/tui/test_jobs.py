"""Background commands: counted in the status bar, listed, read and stopped."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from textual.selection import SELECT_ALL

from laguna_tui.sandbox.background import BackgroundCommand
from laguna_tui.session.commands import STOPPED, Commands
from laguna_tui.tui.jobs_screen import JobOutput, JobsScreen
from tests.tui.pilot import ask, ready, running, screen, until
from tests.tui.scripted import PlayedSession, answer, call
from tests.tui.test_screen_safety import assert_harmless
from tests.tui.test_snapshots import still

SERVER = BackgroundCommand(1, "npm run dev", None, 63.0, unread=True)
TESTS = BackgroundCommand(2, "pytest \x1b[2J --watch", 1, 4.0, unread=False)


class PlayedCommands(Commands):
    """Background commands that a test gives."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, lambda piece: "")
        self.jobs: list[BackgroundCommand] = []
        self.written: dict[int, str] = {}

    def background(self) -> Sequence[BackgroundCommand]:
        return tuple(self.jobs)

    def recent(self, number: int) -> str:
        return self.written.get(number, "")

    def stop(self, number: int) -> str:
        self.jobs = [replace(job, exit_code=130) if job.number == number else job for job in self.jobs]
        return STOPPED.format(number=number)


def session(folder: Path = Path("/project")) -> PlayedSession:
    chat = PlayedSession(answer("It runs.", before=call(1, "shell", "{}", cmd="npm run dev")), folder=folder)
    chat.commands = PlayedCommands(folder)
    chat.commands.jobs = [SERVER, TESTS]
    chat.commands.written = {1: "\x1b[32mready\x1b[0m\n10 %\r100 %\rlistening on 3000\n", 2: "2 failed\x07\n"}
    return chat


async def opened(app, pilot) -> None:
    await ready(app, pilot)
    app.prompt.replace_text("/jobs")
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(app.screen, JobsScreen))


async def test_the_status_bar_counts_those_that_run_until_they_end() -> None:
    chat = session()
    async with running(chat) as (app, pilot):
        await ask(app, pilot, "start it")
        await until(pilot, lambda: "1 job" in screen(app))
        chat.commands.jobs = [replace(SERVER, exit_code=0), TESTS]
        await until(pilot, lambda: "1 job" not in screen(app))


async def test_each_is_listed_with_its_time_and_the_last_line_it_has_written() -> None:
    async with running(session()) as (app, pilot):
        await opened(app, pilot)
        await until(pilot, lambda: "listening on 3000" in screen(app))
        shown = screen(app)
        assert "npm run dev" in shown
        assert "running, 1 min 3 s" in shown
        assert "exit code 1, 4.0 s" in shown
        assert_harmless(shown)


async def test_the_output_of_the_highlighted_one_shows_as_a_terminal_would_show_it() -> None:
    async with running(session()) as (app, pilot):
        await opened(app, pilot)
        await until(pilot, lambda: "Output of job 2" in screen(app))
        await pilot.press("up")
        await until(pilot, lambda: "Output of job 1" in screen(app))
        await until(pilot, lambda: "│ ready" in screen(app))
        assert "10 %" not in screen(app)


async def test_the_tabs_of_an_output_are_copied() -> None:
    chat = session()
    chat.commands.written = {2: "a\tb\n\tc"}
    async with running(chat) as (app, pilot):
        await opened(app, pilot)
        await until(pilot, lambda: "│ a   b" in screen(app))
        app.screen.selections = {app.screen.query_one(JobOutput): SELECT_ALL}
        await pilot.press("ctrl+c")
        assert app.clipboard == "a\tb\n\tc"


async def test_one_is_stopped_by_a_key() -> None:
    chat = session()
    async with running(chat) as (app, pilot):
        await opened(app, pilot)
        await pilot.press("up", "s")
        await until(pilot, lambda: "Background command 1 is stopped." in screen(app))
        await until(pilot, lambda: "exit code 130" in screen(app))
        await pilot.press("escape")
        assert len(app.screen_stack) == 1


async def test_without_any_it_says_what_would_be_there(chat) -> None:
    async with running(chat()) as (app, pilot):
        await opened(app, pilot)
        assert "No background commands." in screen(app)


@pytest.mark.parametrize("size", [(80, 24), (40, 24)])
def test_the_screen(snap_compare, size: tuple[int, int]) -> None:
    async def shown(pilot) -> None:
        await opened(pilot.app, pilot)
        await pilot.press("up")
        await until(pilot, lambda: "Output of job 1" in screen(pilot.app))
        await pilot.pause(0.2)

    assert snap_compare(still(session(Path("/src/project"))), terminal_size=size, run_before=shown)
