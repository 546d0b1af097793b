"""Some of the tasks on the screen: what the user sees of them, and what only a user can do (stop, go on)."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.agent_tasks import trouble, work
from tests.agent_tasks.by_screen import on_screen
from tests.agent_tasks.repositories import PYTHON, C
from tests.agent_tasks.task import Outcome, Task
from tests.scripted_model import call, say
from tests.tui.pilot import ready, until

NAMED = {task.name: task for task in [*work.TASKS, *trouble.TASKS]}


def task_named(name: str) -> Task:
    task = NAMED[name]
    task.require()
    return task


@pytest.mark.parametrize(
    "name",
    ["the user saves a file that is being edited", "a file is in Latin-1", "a question is answered from several files"],
)
async def test_a_task_ends_on_the_screen_as_it_should(name: str, tmp_path: Path):
    task = task_named(name)
    async with on_screen(task, task.make(tmp_path)) as screen:
        await screen.ask(task.question)
        outcome = screen.outcome()
        task.verdict(outcome)
        assert task.question in screen.transcript
        assert outcome.answer.split("\n")[-1] in screen.transcript


async def test_the_user_allows_a_command_and_an_edit_by_keys(tmp_path: Path):
    task = replace(task_named("an off by one is fixed in C"), allow=(), mode="ask")
    async with on_screen(task, task.make(tmp_path)) as screen:
        await screen.send(task.question)
        assert "make test" in await screen.answer("y")
        shown = await screen.answer("y")
        assert "top > LIMIT" in shown
        assert "top >= LIMIT" in shown
        await screen.answer("y")
        await ready(screen.app, screen.pilot)
        task.verdict(screen.outcome())
        assert "$ make test" in screen.transcript
        assert "A full stack refuses more; passed." in screen.transcript


async def test_what_the_user_declines_by_key_is_not_done(tmp_path: Path):
    async with on_screen(trouble.DECLINED, trouble.DECLINED.make(tmp_path)) as screen:
        await screen.send(trouble.DECLINED.question)
        await screen.answer("n")
        await screen.answer("n")
        await ready(screen.app, screen.pilot)
        trouble.DECLINED.verdict(screen.outcome())
        assert "Then I leave it." in screen.transcript


def _wait_long(seen):
    # What still runs after ten seconds leaves a file.
    seen = yield call("shell", cmd="echo begun; touch begun; sleep 10; touch late")
    assert seen.user == "go on", seen.text
    yield "It had begun." if "begun" in seen.text.rpartition("<tool_response>")[2] else "?"


def _it_was_ended(outcome: Outcome) -> None:
    assert (outcome.folder / "begun").exists()
    assert not (outcome.folder / "late").exists()
    assert outcome.answer == "It had begun."


HANGING = Task(
    "a command is stopped and the work continues",
    "C",
    C,
    "Run it.",
    lambda folder: _wait_long,
    _it_was_ended,
    mode="auto",
    programs=(),
)


async def test_a_command_that_is_stopped_ends_and_the_work_goes_on(tmp_path: Path):
    HANGING.require()
    async with on_screen(HANGING, HANGING.make(tmp_path)) as screen:
        await screen.send(HANGING.question)
        await until(screen.pilot, (tmp_path / "begun").exists)
        await screen.pilot.press("escape")
        await ready(screen.app, screen.pilot)
        assert screen.outcome().end == "cancelled"
        await screen.ask("go on")
        HANGING.verdict(screen.outcome())


WORDS = " ".join(f"word{number}" for number in range(4000))


def _nothing_is_wrong(outcome: Outcome) -> None:
    assert [call.name for call in outcome.calls] == ["read"]


STOPPED = Task(
    "an answer is stopped in mid-word and continues",
    "Python",
    PYTHON,
    "Tell me all.",
    lambda folder: [say(WORDS), call("read", path="shop/cart.py"), "And that was all."],
    _nothing_is_wrong,
    context=32_768,
    programs=(),
)


async def test_an_answer_that_is_stopped_goes_on_with_its_cache(tmp_path: Path):
    STOPPED.require()
    async with on_screen(STOPPED, STOPPED.make(tmp_path)) as screen:
        await screen.send(STOPPED.question)
        await until(screen.pilot, lambda: "word20" in screen.transcript)
        await screen.pilot.press("escape")
        await ready(screen.app, screen.pilot)
        said = screen.outcome().answer
        assert screen.outcome().end == "cancelled"
        assert WORDS.startswith(said)
        assert len(said) < len(WORDS)
        await screen.ask("go on")
        seen = screen.script.asked[1]
        assert said in seen.text
        assert seen.text.endswith("<user>\ngo on\n</user>\n<assistant>\n<think>")
        steps = [event.stats for event in screen.events if type(event).__name__ == "StepFinished"]
        assert steps[1].cached_tokens >= steps[0].prompt_tokens + steps[0].generated_tokens - 20
        STOPPED.verdict(screen.outcome())
        assert "And that was all." in screen.transcript
