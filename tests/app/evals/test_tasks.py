"""The tasks that ship with the app; all of them are checked by `python -m tests.evals.tasks`."""

from pathlib import Path

import pytest

from laguna_tui.evals.task import LANGUAGES, Task, TaskSet, load_tasks, parse_tasks
from laguna_tui.evals.verdict import TASKS as FOLDER
from laguna_tui.evals.verdict import missing_program
from laguna_tui.sandbox.probe import SandboxKind, probe_sandbox
from tests.evals.tasks import LEAST_MUTANTS, misplaced_keys, problems

TASKS = load_tasks()
SAMPLE = ("run_lengths", "average_of_nothing", "full_stack", "callers_schedule_watch_1", "takes_sum_salvage_2")


@pytest.mark.parametrize("name", TASKS)
def test_a_task_is_whole(name: str):
    task = TASKS[name]
    assert task.language in LANGUAGES
    assert task.hidden
    assert len(task.mutants) >= LEAST_MUTANTS
    assert all(mutant != task.reference for mutant in task.mutants)
    run = [word for word in task.check.split() if word.endswith((".py", ".js", ".rs", ".sh")) and "*" not in word]
    assert set(run) <= task.hidden.keys()


@pytest.mark.skipif(probe_sandbox().kind is SandboxKind.NONE, reason="no sandbox works here")
@pytest.mark.parametrize("name", SAMPLE)
def test_the_reference_passes_and_nothing_else(name: str):
    task: Task = TASKS[name]
    if program := missing_program(task.language):
        pytest.skip(f"needs {program}")
    assert list(problems(task)) == []


TABLE = """
[twice]
question = "Make it return twice."
mutants = []
reference = []
{early}
[twice.files]
"a.py" = "x = 1"
[twice.hidden]
"check.py" = "import a"
{late}
"""


def test_a_key_behind_the_hidden_files_is_refused_as_it_would_be_a_file():
    line = 'check = "{python} check.py"'
    text = TABLE.format(early=line, late="")
    (right,) = parse_tasks(text, TaskSet.EDITS)
    assert (right.check, list(right.hidden)) == ("{python} check.py", ["check.py"])
    assert list(misplaced_keys(text)) == []
    (said,) = misplaced_keys(TABLE.format(early="", late=line))
    assert said == "twice: `check` stands behind [twice.hidden], so it would be a file; put it above that line"


def test_a_misspelt_key_is_named():
    with pytest.raises(ValueError, match=r"^twice: Object contains unknown field `chek`$"):
        list(parse_tasks(TABLE.format(early='chek = "true"', late=""), TaskSet.EDITS))


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*/*.toml")), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_key_of_the_tasks_is_misplaced(path: Path):
    assert list(misplaced_keys(path.read_text(encoding="utf-8"))) == []


def test_lookups_are_about_code_that_parses_and_ask_everything_of_it():
    lookups = [task for task in TASKS.values() if task.set is TaskSet.LOOKUPS]
    assert len(lookups) == 80
    for repository in {tuple(task.files.items()) for task in lookups}:
        for path, text in repository:
            compile(text, path, "exec")
    kinds = {task.name.partition("_")[0] for task in lookups}
    assert kinds == {"where", "takes", "callers", "number"}
