"""A sample of the kills that `python -m tests.app.session.kills` makes by the hundred."""

import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).parents[3]


def test_a_killed_session_is_never_lost_and_goes_on_with_its_undo_exact():
    command = [sys.executable, "-m", "tests.app.session.kills", "3", "7"]
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, timeout=160, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("3 kills")
