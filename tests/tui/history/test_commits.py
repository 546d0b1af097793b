"""`/commit`: a drafted message that the user edits, and the commit with the repository's own hooks."""

import subprocess
from contextlib import asynccontextmanager

import pytest
from textual import events
from textual.widgets import TextArea

from laguna_tui.tui.history.commit_screen import CommitScreen
from tests.app.session.place import tokens
from tests.scripted_model import Script, scripted_session
from tests.tui.pilot import ask, ready, running, screen, transcript, until


def git(folder, *words):
    settings = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
    ran = subprocess.run(["git", *settings, *words], cwd=folder, check=True, capture_output=True, text=True)
    return ran.stdout.strip()


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "config", "user.name", "Test")
    git(folder, "config", "user.email", "test@example.org")
    (folder / "a.txt").write_text("one\n")
    git(folder, "add", "--all")
    git(folder, "commit", "-qm", "Begin with one")
    return folder


@asynccontextmanager
async def chatting(project, drafts=lambda seen: f"Make it two {'+two' in seen.new}"):
    script = Script(["Hello."], asides={"message of a git commit": drafts})
    session = scripted_session(project, script, mode="auto", context=8192, thinking=False)
    async with running(session) as (app, pilot):
        await ready(app, pilot)
        try:
            yield app, pilot
        finally:
            session.close()


async def drafted(app, pilot):
    await pilot.press(*"/commit", "enter")
    await until(
        pilot, lambda: isinstance(app.screen, CommitScreen) and "will be committed if git's hooks pass." in screen(app)
    )


async def test_a_message_is_drafted_edited_and_committed(project):
    (project / "a.txt").write_text("two\n")
    (project / "new.txt").write_text("new\n")
    async with chatting(project) as (app, pilot):
        before = tokens(app.session)
        await drafted(app, pilot)
        assert "Make it two True" in screen(app)
        assert "The model drafts a message" not in screen(app)
        assert "new.txt (new)" in screen(app)
        assert "1 of 2 files will be committed if" in screen(app)
        await pilot.press("tab", "down", "space")
        await until(pilot, lambda: "2 of 2 files will be committed if" in screen(app))
        app.screen.query_one(TextArea).text = "Make it two\n\nOne was not enough."
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "Committed: Make it two" in transcript(app))
        assert tokens(app.session) == before
    assert git(project, "log", "-1", "--format=%B") == "Make it two\n\nOne was not enough."
    assert git(project, "status", "--porcelain") == ""


async def test_a_new_file_is_committed_only_if_it_is_chosen(project):
    (project / "a.txt").write_text("two\n")
    (project / "new file.txt").write_text("new\n")
    async with chatting(project) as (app, pilot):
        await drafted(app, pilot)
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "Committed: Make it two" in transcript(app))
        assert "differs from what was shown" not in transcript(app)
        await drafted(app, pilot)
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "Choose a file first: Tab, then Space." in screen(app))
        await pilot.press("tab", "space", "ctrl+s")
        await until(pilot, lambda: transcript(app).count("Committed:") == 2)
    assert git(project, "log", "-2", "--name-only", "--format=") == "new file.txt\na.txt"
    assert git(project, "status", "--porcelain") == ""


async def test_escape_sequences_that_are_pasted_do_not_reach_the_message(project):
    (project / "a.txt").write_text("two\n")
    async with chatting(project) as (app, pilot):
        await drafted(app, pilot)
        area = app.screen.query_one(TextArea)
        area.clear()
        area.post_message(events.Paste("Make it\x1b[2J two\r\n"))
        await until(pilot, lambda: "two" in area.text)
        assert "\x1b" not in area.text
        await pilot.press("escape")


async def test_what_is_staged_is_committed_alone(project):
    (project / "a.txt").write_text("two\n")
    (project / "new.txt").write_text("new\n")
    git(project, "add", "a.txt")
    async with chatting(project) as (app, pilot):
        await pilot.press(*"/commit", "enter")
        await until(pilot, lambda: "1 staged file will be committed if" in screen(app))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "Committed:" in transcript(app))
    assert git(project, "status", "--porcelain") == "?? new.txt"


async def test_a_hook_that_refuses_says_why_and_the_message_is_not_lost(project):
    hook = project / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho the hook says no\nexit 1\n")
    hook.chmod(0o755)
    (project / "a.txt").write_text("two\n")
    async with chatting(project) as (app, pilot):
        await drafted(app, pilot)
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "the hook says no" in transcript(app))
        assert "Make it two True" in transcript(app)
    assert git(project, "log", "-1", "--format=%s") == "Begin with one"


async def test_without_a_draft_the_user_is_told_to_write_one(project):
    (project / "a.txt").write_text("two\n")
    async with chatting(project, lambda seen: "") as (app, pilot):
        await drafted(app, pilot)
        assert "The model did not draft a message. Write one here." in screen(app)
        await pilot.press("ctrl+s")
        assert isinstance(app.screen, CommitScreen)
        await pilot.press(*"Two", "ctrl+s")
        await until(pilot, lambda: "Committed: Two" in transcript(app))
    assert git(project, "log", "-1", "--format=%s") == "Two"


async def test_escape_commits_nothing(project):
    (project / "a.txt").write_text("two\n")
    async with chatting(project) as (app, pilot):
        await drafted(app, pilot)
        await pilot.press("escape")
        await ready(app, pilot)
    assert git(project, "log", "-1", "--format=%s") == "Begin with one"


async def test_there_is_a_sentence_where_nothing_can_be_committed(project, tmp_path):
    async with chatting(project) as (app, pilot):
        await ask(app, pilot, "/commit")
        await until(pilot, lambda: "There is nothing to commit." in transcript(app))
