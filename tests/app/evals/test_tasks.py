"""The tasks that ship with the app; all of them are checked by `python -m tests.evals.tasks`."""

import pytest

from laguna_tui.evals.task import LANGUAGES, Task, load_tasks
from laguna_tui.evals.verdict import missing_program
from laguna_tui.sandbox.probe import SandboxKind, probe_sandbox
from tests.evals.tasks import LEAST_MUTANTS, problems

TASKS = load_tasks()
SAMPLE = ("run_lengths", "average_of_nothing", "full_stack")


@pytest.mark.parametrize("name", TASKS)
def test_a_task_is_whole(name: str):
    task = TASKS[name]
    assert task.language in LANGUAGES
    assert task.hidden
    assert len(task.mutants) >= LEAST_MUTANTS
    assert all(mutant != task.reference for mutant in task.mutants)


@pytest.mark.skipif(probe_sandbox().kind is SandboxKind.NONE, reason="no sandbox works here")
@pytest.mark.parametrize("name", SAMPLE)
def test_the_reference_passes_and_nothing_else(name: str):
    task: Task = TASKS[name]
    if program := missing_program(task.language):
        pytest.skip(f"needs {program}")
    assert list(problems(task)) == []
