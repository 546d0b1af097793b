"""Runs one command and ends all that it started: the program behind `child.CommandTree`.

A process group is not enough: what calls `setsid` leaves it. So this program is the reaper of all descendants of the
command (Linux: `PR_SET_CHILD_SUBREAPER`), finds them by their parents, and kills them when it is told to, or when its
standard input closes because the process that started it has died.

It is started as a file, with `-I -S`, and imports nothing but small parts of the standard library, because every
command waits for it: without `contextlib`, `pathlib` and `typing` it takes 12 ms instead of 20. Arguments: LEAVE or
END, the descriptors that the command inherits (`3,4`), those that stay open here alone, the gate, the command. Standard
input carries orders, a byte each; standard output carries reports, a line each; standard error is the output of the
command. Other systems than Linux have no subreaper: there it is the process group alone that is ended.

The gate, if there is one, is the write end of a pipe that a command reads before it begins (`bwrap --block-fd`). Its
closing would start the command just as a byte does. So nothing closes it here before everything that waits for it was
killed: the parent may die at any time.
"""

import ctypes
import os
import select
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

LEAVE, END = "leave", "end"
"""What becomes of processes that a command leaves running when it ends by itself. END: they wait for orders."""

TERMINATE, KILL, BEGIN = b"t", b"k", b"b"
"""Orders: ask all processes to end, end them all, and let the command through its gate."""

STARTED, FAILED, ENDED = "started", "failed", "ended"
"""Reports: its process; `errno`, it cannot be run; its exit code (negative: a signal) and how many it has left."""

_KILL_WAIT_S = 1.0
"""Time to wait after SIGKILL: a process stuck in a driver does not die."""

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
"""`<linux/prctl.h>`."""

_LAUNCHER = "bwrap"
"""Asked to end, it would kill what it runs at once; it ends by itself when that has ended, but a little later."""


class _suppress:  # noqa: N801
    """As `contextlib.suppress`."""

    def __init__(self, *errors: type[Exception]) -> None:
        self._errors = errors

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        return isinstance(error, self._errors)


class _Command:
    """The command and its descendants.

    Attributes:
        pid: Its own process, the leader of its session.
        ended: Whether it has.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.ended = False

    def reap(self) -> bool:
        """Reap what has ended; return whether there is anything left to wait for."""
        try:
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == self.pid:
                    self.ended = True
                    left = sum(name != _LAUNCHER for name in _descendants().values())
                    _report(ENDED, os.waitstatus_to_exitcode(ended[1]), left)
        except ChildProcessError:
            return False
        return True

    def terminate(self) -> None:
        """Ask all processes to end."""
        for process, name in self._running().items():
            if name != _LAUNCHER:
                _send(process, signal.SIGTERM)
                _send(process, signal.SIGCONT)

    def kill(self) -> None:
        """Kill all processes: each is stopped first, so that none can start another one meanwhile."""
        stopped: set[int] = set()
        deadline = time.monotonic() + _KILL_WAIT_S
        while (new := self._running().keys() - stopped) and time.monotonic() < deadline:
            for process in new:
                _send(process, signal.SIGSTOP)
            stopped |= new
        for process in stopped:
            _send(process, signal.SIGKILL)
        deadline = time.monotonic() + _KILL_WAIT_S
        while self.reap() and time.monotonic() < deadline:
            time.sleep(0.005)

    def _running(self) -> dict[int, str]:
        """Return what can be sent a signal: all descendants, or the command's group where they cannot be found."""
        return _descendants() if sys.platform == "linux" else {-self.pid: ""}


def main() -> None:
    """Run the command of the command line, and follow orders until it is over."""
    left, passed_on, held, gate, *argv = sys.argv[1:]
    for descriptor in filter(None, (*held.split(","), gate)):
        os.set_inheritable(int(descriptor), False)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    command = _Command(_start(argv))
    # Not before the fork: the command is to obey them from the first moment.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    # Only the command holds its output and what it inherits.
    os.dup2(os.open(os.devnull, os.O_RDWR), 2)
    for descriptor in filter(None, passed_on.split(",")):
        os.close(int(descriptor))
    _obey(command, woken, int(gate or -1), leave=left == LEAVE)


def _obey(command: _Command, woken: int, gate: int, *, leave: bool) -> None:
    while True:
        ready = select.select([0, woken], [], [])[0]
        if woken in ready:
            os.read(woken, 4096)
            command.reap()
            if leave and command.ended:
                return
        if 0 in ready:
            order = os.read(0, 1)
            if order == BEGIN:
                # The command may have died.
                with _suppress(OSError):
                    os.write(gate, BEGIN)
            elif order == TERMINATE:
                command.terminate()
                leave = False
            else:
                command.kill()
                return


def _start(argv: list[str]) -> int:
    """Start the command in a session of its own, without a terminal or input; return its process."""
    reports, parent = os.dup(1), os.getpid()
    pid = os.fork()
    if pid:
        os.close(reports)
        return pid
    try:
        os.setsid()
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == parent:
            # Before anything of it runs: who reads this can kill its group if this program is killed.
            os.write(reports, f"{STARTED} {os.getpid()}\n".encode())
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(2, 1)
            for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
                with _suppress(OSError, ValueError):
                    signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            os.execvp(argv[0], argv)
    except OSError as error:
        os.write(reports, f"{FAILED} {error.errno}\n".encode())
    finally:
        os._exit(127)


def _descendants() -> dict[int, str]:
    """Return the names of the running processes that descend from this one, by number."""
    children: dict[int, list[_Process]] = {}
    for process in _processes():
        children.setdefault(process.parent, []).append(process)
    found: dict[int, str] = {}
    waiting = [os.getpid()]
    while waiting:
        for process in children.get(waiting.pop(), ()):
            waiting.append(process.number)
            # A dead process may have a living thread, which is the parent of others.
            if process.state not in "ZX":
                found[process.number] = process.name
    return found


class _Process:
    def __init__(self, number: int, name: str, state: str, parent: int) -> None:
        self.number, self.name, self.state, self.parent = number, name, state, parent


def _processes() -> "Iterator[_Process]":
    """Yield all processes; none without `/proc`."""
    if sys.platform != "linux":
        return
    for entry in os.listdir("/proc"):  # noqa: PTH208, faster by half
        if not entry.isdigit():
            continue
        with _suppress(OSError):
            # "number (name) state parent ...", and a name may contain anything.
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
                before, _, rest = file.read().rpartition(")")
            state, parent = rest.split()[:2]
            yield _Process(int(entry), before.partition("(")[2], state, int(parent))


def _send(process: int, number: int) -> None:
    # One that has ended, or that runs as another user, cannot be ended here.
    with _suppress(OSError):
        os.kill(process, number)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), 0, 0, 0)


def _report(*words: object) -> None:
    # Whoever started this may have died.
    with _suppress(OSError):
        os.write(1, f"{' '.join(map(str, words))}\n".encode())


if __name__ == "__main__":
    main()
    # Taking the interpreter apart would take milliseconds that every command waits for.
    os._exit(0)
