"""The small parent process of the TUI: however the child ends, it restores the terminal and can resume the session.

llama.cpp runs in the app's process, so a segmentation fault or an out-of-memory kill takes the app with it, and
no handler inside can restore the terminal. The parent forks before anything heavy is imported, waits, cleans up, and
offers to start the app again with the session that it was in.

Both are one job for the shell: a signal that is sent to the parent goes to the child, which has the terminal; the
parent stops when the child stops; the child ends when the parent does, and then restores the terminal itself.
"""

import contextlib
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from laguna_engine.native.control_groups import groups, lines
from laguna_tui.base.app_report import AppReport, AppStatus, Start

if TYPE_CHECKING:
    from laguna_tui.base.terminal import SingleKeys

PATIENCE_S = 20.0
"""How long the child may take to end. Closing a large model and its index takes seconds; a hung screen never ends."""

_DYING_S = 0.01
"""Pause between two checks whether the parent is gone; its files are closed just before."""

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_NOT_PASSED_ON = {
    # These cannot be caught.
    signal.SIGKILL,
    signal.SIGSTOP,
    # The kernel sends these to the child as well, or they stop a job that is in the background.
    signal.SIGWINCH,
    signal.SIGURG,
    signal.SIGTTIN,
    signal.SIGTTOU,
}


App = Callable[[Start, AppReport], int]
"""Runs the app with how it is started and its report to the parent; returns the exit code."""


def run_supervised(app: App) -> int:
    """Run `app` in a forked child and return its exit code (128 + n after signal n).

    If it ends unexpectedly in a session that is saved, one key starts it again with that session. Without a terminal,
    or where fork does not exist, `app` runs in this process.
    """
    report = AppReport()
    if not hasattr(os, "fork") or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return app(Start(), report)
    from laguna_tui.base.terminal import terminal, wait_for_foreground

    wait_for_foreground()
    terminal.remember()
    # All are waited for, none is handled: a crash of the parent itself still ends it, but a SEGV sent to it does not.
    watched = signal.valid_signals() - _NOT_PASSED_ON
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    start, crashes = Start(), 0
    while True:
        ended = _run_once(app, start, report, watched, before)
        status = report.status
        report.clear()
        if status.next is not None and ended.exited and not ended.asked:
            start = status.next
            report.session_saved(start.session, "")
            continue
        crashed = ended.crashed or status.failed
        asks = crashed and not ended.asked and status.session
        code = _report_end(ended, advise=not asks)
        if not ended.exited:
            _remove_mount_points()
        if not asks:
            if ended.exited and not ended.asked and not code and status.session and status.turns:
                sys.stderr.write(_LATER.format(session=status.session))
            return code
        crashes = 1 if status.turns else crashes + 1
        if crashes == _CRASHES:
            sys.stderr.write(_TWICE + _LATER.format(session=status.session))
            return code
        left = _ask_to_resume(status, watched)
        if left is not None:
            return left or code
        start = Start(status.session, start.folder, crashed=True)
        # It may end before it can report that itself.
        report.session_saved(status.session, status.title)


@dataclass(frozen=True, slots=True)
class _Ended:
    """How the app ended.

    Attributes:
        status: as `waitpid` gives it.
        asked: the signal that asked it to end, 0 for none.
        overdue: it did not end on that and was killed.
        out_of_memory: memory ran out at that time.
    """

    status: int
    asked: int
    overdue: bool
    out_of_memory: bool

    @property
    def exited(self) -> bool:
        return os.WIFEXITED(self.status)

    @property
    def crashed(self) -> bool:
        return not self.exited and os.WTERMSIG(self.status) not in _ENDING

    @property
    def code(self) -> int:
        return os.WEXITSTATUS(self.status) if self.exited else 128 + os.WTERMSIG(self.status)


def _run_once(app: App, start: Start, report: AppReport, watched: Set[int], before: Iterable[int]) -> _Ended:
    from laguna_tui.base.terminal import terminal

    lifeline, held = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        os.close(held)
        _run_child(lambda: app(start, report), parent, lifeline, before)
    os.close(lifeline)
    killed_before = oom_kills()
    supervisor = _Supervisor(child, watched)
    try:
        status = supervisor.wait()
    finally:
        os.close(held)
    terminal.restore()
    short = oom_kills() > killed_before or memory_is_short()
    return _Ended(status, supervisor.asked, supervisor.overdue, short)


def _remove_mount_points() -> None:
    """Remove what is left of the sandboxes of the app's commands, once the last of these has ended too."""
    from laguna_tui.sandbox.stubs import remove_leftovers

    until = time.monotonic() + _COMMANDS_S
    while not remove_leftovers() and time.monotonic() < until:
        time.sleep(_POLL_S)


