"""The draft: what is typed and not sent comes back after a crash or a kill, and no app takes another one's."""

import json
import os
import signal
import sys
from contextlib import asynccontextmanager
from pathlib import Path

from laguna_tui.tui.app import LagunaApp
from laguna_tui.tui.prompt.input_history import DRAFTS, InputDraft
from laguna_tui.tui.tui_settings import TuiSettings
from tests.tui.job import Job
from tests.tui.pilot import ready, screen, until
from tests.tui.scripted import PlayedSession
from tests.tui.supervised import STATES


@asynccontextmanager
async def started(state: Path, folder: str = "/project", **settings):
    app = LagunaApp(PlayedSession(folder=Path(folder)), TuiSettings(state, theme="laguna-dark"), **settings)
    async with app.run_test(notifications=True) as pilot:
        await ready(app, pilot)
        yield app, pilot


def files(state: Path) -> list[str]:
    return sorted(path.suffix for path in (state / DRAFTS).glob("*"))


def texts(state: Path) -> list[str]:
    return [json.loads(path.read_bytes()) for path in (state / DRAFTS).glob("*.json")]


async def test_what_is_typed_is_kept_within_a_second_and_comes_back(tmp_path):
    async with started(tmp_path) as (app, pilot):
        await pilot.press(*"half a mess")
        await until(pilot, lambda: texts(tmp_path) == ["half a mess"])
        app._draft.close()  # as if the process was killed: its lock goes with it
        async with started(tmp_path) as (again, other):
            assert again.prompt.text == "half a mess"
            await until(other, lambda: "is back in the input" in screen(again))
            assert texts(tmp_path) == ["half a mess"] and len(files(tmp_path)) == 2
            await other.press(*"age")
            assert again.prompt.text == "half a message"


async def test_what_is_left_in_the_input_comes_back_after_quitting(tmp_path):
    async with started(tmp_path) as (app, pilot):
        await pilot.press(*"later", "ctrl+q")
    async with started(tmp_path) as (app, pilot):
        assert app.prompt.text == "later"
        await pilot.press("ctrl+c")
        await pilot.press("ctrl+q")
    async with started(tmp_path) as (app, pilot):
        assert app.prompt.text == ""
        await pilot.press("up")
        assert app.prompt.text == "later"


async def test_a_message_that_was_sent_does_not_come_back(tmp_path):
    async with started(tmp_path) as (_, pilot):
        await pilot.press(*"hello")
        await until(pilot, lambda: files(tmp_path) == [".json", ".lock"])
        await pilot.press("enter")
        await until(pilot, lambda: files(tmp_path) == [])


async def test_another_app_in_the_folder_and_one_in_another_folder_take_nothing(tmp_path):
    async with started(tmp_path) as (app, pilot):
        await pilot.press(*"mine")
        await until(pilot, lambda: texts(tmp_path) == ["mine"])
        async with started(tmp_path) as (second, _):
            assert second.prompt.text == ""
        app._draft.close()
        async with started(tmp_path, "/elsewhere") as (third, _):
            assert third.prompt.text == ""
        async with started(tmp_path) as (fourth, _):
            assert fourth.prompt.text == "mine"


async def test_of_several_lost_drafts_the_newest_is_in_the_input_and_the_others_in_the_history(tmp_path):
    for number, text in enumerate(("oldest", "older", "newest")):
        lost = InputDraft(None, tmp_path, Path("/project"))
        lost.keep_now(text)
        lost.close()
        os.utime(next(iter((tmp_path / DRAFTS).glob(f"{lost._name}.json"))), (number, number))
    async with started(tmp_path) as (app, pilot):
        assert app.prompt.text == "newest"
        app.prompt.load_text("")
        await pilot.press("up")
        assert app.prompt.text == "older"


async def test_a_damaged_draft_is_no_trouble(tmp_path):
    lost = InputDraft(None, tmp_path, Path("/project"))
    lost.keep_now("text")
    lost.close()
    next(iter((tmp_path / DRAFTS).glob("*.json"))).write_bytes(b'"half')
    async with started(tmp_path) as (app, _):
        assert app.prompt.text == ""


def test_a_draft_survives_a_kill_of_the_whole_app_in_a_real_terminal(tmp_path):
    command = (sys.executable, "-m", "tests.tui.supervised", "idle", str(tmp_path))
    with Job(*command) as job:
        job.wait_for(STATES["idle"])
        job.type(b"half a mess")
        job.until(lambda: texts(tmp_path / "state") == ["half a mess"], "the draft")
        os.killpg(job.pid, signal.SIGKILL)
        job.wait_until_none_is_left()
    with Job(*command) as job:
        job.wait_for(b"half a mess")
