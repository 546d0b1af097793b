"""Some of what `signal_matrix.py` does in full: the app with its parent, as a job of a shell, on a scripted session."""

import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.tui.job import Job
from tests.tui.signal_matrix import QUIT_KEY, Case, check, start


@pytest.mark.parametrize(
    "case",
    [
        Case("INT", "idle", "child"),
        Case("QUIT", "loading", "parent"),
        Case("TERM", "asking", "group"),
        Case("HUP", "answering", "child"),
        Case("INT", "starting", "group"),
        Case("KILL", "answering", "parent"),
        Case("KILL", "asking", "child"),
        Case("SEGV", "loading", "group"),
        Case("USR1", "idle", "parent"),
        Case("CONT", "answering", "child"),
        Case("TSTP", "answering", "parent"),
        Case("TSTP", "asking", "child"),
        Case("TSTP", "idle", "group"),
        Case("TSTP", "starting", "group"),
    ],
    ids=str,
)
@pytest.mark.sampled(3)
def test_the_terminal_is_given_back_and_nothing_is_left_running(case: Case, tmp_path: Path) -> None:
    with start(case.state, str(tmp_path)) as job:
        assert check(case, job) == []


def test_it_can_be_stopped_again_and_again(tmp_path: Path) -> None:
    with start("answering", str(tmp_path)) as job:
        for _ in range(3):
            os.killpg(job.pid, signal.SIGTSTP)
            job.expect("stopped")
            job.read_what_is_there()
            assert job.left_behind == []
            job.forget()
            job.go_on()
            job.wait_for(b"more words")
        job.type(QUIT_KEY)
        assert job.expect("ended") == 0
        assert job.left_behind == []


def test_a_key_stops_it_and_the_shell_goes_on_with_it(tmp_path: Path) -> None:
    with start("idle", str(tmp_path)) as job:
        job.type(b"half a sentence")
        job.wait_for(b"sentence")
        job.type(b"\x1a")
        job.expect("stopped")
        job.read_what_is_there()
        assert job.left_behind == []
        job.forget()
        job.go_on()
        job.wait_for(b"sentence")
        job.type(QUIT_KEY)
        assert job.expect("ended") == 0
        assert job.left_behind == []


def test_a_stop_that_cannot_be_caught_is_mended_by_the_parent(tmp_path: Path) -> None:
    with start("idle", str(tmp_path)) as job:
        os.kill(job.child, signal.SIGSTOP)
        job.expect("stopped")
        job.read_what_is_there()
        assert job.left_behind == []
        job.forget()
        job.go_on()
        # What it was stopped in the middle of drawing is written first, before it takes the screen again.
        job.until(lambda: b"ready" in job.written.partition(b"\x1b[?1049h")[2], "the screen")
        assert 1049 in job.screen.on
        job.type(QUIT_KEY)
        assert job.expect("ended") == 0
        assert job.left_behind == []


def test_a_stopped_app_whose_parent_is_killed_ends(tmp_path: Path) -> None:
    with start("idle", str(tmp_path)) as job:
        os.kill(job.pid, signal.SIGTSTP)
        job.expect("stopped")
        os.kill(job.pid, signal.SIGKILL)
        job.go_on()
        job.expect("ended")
        job.wait_until_none_is_left()
        assert job.left_behind == []


def test_keys_are_read_after_a_stop(tmp_path: Path) -> None:
    with start("idle", str(tmp_path)) as job:
        os.kill(job.pid, signal.SIGTSTP)
        job.expect("stopped")
        job.read_what_is_there()
        job.forget()
        job.go_on()
        job.wait_for(b"ready")
        job.type(b"go\r")
        job.wait_for(b"more words")
        job.type(QUIT_KEY)
        assert job.expect("ended") == 0


def test_a_stop_is_not_obeyed_where_no_shell_could_continue_it(tmp_path: Path) -> None:
    """The program of a terminal window: the leader of its session."""
    command = [sys.executable, "-m", "tests.tui.supervised", "idle", str(tmp_path)]
    with Job(*command, shell=False) as job:
        job.wait_for(b"ready")
        os.kill(job.pid, signal.SIGTSTP)
        # Given up, and taken again at once.
        job.until(lambda: len(re.findall(rb"\x1b\[\?1049h", job.written)) == 2, "the screen")
        job.type(QUIT_KEY)
        job.wait_until_none_is_left()
        assert job.left_behind == []


NO_SIGNAL = ("sh", "-c", 'trap "" HUP; exec "$@"', "sh")
"""As nohup starts a program."""


@pytest.mark.parametrize(
    ("command", "blocked"),
    [(NO_SIGNAL, False), ((), True), (NO_SIGNAL, True)],
    ids=["without its signal", "while it draws", "without its signal, while it draws"],
)
def test_a_terminal_that_is_closed_ends_it(command: tuple[str, ...], blocked: bool, tmp_path: Path) -> None:
    words = (*command, sys.executable, "-m", "tests.tui.supervised", "answering", str(tmp_path))
    with Job(*words, shell=False) as job:
        job.wait_for(b"ready")
        job.type(b"go\r")
        job.wait_for(b"more words")
        if blocked:
            # Nobody reads what it draws, so that it cannot draw more.
            time.sleep(3)
        job.hang_up()
        job.until(lambda: job.shell.poll() is not None, "the end")
        assert job.shell.returncode == 128 + signal.SIGHUP
        job.wait_until_none_is_left()
    assert (tmp_path / "ended").read_text() == "SIGHUP"
