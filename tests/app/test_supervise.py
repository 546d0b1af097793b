"""The parent process on a real pseudo terminal: whatever ends or stops the app, the terminal is as it was."""

import fcntl
import os
import signal
import struct
import sys
import termios
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from laguna_tui import supervise
from tests.tui.job import Job
from tests.tui.signal_matrix import TARGETS

ENTER_FULL_SCREEN = r"\x1b[?1049h\x1b[?25l\x1b[?1003h\x1b[?2004h\x1b[>1u"


def start(body: str, before: str = "", around: Sequence[str] = ()) -> Job:
    """A program that goes full-screen and raw under the supervisor, says so, and runs `body`."""
    program = textwrap.dedent("""
        import os, signal, sys, threading, time, tty
        from laguna_tui import supervise
        from laguna_tui.base.terminal import terminal
        {before}
        def app(start, report):
            terminal.take()
            tty.setraw(0); terminal.remember_own()
            sys.stderr.write("{screen}on\\n"); sys.stderr.flush()
            {body}
            return 0
        sys.exit(supervise.run_supervised(app))
    """).format(body=body.replace("\n", "\n    "), before=before, screen=ENTER_FULL_SCREEN)
    job = Job(*around, sys.executable, "-c", program)
    job.wait_for(b"on")
    return job


def assert_gone(job: Job) -> None:
    """Nothing is left of it, not on the terminal either."""
    job.wait_until_none_is_left()
    assert job.left_behind == []


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (signal.SIGSEGV, "laguna-tui doctor"),
        (signal.SIGILL, "laguna-tui doctor"),
        (signal.SIGABRT, "laguna-tui doctor"),
        (signal.SIGBUS, "laguna-tui models verify"),
        (signal.SIGFPE, "laguna-tui models verify"),
        (signal.SIGKILL, "killed from outside"),
        (signal.SIGUSR1, "from outside"),
    ],
)
def test_after_a_crash_the_terminal_is_restored_and_the_message_says_what_to_do(number, advice):
    with start(f"os.kill(os.getpid(), {number:d})") as job:
        assert job.expect("ended") == 128 + number
        assert_gone(job)
        said = job.written.decode().split("on", 1)[1]
        assert number.name in said
        assert advice in said
        assert "memory" not in said


def test_memory_is_blamed_when_the_kernel_has_killed_for_it():
    with start("os.kill(os.getpid(), signal.SIGKILL)", "supervise.oom_kills = iter([3, 4]).__next__") as job:
        assert job.expect("ended") == 128 + signal.SIGKILL
        job.wait_for(b"ran out of memory; start it with a smaller --context")


@pytest.mark.parametrize(
    "files",
    [
        {
            "proc/self/cgroup": "0::/user.slice/a.scope",
            "proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw",
            "sys/fs/cgroup/user.slice/a.scope/memory.events": "low 0\noom 9\noom_kill 7\noom_group_kill 0",
        },
        {
            "proc/self/cgroup": "9:name=systemd:/\n4:memory,cpu:/box\n0::/",
            "proc/self/mountinfo": "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory,cpu",
            "sys/fs/cgroup/memory/box/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 7",
        },
        {"proc/self/cgroup": "0::/", "proc/vmstat": "pgfault 5\noom_kill 7\nnuma_hit 2"},
    ],
)
def test_kills_for_lack_of_memory_are_counted_where_the_kernel_reports_them(files, tmp_path):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert supervise.oom_kills(tmp_path) == 7


def test_a_system_without_such_files_has_killed_nothing(tmp_path):
    assert supervise.oom_kills(tmp_path) == 0
    assert not supervise.memory_is_short(tmp_path)


@pytest.mark.parametrize(
    "name", ["INT", "TERM", "HUP", "QUIT", "ABRT", "SEGV", "BUS", "ILL", "FPE", "USR1", "ALRM", "RTMIN"]
)
@pytest.mark.parametrize("whole_group", [False, True])
@pytest.mark.sampled(5)
def test_a_signal_to_the_parent_ends_both(name, whole_group):
    number = signal.Signals[f"SIG{name}"]
    with start("time.sleep(60)") as job:
        (os.killpg if whole_group else os.kill)(job.pid, number)
        assert job.expect("ended") == 128 + number
        assert_gone(job)


@pytest.mark.parametrize(
    ("number", "target"),
    [
        (signal.SIGTSTP, "parent"),
        (signal.SIGTSTP, "child"),
        (signal.SIGTSTP, "group"),
        (signal.SIGSTOP, "child"),
    ],
)
def test_both_stop_on_a_restored_terminal_and_continue_together(number, target):
    back = "signal.signal(signal.SIGCONT, lambda *_: print('back')); print('listening'); time.sleep(60)"
    with start(back) as job:
        job.wait_for(b"listening")
        TARGETS[target](job, number)
        job.expect("stopped")
        job.read_what_is_there()
        assert job.left_behind == []
        job.go_on()
        job.wait_for(b"back")
        os.kill(job.pid, signal.SIGTERM)
        assert job.expect("ended") == 128 + signal.SIGTERM
        assert_gone(job)


def test_settings_that_the_user_changed_during_a_stop_are_kept():
    back = "signal.signal(signal.SIGCONT, lambda *_: os._exit(3)); print('listening'); time.sleep(60)"
    with start(back) as job:
        job.wait_for(b"listening")
        os.kill(job.child, signal.SIGSTOP)
        job.expect("stopped")
        changed = termios.tcgetattr(job.inside)
        changed[6][termios.VERASE] = b"\x08"
        termios.tcsetattr(job.inside, termios.TCSANOW, changed)
        job.go_on()
        assert job.expect("ended") == 3
        assert termios.tcgetattr(job.inside) == changed


def test_a_parent_that_is_killed_takes_the_app_along():
    with start("time.sleep(60)") as job:
        os.kill(job.pid, signal.SIGKILL)
        assert job.expect("ended") == -signal.SIGKILL
        assert_gone(job)


def test_an_app_that_hangs_does_not_outlive_its_parent_either():
    hung = "signal.signal(signal.SIGTERM, signal.SIG_IGN); print('hung'); time.sleep(60)"
    with start(hung, "supervise.PATIENCE_S = 0.2") as job:
        job.wait_for(b"hung")
        os.kill(job.pid, signal.SIGKILL)
        assert_gone(job)


def test_an_app_that_does_not_end_on_request_is_killed_which_is_reported():
    hung = "signal.signal(signal.SIGTERM, signal.SIG_IGN); print('hung'); time.sleep(60)"
    with start(hung, "supervise.PATIENCE_S = 0.2") as job:
        job.wait_for(b"hung")
        os.kill(job.pid, signal.SIGTERM)
        assert job.expect("ended") == 128 + signal.SIGKILL
        assert_gone(job)
        assert b"did not end within" in job.written
        assert b"SIGTERM" in job.written


def test_a_signal_that_was_ignored_at_the_start_ends_nothing():
    body = "print('listening'); os.read(0, 1); return 5"
    with start(body, "supervise.PATIENCE_S = 0.1", ("sh", "-c", 'trap "" HUP; exec "$@"', "sh")) as job:
        job.wait_for(b"listening")
        os.killpg(job.pid, signal.SIGHUP)
        time.sleep(0.5)
        job.type(b"x")
        assert job.expect("ended") == 5