class _Supervisor:
    """Waits for the child, and stops and continues with it.

    Attributes:
        asked: the signal that asked the child to end; 0 for none.
        overdue: whether the child did not end on that, so that it was killed.
    """

    def __init__(self, child: int, watched: Set[int]) -> None:
        self.asked = 0
        self.overdue = False
        self._child, self._watched = child, watched

    def wait(self) -> int:
        """Return the child's wait status, once it has ended."""
        # Not everywhere is a blocked signal kept if its default is to be ignored.
        for quiet in (signal.SIGCHLD, signal.SIGCONT):
            signal.signal(quiet, lambda *_: None)
        while True:
            number = signal.sigwait(self._watched)
            if number == signal.SIGCHLD:
                status = self._changed()
                if status is not None:
                    signal.setitimer(signal.ITIMER_REAL, 0)
                    return status
            elif number == signal.SIGALRM and self.asked:
                self.overdue = True
                self._send(signal.SIGKILL)
            else:
                self._send(number)

    def _send(self, number: int) -> None:
        if number in _ENDING and not self.asked and signal.getsignal(number) is not signal.SIG_IGN:
            self.asked = number
            signal.setitimer(signal.ITIMER_REAL, PATIENCE_S)
        # It is not waited for yet, so the number is still its own.
        os.kill(self._child, number)

    def _changed(self) -> int | None:
        """Return the wait status of the child if it ended; a child that stopped stops this process too."""
        while True:
            child, status = os.waitpid(self._child, os.WNOHANG | os.WUNTRACED)
            if child == 0:
                return None
            if not os.WIFSTOPPED(status):
                return status
            _stop()


def _stop() -> None:
    """Restore the terminal and stop this process until a shell continues it."""
    from laguna_tui.base.terminal import terminal

    # Does nothing if the child has done it; one that was stopped by SIGSTOP could not.
    terminal.restore()
    # The default action, which does nothing where no shell could continue us. Sent before it is unblocked, it is merged
    # with a stop that is pending already.
    os.kill(os.getpid(), signal.SIGTSTP)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTSTP})
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTSTP})
    terminal.remember_again()


def _run_child(app: Callable[[], int], parent: int, lifeline: int, mask: Iterable[int]) -> NoReturn:
    code = 1
    try:
        code = _child(app, parent, lifeline, mask)
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 1
    except KeyboardInterrupt:
        code = 128 + signal.SIGINT
    except BaseException:
        from laguna_tui.base.terminal import terminal

        # Else the traceback would vanish with the app's screen.
        terminal.restore()
        sys.excepthook(*sys.exc_info())
    finally:
        # Nothing may lead back from here into what is the parent's.
        try:
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(OSError, ValueError):
                    stream.flush()
        finally:
            os._exit(code)


def _child(app: Callable[[], int], parent: int, lifeline: int, mask: Iterable[int]) -> int:
    from laguna_engine.native.child import signal_on_parent_death

    # Until the app handles them on its loop, there is nothing to clean up.
    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, _: _end(number, parent))
    # The parent's, where it has waited before.
    for number in (signal.SIGCHLD, signal.SIGCONT):
        signal.signal(number, signal.SIG_DFL)
    signal_on_parent_death(signal.SIGTERM)
    # Also where the kernel sends no signal, or has sent one to a screen that hangs. Started while signals are blocked,
    # because one that interrupted this thread would not wake the main one.
    threading.Thread(target=_end_with_parent, args=(parent, lifeline), name="laguna-lifeline", daemon=True).start()
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    return app()


def _end(number: int, parent: int) -> NoReturn:
    from laguna_tui.base.terminal import terminal

    if os.getppid() != parent:
        terminal.restore()
    os._exit(128 + number)


def _end_with_parent(parent: int, lifeline: int) -> None:
    from laguna_tui.base.terminal import terminal

    # Nothing is ever written: this returns when the parent is gone, or is just about to be.
    os.read(lifeline, 1)
    while os.getppid() == parent:
        time.sleep(_DYING_S)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(PATIENCE_S)
    terminal.restore()
    os.kill(os.getpid(), signal.SIGKILL)


_CRASHES = 2
"""Unexpected ends in a row, without a complete answer in between, after which the app is not started again."""
_DEAF_S = 0.7
"""How long keys are ignored after the question: a user who was typing when the app ended types on."""
_POLL_S = 0.05
_COMMANDS_S = 1.0
"""The commands of a killed app end within milliseconds. Those of other windows may run on, and are not waited for."""
_RESUMING, _LEAVING = (b"\r", b"\n", b"r", b"R"), (b"q", b"Q", b"\x1b", b"\x04")
_QUESTION = "Enter resumes {title}, q quits.\n"
_KEPT = "The session so far is saved.\n"
_LEAST_TITLE = 12
_TWICE = "laguna-tui: it ended twice without a complete answer in between, so it is not started again.\n"
_LATER = "To resume later: laguna-tui --resume {session}\n"


