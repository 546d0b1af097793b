"""Worker processes as the app really starts them: behind a screen, and where none can be started. Each in a process of
its own, because what Python keeps beside its workers is started once in a process.
"""

import subprocess
import sys

import pytest

from laguna_tui.repo.pool import NO_WORKERS

PARSE = """
import sys
from pathlib import Path
from laguna_tui.repo.parsing import Task
from laguna_tui.repo.pool import parse_all
from laguna_tui.errors import UserError

class Screen:
    def fileno(self):
        return -1
    def write(self, text):
        pass
    def flush(self):
        pass

if __name__ == "__main__":
    sys.stderr = Screen()
    root = Path(sys.argv[1])
    tasks = [Task(path.name, size=path.stat().st_size) for path in sorted(root.iterdir())]
    try:
        print(*(f"{each.task.path} {each.refused}" for each in parse_all(root, tasks, lambda: False, workers=1)))
    except UserError as error:
        print(error)
"""


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "code"
    root.mkdir()
    (root / "a.py").write_text("x = 1\n")
    return root


def test_workers_start_behind_a_screen_that_stands_in_for_stderr(folder, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(PARSE)
    done = subprocess.run([sys.executable, script, folder], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "a.py False\n"


def test_no_file_is_blamed_when_no_worker_can_be_started(folder):
    # Workers begin with the program's main module, which nobody can read again when it came through a pipe.
    command = [sys.executable, "-", folder]
    done = subprocess.run(command, input=PARSE, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == f"{NO_WORKERS}\n"