def test_a_worker_does_not_outlive_an_app_that_is_killed():
    worker = (
        "from laguna_engine.native.child import Worker; worker = Worker('tests.app.supervised_worker');"
        " worker.send(b'x'); worker.receive(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    with start(worker) as job:
        assert job.expect("ended") == 128 + signal.SIGKILL
        assert_gone(job)


@pytest.mark.parametrize("code", [0, 1, 4, 130])
def test_an_exit_code_passes_through_and_the_terminal_is_restored_for_each(code):
    with start(f"return {code}") as job:
        assert job.expect("ended") == code
        assert_gone(job)


SAVED = "report.session_saved('20261123-101500-ab12', 'a title')"
RESUME = b"To resume later: laguna-tui --resume 20261123-101500-ab12"


@pytest.mark.parametrize(("turns", "code"), [(1, 0), (0, 0), (1, 3)])
def test_after_a_conversation_the_end_says_how_to_resume_it(turns, code):
    with start(f"{SAVED}{'; report.turn_ended()' * turns}; return {code}") as job:
        assert job.expect("ended") == code
        assert_gone(job)
        assert (RESUME in job.written) == (turns == 1 and code == 0)


def test_nothing_is_sent_to_a_terminal_that_the_app_has_restored_itself():
    tidy = (
        "termios.tcsetattr(0, termios.TCSANOW, terminal._found); os.write(2, supervise_restore.encode());"
        " terminal.give_back(); print('the end'); return 1"
    )
    before = "import termios; from laguna_tui.base.terminal import RESTORE as supervise_restore"
    with start(tidy, before) as job:
        assert job.expect("ended") == 1
        assert_gone(job)
        assert job.written.endswith(b"the end\r\n")


def test_what_was_typed_for_an_app_that_crashed_does_not_reach_the_shell():
    body = "print('listening'); select.select([0], [], []); os.kill(os.getpid(), signal.SIGSEGV)"
    with start(body, "import select") as job:
        job.wait_for(b"listening")
        job.type(b"rm -rf *\r")
        job.expect("ended")
        waiting = fcntl.ioctl(job.inside, termios.FIONREAD, struct.pack("i", 0))
        assert struct.unpack("i", waiting) == (0,)


def test_an_exception_is_printed_on_the_restored_terminal():
    with start("raise RuntimeError('broken')") as job:
        assert job.expect("ended") == 1
        assert_gone(job)
        assert job.written.rindex(b"broken") > job.written.rindex(b"\x1b[?1049l")


def test_a_job_that_is_started_in_the_background_waits_for_the_foreground(tmp_path):
    ran = tmp_path / "ran"
    program = (
        f"import sys, pathlib; from laguna_tui.supervise import run_supervised;"
        f" sys.exit(run_supervised(lambda *_: pathlib.Path({str(ran)!r}).write_text('x')))"
    )
    with Job(sys.executable, "-c", program, background=True) as job:
        assert job.expect("stopped") == signal.SIGTTOU
        assert not ran.exists()
        job.go_on()
        assert job.expect("ended") == 1
        assert Path(ran).exists()


# -- going on with the session

QUESTION = "Enter resumes “fix the discount”, q quits.".encode()
KEPT = "report.session_saved('20261123-101500-ab12', 'fix the discount')"
STARTS = "if start.session: print('resumed', start.session, start.crashed); return 7"


def crashed(*body: str, before: str = "") -> Job:
    """A program that crashes in a session that is kept."""
    job = start("\n".join((*body, KEPT, "os.kill(os.getpid(), signal.SIGSEGV)")), before)
    job.wait_for(QUESTION)
    return job


def answered(job: Job, key: bytes) -> None:
    """Press a key when the question listens."""
    job.forget()
    time.sleep(supervise._DEAF_S + 0.1)
    job.type(key)


@pytest.mark.parametrize("key", [b"\r", b"r"])
def test_one_key_starts_the_app_again_with_its_session(key):
    with crashed(STARTS) as job:
        assert job.left_behind in ([], ["settings"])
        answered(job, key)
        job.wait_for(b"resumed 20261123-101500-ab12 True")
        assert job.expect("ended") == 7
        assert_gone(job)


@pytest.mark.parametrize("key", [b"q", b"\x1b", b"\x04", b"\x03"])
def test_another_key_quits_and_the_message_says_how_to_resume_later(key):
    with crashed(STARTS) as job:
        answered(job, key)
        assert job.expect("ended") == 128 + signal.SIGSEGV
        assert_gone(job)
        assert b"laguna-tui --resume 20261123-101500-ab12" in job.written


def test_keys_without_a_meaning_and_what_the_mouse_reports_answer_nothing():
    with crashed(STARTS) as job:
        answered(job, b"x\x1b[<35;10;10M")
        time.sleep(0.2)
        assert job.processes()
        job.type(b"q")
        assert job.expect("ended") == 128 + signal.SIGSEGV


def test_what_is_typed_when_it_crashes_answers_nothing_and_does_not_reach_the_shell():
    with crashed(STARTS) as job:
        job.type(b"rm -rf *\r")
        time.sleep(supervise._DEAF_S + 0.1)
        assert b"resumed" not in job.written
        job.type(b"q")
        assert job.expect("ended") == 128 + signal.SIGSEGV
        waiting = fcntl.ioctl(job.inside, termios.FIONREAD, struct.pack("i", 0))
        assert struct.unpack("i", waiting) == (0,)


def test_a_crash_loop_stops_after_two():
    with crashed() as job:
        answered(job, b"\r")
        assert job.expect("ended") == 128 + signal.SIGSEGV
        assert_gone(job)
        assert b"it ended twice" in job.written
        assert b"laguna-tui --resume 20261123-101500-ab12" in job.written


def test_a_complete_answer_in_between_ends_a_crash_loop():
    with crashed("report.turn_ended()") as job:
        for _ in range(2):
            answered(job, b"\r")
            job.wait_for(QUESTION)
        answered(job, b"q")
        assert job.expect("ended") == 128 + signal.SIGSEGV


def test_a_crash_before_the_resumed_app_reports_anything_counts_too():
    with crashed("if start.session: os.kill(os.getpid(), signal.SIGABRT)") as job:
        answered(job, b"\r")
        assert job.expect("ended") == 128 + signal.SIGABRT
        assert b"it ended twice" in job.written


def test_no_question_without_a_session_or_after_a_request_to_end():
    with start("os.kill(os.getpid(), signal.SIGSEGV)") as job:
        assert job.expect("ended") == 128 + signal.SIGSEGV
    with start(f"{KEPT}; print('kept'); time.sleep(60)") as job:
        job.wait_for(b"kept")
        os.kill(job.pid, signal.SIGTERM)
        assert job.expect("ended") == 128 + signal.SIGTERM


def test_after_a_failure_that_the_app_caught_resuming_is_offered_too():
    with start(f"{STARTS}\n{KEPT}; report.failed(); return 1") as job:
        job.wait_for(QUESTION)
        answered(job, b"\r")
        assert job.expect("ended") == 7


def test_the_question_can_be_stopped_and_is_asked_again():
    with crashed(STARTS) as job:
        os.kill(job.pid, signal.SIGTSTP)
        job.expect("stopped")
        job.read_what_is_there()
        assert job.left_behind == []
        job.forget()
        job.go_on()
        job.wait_for(QUESTION)
        answered(job, b"\r")
        assert job.expect("ended") == 7


@pytest.mark.parametrize("name", ["TERM", "HUP", "QUIT", "USR1", "SEGV"])
def test_a_signal_ends_the_question(name):
    number = signal.Signals[f"SIG{name}"]
    with crashed(STARTS) as job:
        os.kill(job.pid, number)
        assert job.expect("ended") == 128 + number
        assert_gone(job)


def test_a_terminal_that_goes_away_ends_the_question():
    with crashed(STARTS) as job:
        job.hang_up()
        job.until(lambda: not job.processes(), "the end")


def test_a_hostile_title_does_not_control_the_terminal():
    body = "report.session_saved('1', '\\\\x1b]52;c;aGFoYQ==\\\\x07\\\\x9b2J'); os.kill(os.getpid(), signal.SIGSEGV)"
    with start(body) as job:
        job.wait_for(b"q quits")
        assert b"\x1b]52" not in job.written
        assert "\x9b".encode() not in job.written


def test_the_app_can_be_started_again_in_another_folder():
    again = "if start.folder: print('in', start.folder, start.session, start.crashed); return 5"
    with start(f"{again}\nreport.start_next('42', '/elsewhere'); return 0") as job:
        job.wait_for(b"in /elsewhere 42 False")
        assert job.expect("ended") == 5
        assert_gone(job)
