"""/check names the command that checks the project; where none is known, a notice says so, once in a folder."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from laguna_tui.agent.permissions.rule_file import read_user_rules
from laguna_tui.tui.app import LagunaApp
from laguna_tui.tui.chat_app import NO_CHECK
from tests.scripted_model import call, scripted_session
from tests.tui.pilot import ask, ready, running, transcript, until

ONCE, TWICE = (call("edit", path="add.py", old=old, new=new) for old, new in (("1", "2"), ("2", "3")))
READ = call("read", path="add.py")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/add.py").write_text("price = 1\n")
    return tmp_path / "shop"


@asynccontextmanager
async def app_in(project: Path, *script: object) -> AsyncIterator[tuple[LagunaApp, object]]:
    """The app on a project; its state and its rules are kept beside it."""
    state, rules = project.parent / "state", project.parent / "config/permissions.toml"
    with closing(scripted_session(project, list(script), state=state, rules=rules, mode="accept-edits")) as session:
        async with running(session, size=(100, 40), state_dir=state) as (app, pilot):
            await ready(app, pilot)
            yield app, pilot


def said(app: LagunaApp) -> str:
    return " ".join(transcript(app).split())


async def test_where_no_check_is_known_a_notice_says_so_once_in_a_folder(project: Path) -> None:
    async with app_in(project, READ, ONCE, "Two.", TWICE, "Three.", "Bye.") as (app, pilot):
        await ask(app, pilot, "raise it")
        await until(pilot, lambda: NO_CHECK in said(app))
        await ask(app, pilot, "again")
        await ask(app, pilot, "bye")
        assert said(app).count(NO_CHECK) == 1
    (project / "add.py").write_text("price = 1\n")
    async with app_in(project, READ, ONCE, "Two.", "Bye.") as (app, pilot):
        await ask(app, pilot, "raise it")
        await ask(app, pilot, "/check")
        await until(
            pilot,
            lambda: (
                "No command that checks this project was found. To set one: /check COMMAND, such as /check make test"
                in said(app)
            ),
        )
        assert NO_CHECK not in said(app)


async def test_another_folder_has_its_own_notice(project: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other/add.py").write_text("price = 1\n")
    for folder in (project, tmp_path / "other"):
        async with app_in(folder, READ, ONCE, "Two.") as (app, pilot):
            await ask(app, pilot, "raise it")
            await until(pilot, lambda app=app: NO_CHECK in said(app))


async def test_a_project_with_a_check_needs_no_notice(project: Path) -> None:
    (project / "Makefile").write_text("test:\n\ttrue\n")
    async with app_in(project, READ, ONCE, "Two.", "It cannot be run.") as (app, pilot):
        await ask(app, pilot, "raise it")
        await ask(app, pilot, "/check")
        await until(pilot, lambda: "make test checks this project, because the Makefile" in said(app))
        assert NO_CHECK not in said(app)


async def test_the_check_is_chosen_for_the_folder_and_taken_away(project: Path, tmp_path: Path) -> None:
    rules = tmp_path / "config/permissions.toml"
    async with app_in(project, "Hello.") as (app, pilot):
        await ask(app, pilot, "/check python3 -m unittest")
        await until(pilot, lambda: "python3 -m unittest now checks this project." in said(app))
        assert read_user_rules(rules, project).check == "python3 -m unittest"
        await ask(app, pilot, "/check none")
        await until(pilot, lambda: "No command checks this project" in said(app))
        assert read_user_rules(rules, project).check == ""


async def test_a_check_that_is_none_is_refused_with_the_reason(project: Path) -> None:
    async with app_in(project, "Hello.") as (app, pilot):
        await ask(app, pilot, f"/check {'x' * 301}")
        await until(pilot, lambda: "a command on one line of at most 300 characters" in said(app))
