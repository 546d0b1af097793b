"""Every task through `laguna-tui ask`: the command line, permissions, tools and the loop, with a scripted model."""

from pathlib import Path

import pytest

from laguna_tui.base.exit_codes import ExitCode
from tests.agent_tasks import trouble, work
from tests.agent_tasks.by_ask import run_by_ask
from tests.agent_tasks.task import Task

TASKS = [*work.TASKS, *trouble.TASKS]


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("CACHE", "CONFIG", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / "home"))


@pytest.mark.parametrize("task", TASKS, ids=[f"{task.name} ({task.language})" for task in TASKS])
@pytest.mark.sampled(3)
def test_a_task_ends_as_it_should(task: Task, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    task.require()
    for folder in ("repository", "model"):
        (tmp_path / folder).mkdir()
    folder = task.make(tmp_path / "repository")
    code, outcome = run_by_ask(task, folder, tmp_path / "model", lambda: capsys.readouterr().out)
    task.verdict(outcome)
    assert outcome.end == task.end
    # Only where trouble is meant does the model write a call that cannot be run.
    assert task not in work.TASKS or "call_rejected" not in outcome.notices
    answered = ExitCode.DENIED if task.denied else ExitCode.ANSWERED
    assert code == (answered if task.end == "answered" else ExitCode.UNFINISHED)


def test_the_tasks_are_of_many_kinds():
    assert len({task.name for task in TASKS}) == len(TASKS) >= 24
    assert len({task.language for task in TASKS}) >= 5