def _ask_to_resume(status: AppStatus, watched: Set[int]) -> int | None:
    """Ask whether to resume the session; returns None if so, else the exit code, 0 for that of the app."""
    from laguna_tui.base.terminal import single_keys
    from laguna_tui.base.text import sanitize_line
    from laguna_tui.base.units import clipped

    title = sanitize_line(status.title).strip()
    # One row, where the terminal has room for it.
    room = max(_LEAST_TITLE, shutil.get_terminal_size().columns - len(_QUESTION))
    question = _QUESTION.format(title=f"“{clipped(title, room)}”" if title else "the session")
    code: int | None = 0
    with single_keys() as keys:
        while keys.ours:
            sys.stderr.write(_KEPT + question)
            code = _wait_for_answer(keys, watched)
            if code != signal.SIGTSTP:
                break
            code = 0
            with keys.away():
                _stop()
    if code is not None:
        sys.stderr.write(_LATER.format(session=status.session))
    return code


def _wait_for_answer(keys: "SingleKeys", watched: Set[int]) -> int | None:
    """Return None to resume, 0 to quit, SIGTSTP to stop and then ask again; else the exit code after a signal."""
    deaf_until = time.monotonic() + _DEAF_S
    while True:
        number = _received(watched)
        if number == signal.SIGINT:
            return 0
        if number:
            return number if number == signal.SIGTSTP else 128 + number
        key = keys.read(_POLL_S)
        if key is None:
            # The terminal is gone.
            return 128 + signal.SIGHUP
        if time.monotonic() < deaf_until:
            continue
        if key in _RESUMING:
            return None
        if key in _LEAVING:
            return 0


def _received(watched: Set[int]) -> int:
    """Return a pending signal that has to be handled; 0 for none."""
    for number in map(int, signal.sigpending() & watched):
        signal.sigwait({number})
        if number not in (signal.SIGCHLD, signal.SIGCONT) and signal.getsignal(number) is not signal.SIG_IGN:
            return number
    return 0


def _report_end(ended: _Ended, *, advise: bool) -> int:
    """Write why it ended, unless it was asked to; returns the exit code.

    Args:
        ended: how it ended.
        advise: also advise to start it again, which is not needed before the question.
    """
    if ended.exited or ended.code - 128 in _ENDING:
        return ended.code
    number = os.WTERMSIG(ended.status)
    if ended.overdue:
        what = f"it did not end within {PATIENCE_S:.0f} s of {signal_name(ended.asked)}, so it was killed"
        advice = AGAIN
    else:
        what, advice = reason(number, out_of_memory=ended.out_of_memory)
    if advise or advice != AGAIN:
        what = f"{what}; {advice}"
    sys.stderr.write(f"laguna-tui: ended by {signal_name(number)}: {what}\n")
    return ended.code


AGAIN = "start it again"
_DOCTOR = "to see whether the installed build works here: laguna-tui doctor"
_VERIFY = "check it: laguna-tui models verify"
_REASONS: dict[int, tuple[str, str]] = {
    signal.SIGKILL: ("it was killed from outside", AGAIN),
    signal.SIGSEGV: ("llama.cpp crashed", _DOCTOR),
    signal.SIGILL: ("llama.cpp was built for another processor", "to see which build suits it: laguna-tui doctor"),
    signal.SIGBUS: ("a file that was open could not be read on, often the model's", _VERIFY),
    signal.SIGFPE: ("llama.cpp divided by zero, often because of a damaged model", _VERIFY),
    signal.SIGABRT: ("llama.cpp gave up", _DOCTOR),
}
_SENT = ("it was sent this signal from outside", AGAIN)
_OUT_OF_MEMORY = ("the system ran out of memory", "start it with a smaller --context")

_ROOT = Path("/")
_SHORT_PERCENT = 10.0
"""Percent of the last ten seconds in which something waited for memory; 0 on a machine that has enough."""


def reason(number: int, *, out_of_memory: bool) -> tuple[str, str]:
    """Return why a signal ended the process, and what the user can do, as clauses."""
    return _OUT_OF_MEMORY if out_of_memory else _REASONS.get(number, _SENT)


def signal_name(number: int) -> str:
    """Return the name of a signal; "signal 42" for one without a name."""
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"


def memory_is_short(root: Path = _ROOT) -> bool:
    """Return whether something had to wait for memory just now; False where the kernel does not measure it.

    Args:
        root: of the file system, for tests.
    """
    for line in lines(root / "proc/pressure/memory"):
        if line.startswith("some avg10="):
            return float(line.split()[1].partition("=")[2]) > _SHORT_PERCENT
    return False


def oom_kills(root: Path = _ROOT) -> int:
    """Return how many processes the kernel has killed for lack of memory, in our control group or on this machine.

    Args:
        root: of the file system, for tests.
    """
    files = [group / name for group in groups("memory", root) for name in ("memory.events", "memory.oom_control")]
    for file in (*files, root / "proc/vmstat"):
        for line in lines(file):
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0
