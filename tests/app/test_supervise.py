"""The parent process on a real pty: whatever ends the app, the terminal is as it was."""

import os
import signal
import sys
import termios
import textwrap
import time

import pexpect
import pytest

ENTER_FULL_SCREEN = r"\x1b[?1049h\x1b[?25l\x1b[?1003h\x1b[?2004h"


def start(body: str) -> pexpect.spawn:
    """A program on a pty that goes full-screen and raw under the supervisor, then runs `body`."""
    program = textwrap.dedent(f"""
        import os, signal, sys, time, tty
        from laguna_tui.supervise import run_supervised
        def app():
            sys.stdout.write("{ENTER_FULL_SCREEN}ready\\n"); sys.stdout.flush()
            tty.setraw(0)
            {body}
            return 0
        sys.exit(run_supervised(app))
    """)
    return pexpect.spawn(sys.executable, ["-c", program], timeout=20)


def finish(child: pexpect.spawn) -> tuple[str, int]:
    output = child.read().decode()
    child.wait()
    return output, child.exitstatus if child.exitstatus is not None else -child.signalstatus


@pytest.mark.parametrize(
    ("body", "code", "word"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", 128 + signal.SIGSEGV, "--gpu-layers 0"),
        ("os.kill(os.getpid(), signal.SIGKILL)", 128 + signal.SIGKILL, "out of memory"),
        ("os.abort()", 128 + signal.SIGABRT, "SIGABRT"),
    ],
)
def test_a_crash_gives_the_terminal_back_and_says_why(body, code, word):
    output, status = finish(start(body))
    assert status == code
    after = output.split("ready")[-1]
    for sequence in ("\x1b[?1049l", "\x1b[?25h", "\x1b[?1003l", "\x1b[?2004l"):
        assert sequence in after
    assert word in after


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_parent_ends_the_app_and_restores_the_terminal(number):
    child = start("time.sleep(60)")
    child.expect("ready")
    # The echo flag tells when the app has made the terminal raw.
    while termios.tcgetattr(child.child_fd)[3] & termios.ECHO:
        time.sleep(0.01)
    os.kill(child.pid, number)
    output, status = finish(child)
    assert status == 128 + number
    assert "\x1b[?1049l" in output


def test_an_exit_code_passes_through():
    _, status = finish(start("return 4"))
    assert status == 4
