"""A session whose process is killed at any moment is there, whole and unlocked, with all that was done."""

import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[3]


def killed(*words):
    """The words of the harness about its kills; it runs alone, because it forks."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.app.store.kills", *words], cwd=TOP, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_journals_of_killed_processes_are_whole_and_unlocked():
    assert killed("25").startswith("25 kills: nothing lost, torn or locked")


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(("count", "work"), [("1000", "journal"), ("200", "session")])
def test_sessions_of_killed_processes_are_whole_and_unlocked(count, work):
    assert killed(count, work).startswith(f"{count} kills: nothing lost, torn or locked")
