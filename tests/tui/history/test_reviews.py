"""`/review`: the model gets the changes that are not committed with its message."""

from contextlib import asynccontextmanager

from laguna_tui.tui.controllers.review_controller import REVIEW
from tests.scripted_model import Script, scripted_session
from tests.tui.history.test_commits import git, project
from tests.tui.pilot import ready, running, transcript, until

__all__ = ["project"]


@asynccontextmanager
async def chatting(folder):
    script = Script(["Line 1 is wrong."])
    session = scripted_session(folder, script, context=8192, thinking=False)
    async with running(session) as (app, pilot):
        await ready(app, pilot)
        try:
            yield script, app, pilot
        finally:
            session.close()


async def review(app, pilot, shown, words="/review"):
    app.prompt.replace_text(words)
    await pilot.press("enter")
    await until(pilot, lambda: shown in transcript(app))


async def test_staged_unstaged_and_new_files_are_reviewed_without_secrets(project):
    (project / "b.txt").write_text("staged\n")
    git(project, "add", "b.txt")
    (project / "a.txt").write_text("two\n")
    (project / "new.txt").write_text("new\n")
    (project / ".env").write_text("KEY=secret\n")
    git(project, "add", "-N", ".env")
    async with chatting(project) as (script, app, pilot):
        await review(app, pilot, "Line 1 is wrong.", "/review the line ends")
        read = script.asked[0].text
        for words in (REVIEW, "Look at this above all: the line ends", "+staged", "-one\n+two", "New files", "new.txt"):
            assert words in read
        assert "KEY=secret" not in read


async def test_nothing_is_sent_where_there_is_nothing_to_review(project, tmp_path):
    plain = tmp_path / "plain"
    plain.mkdir()
    for folder, sentence in (
        (project, "There is nothing to review: every file in this folder is as in the last commit."),
        (plain, f"git does not answer in {plain}. Make it a repository first: !git init"),
    ):
        async with chatting(folder) as (script, app, pilot):
            app.prompt.replace_text("/review")
            await pilot.press("enter")
            # A long path is broken inside.
            wanted = "".join(sentence.split())
            await until(pilot, lambda wanted=wanted, app=app: wanted in "".join(transcript(app).split()))
            assert not script.asked
