"""A check runs in the sandbox, and says yes to a right solution only."""

import pytest

from laguna_tui.evals.task import SOLUTION, load_tasks
from laguna_tui.evals.verdict import check_solution, code_of, missing_program, read_files
from laguna_tui.sandbox.probe import SandboxKind, probe_sandbox

FENCED = "Here:\n\n```python\n{code}```\n"
sandboxed = pytest.mark.skipif(probe_sandbox().kind is SandboxKind.NONE, reason="no sandbox works here")


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (FENCED.format(code="def f():\n    pass\n"), "def f():\n    pass\n"),
        ("def f():\n    pass\n", "def f():\n    pass\n"),
        ("```sh\nls\n```\n```python\nimport re\ndef f(): ...\n```\n```python\nf()\n```", "import re\ndef f(): ...\n"),
        ("```\ndef f(): 1\n```\nBetter:\n```py\ndef f(): 2\n```", "def f(): 2\n"),
        ("```python\ndef f(): 1\n", "def f(): 1\n"),
        ("```python\nf = min\n```", "f = min\n"),
        ("It cannot be done.", ""),
        ("```sh\nls\n```", ""),
    ],
)
def test_the_code_of_an_answer(answer: str, code: str):
    assert code_of(answer, "f") == code


@sandboxed
@pytest.mark.parametrize(
    ("solution", "passes"),
    [
        ("def run_lengths(text):\n    import itertools\n"
         "    return [(k, len(list(g))) for k, g in itertools.groupby(text)]\n", True),
        ("raise SystemExit(0)\n", False),
        ("def run_lengths(text):\n    print('all checks passed')\n    raise SystemExit(0)\n", False),
        ("def run_lengths(text):\n    return []\n", False),
        ("def other(): pass\n", False),
        ("not python", False),
    ],
)  # fmt: skip
def test_a_solution_passes_if_its_check_comes_to_its_end(solution: str, passes: bool):
    assert check_solution(load_tasks()["run_lengths"], {SOLUTION: solution}).passed is passes


@sandboxed
@pytest.mark.parametrize(
    ("name", "file", "early"),
    [
        ("average_of_nothing", "stats.py", "raise SystemExit(0)\n"),
        ("average_of_nothing", "stats.py", "import os\nos._exit(0)\n"),
        ("escape_attributes", "html.js", "process.exit(0);\n"),
    ],
)
def test_a_check_of_files_that_does_not_come_to_its_end_does_not_pass(name, file, early):
    task = load_tasks()[name]
    if program := missing_program(task.language):
        pytest.skip(f"needs {program}")
    solution = {**task.reference, file: early + task.reference[file]}
    assert check_solution(task, task.reference).passed
    assert not check_solution(task, solution).passed


@sandboxed
def test_a_solution_reaches_no_file_of_the_user(tmp_path):
    target = tmp_path / "mine"
    code = f"open({str(target)!r}, 'w')\n"
    verdict = check_solution(load_tasks()["run_lengths"], {SOLUTION: code})
    assert not verdict.passed
    assert not target.exists()


def test_what_a_model_left_is_read_without_its_links(tmp_path):
    outside = tmp_path / "secret"
    outside.write_text("secret")
    folder = tmp_path / "work"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("a = 1\n")
    (folder / "link.py").symlink_to(outside)
    (folder / "up").symlink_to(tmp_path)
    (folder / "binary").write_bytes(b"\xff\xfe\x00")
    assert read_files(folder) == {"src/a.py": "a = 1\n"}
