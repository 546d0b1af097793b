"""Samples of the kills that `kills` and `history_kills` make by the hundred."""

import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).parents[3]


def killed(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", f"tests.app.session.{module}", *arguments]
    return subprocess.run(command, cwd=TOP, capture_output=True, text=True, timeout=300, check=False)


def test_a_killed_session_is_never_lost_and_its_undo_stays_exact():
    done = killed("history_kills", "3", "7")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("3 kills")


def test_the_app_that_is_killed_on_its_terminal_leaves_everything_whole():
    done = killed("kills", "3", "7")
    assert done.returncode == 0, done.stderr
    assert "| all | 3 | 0 | 0 | 0 | 0 | 0 | 0 |" in done.stdout
