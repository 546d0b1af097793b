"""The tiny parent of the TUI: whatever ends the child, the terminal is given back as it was.

llama.cpp runs in the app's process, so a segmentation fault or an out-of-memory kill takes the app with it, and
no handler inside can restore the terminal. The parent forks before anything heavy is imported, waits, and cleans up.

Both are one job for the shell: a signal that is sent to the parent goes to the child, which has the terminal; the
parent stops when the child stops; the child ends when the parent does, and restores the terminal itself then.
"""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NoReturn

PATIENCE_S = 20.0
"""After it was asked to end. Closing a large model and its index takes seconds; a hung screen takes for ever."""

_DYING_S = 0.01
"""Between two looks at whether the parent is gone; its files are closed just before."""

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


def run_supervised(app: Callable[[], int]) -> int:
    """Run `app` in a forked child and return its exit code (128 + n after signal n).

    Without a terminal, or where fork does not exist, `app` runs in this process.
    """
    if not hasattr(os, "fork") or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return app()
    from laguna_tui.base.terminal import terminal, wait_for_foreground

    wait_for_foreground()
    terminal.remember()
    # All are waited for, none is handled: a crash of the parent itself still ends it, a SEGV that was sent does not.
    watched = signal.valid_signals() - _NOT_PASSED_ON
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    lifeline, held = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        os.close(held)
        _run_child(app, parent, lifeline, before)
    os.close(lifeline)
    killed_before = _oom_kills()
    supervisor = _Supervisor(child, watched)
    status = supervisor.wait()
    terminal.restore()
    short = _oom_kills() > killed_before or _memory_pressure() > _SHORT_PERCENT
    return _report(status, overdue=supervisor.overdue, out_of_memory=short)


class _Supervisor:
    """Waits for the child, and stops and goes on with it.

    Attributes:
        overdue: the signal that the child did not end on, so that it was killed; else None.
    """

    def __init__(self, child: int, watched: Iterable[int]) -> None:
        self.overdue: int | None = None
        self._child = child
        self._watched = set(watched)
        self._asked: int | None = None

    def wait(self) -> int:
        """The child's wait status, once it has ended."""
        # Not everywhere is a blocked signal kept if its default is to be ignored.
        for quiet in (signal.SIGCHLD, signal.SIGCONT):
            signal.signal(quiet, lambda *_: None)
        while True:
            number = signal.sigwait(self._watched)
            if number == signal.SIGCHLD:
                status = self._changed()
                if status is not None:
                    return status
            elif number == signal.SIGALRM and self._asked is not None:
                self.overdue = self._asked
                self._send(signal.SIGKILL)
            else:
                self._send(number)

    def _send(self, number: int) -> None:
        if number in _ENDING and self._asked is None and signal.getsignal(number) is not signal.SIG_IGN:
            self._asked = number
            signal.setitimer(signal.ITIMER_REAL, PATIENCE_S)
        # It is not waited for yet, so the number is still its own.
        os.kill(self._child, number)

    def _changed(self) -> int | None:
        """What became of the child, if it ended; a child that stopped stops us."""
        while True:
            child, status = os.waitpid(self._child, os.WNOHANG | os.WUNTRACED)
            if child == 0:
                return None
            if not os.WIFSTOPPED(status):
                return status
            self._stop()

    def _stop(self) -> None:
        from laguna_tui.base.terminal import terminal

        # Does nothing if the child has done it; one that was stopped by SIGSTOP could not.
        terminal.restore()
        # The default action: where no shell could continue us, it does nothing. Sent before it is let through, it is
        # one with a stop that waits already.
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

        # Else what is said would vanish with the app's screen.
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

    # Until the app handles them on its loop, there is nothing to put away.
    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, _: _end(number, parent))
    signal_on_parent_death(signal.SIGTERM)
    # Also where the kernel does not tell, or has told a screen that hangs. Begun while signals are blocked, because one
    # that interrupted this thread would not wake the main one.
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


_SHORT_PERCENT = 10.0
"""Of the last ten seconds, how much something waited for memory; a machine that has enough waits for 0."""

_ADVICE: dict[int, str] = {
    signal.SIGKILL: "it was killed from outside; start it again",
    signal.SIGSEGV: "llama.cpp crashed; to see whether the installed build works here: laguna-tui doctor",
    signal.SIGILL: "llama.cpp was built for another processor; to see which build suits this one: laguna-tui doctor",
    signal.SIGBUS: "a file that was open could not be read on, often the model's; check it: laguna-tui models verify",
    signal.SIGFPE: "llama.cpp divided by zero, often because of a damaged model; check it: laguna-tui models verify",
    signal.SIGABRT: "llama.cpp gave up; to see whether the installed build works here: laguna-tui doctor",
}
_OUT_OF_MEMORY = "the system ran out of memory; start it with a smaller --context"


def _report(status: int, *, overdue: int | None, out_of_memory: bool) -> int:
    """Say why it ended, unless it was asked to; the exit code."""
    if os.WIFEXITED(status):
        return os.WEXITSTATUS(status)
    number = os.WTERMSIG(status)
    if overdue is not None:
        why = f"it did not end within {PATIENCE_S:.0f} s of {_name(overdue)}, so it was killed; start it again"
    elif out_of_memory:
        why = _OUT_OF_MEMORY
    else:
        why = _ADVICE.get(number, "it was sent this signal from outside; start it again")
    if number not in _ENDING:
        sys.stderr.write(f"laguna-tui: ended by {_name(number)}: {why}\n")
    return 128 + number


def _name(number: int) -> str:
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"


def _oom_kills() -> int:
    """How many processes the kernel has killed for want of memory: in our control group, else on this machine."""
    for line in _lines("/proc/self/cgroup"):
        number, controllers, path = line.split(":", 2)
        if number == "0":
            file = f"/sys/fs/cgroup{path}/memory.events"
        elif "memory" in controllers.split(","):
            file = f"/sys/fs/cgroup/memory{path}/memory.oom_control"
        else:
            continue
        for name, _, count in (each.partition(" ") for each in _lines(file)):
            if name == "oom_kill":
                return int(count)
    return next((int(line.split()[1]) for line in _lines("/proc/vmstat") if line.startswith("oom_kill ")), 0)


def _memory_pressure() -> float:
    """Percent of the last ten seconds in which something waited for memory; 0 where the kernel does not measure it."""
    for line in _lines("/proc/pressure/memory"):
        if line.startswith("some avg10="):
            return float(line.split()[1].partition("=")[2])
    return 0.0


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []
