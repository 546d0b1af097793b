"""In a real terminal, with the bundled model: whatever ends the app, one key resumes with the session."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from laguna_tui import supervise
from laguna_tui.base.paths import APP
from tests.tui.job import ROOT, Job
from tests.tui.signal_matrix import QUIT_KEY, REAL_STATES, start_real

ASKED = b"where is Workspace defined?"


def journal(folder: Path) -> list[dict]:
    """The lines of the only session that is kept."""
    (path,) = (folder / APP / "sessions").glob("*/journal.jsonl")
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@contextmanager
def answering(folder: Path):
    """The program in the middle of an answer, or soon after."""
    with start_real("answering", str(folder)) as job:
        yield job


def press(job: Job, key: bytes) -> None:
    time.sleep(supervise._DEAF_S + 0.1)
    job.forget()
    job.type(key)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT])
def test_one_key_goes_on_with_the_session_after_a_crash(number: signal.Signals, tmp_path: Path):
    with answering(tmp_path) as job:
        first = job.child
        os.kill(first, number)
        job.wait_for(b"Enter resumes")
        assert ASKED in job.written.rpartition(b"Enter resumes")[2]
        job.read_what_is_there()
        assert [mode for mode in job.left_behind if mode != "settings"] == []
        press(job, b"\r")
        job.wait_for(b"Resumed")
        job.wait_for(ASKED)
        assert job.child != first
        press(job, b"who calls is_binary?\r")
        job.until(lambda: sum(line["event"] == "turn" for line in journal(tmp_path)) == 2, "the second message")
        job.type(QUIT_KEY)
        assert job.expect("ended") == 0
        job.wait_until_none_is_left()
        assert job.left_behind == []
    assert journal(tmp_path)[-1] | {"time": 0} == {"event": "closed", "reason": "", "time": 0}


@pytest.mark.parametrize(
    ("name", "target", "reason"),
    [
        ("TERM", "parent", "SIGTERM"),
        ("HUP", "child", "SIGHUP"),
        ("QUIT", "parent", "SIGQUIT"),
        ("KILL", "parent", "its parent process was killed"),
    ],
)
def test_it_ends_in_order_and_the_journal_says_why(name: str, target: str, reason: str, tmp_path: Path):
    with answering(tmp_path) as job:
        os.kill(job.pid if target == "parent" else job.child, signal.Signals[f"SIG{name}"])
        job.expect("ended")
        job.wait_until_none_is_left()
        assert job.left_behind == []
    assert journal(tmp_path)[-1]["reason"] == reason


def test_it_ends_in_order_when_the_terminal_goes_away(tmp_path: Path):
    with answering(tmp_path) as job:
        job.hang_up()
        job.until(lambda: not job.processes(), "the end")
    last = journal(tmp_path)[-1]
    assert last.get("reason") in ("SIGHUP", "its parent process was killed"), last


READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && exec "$2" -m laguna_tui --folder "$3"'


def test_a_chat_on_a_read_only_disk_is_answered_and_says_that_it_is_not_saved(tmp_path: Path):
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-rm", "true"], check=False, capture_output=True).returncode:
        pytest.skip("no namespaces to mount a disk read-only in")
    (tmp_path / APP).mkdir()
    folders = dict.fromkeys(("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"), str(tmp_path))
    inside = ("sh", "-c", READ_ONLY, "sh", str(tmp_path), sys.executable, str(ROOT))
    with Job(unshare, "-rm", *inside, environment=folders) as job:
        job.wait_for(REAL_STATES["idle"])
        job.type(ASKED + b"\r")
        job.wait_for(b"This session is not being saved")
        job.wait_for(b"Defined here")
        # At the end of the first turn there may be nothing in the cache yet.
        job.type(b"who calls is_binary?\r")
        job.wait_for(b"KV cache is not being saved")
        job.type(QUIT_KEY)
        assert job.expect("ended") == 0
        job.wait_until_none_is_left()
    assert [path.name for path in tmp_path.rglob("*")] == [APP]
