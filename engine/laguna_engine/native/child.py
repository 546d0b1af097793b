"""Child processes: external programs and our own Python workers, isolated from the user's folder.

The user's folder may contain anything, even a `struct.py`. So every child starts in a folder of ours, and every Python
child with `-I`: neither its working directory nor a `PYTHON…` variable affects where modules are imported from. What a
child still needs and `-I` removes is added to its path here, after the standard library: the folders of our own
packages and the user's site (where `pip install --user` puts our dependencies).

A worker exchanges frames (an eight-byte length, then the payload) over its standard input and output. It ends when its
input ends, so it never outlives its parent. A child that may crash confines itself first.
"""

import contextlib
import ctypes
import json
import os
import queue
import shutil
import signal
import site
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

LIMIT_S = 10.0
"""Default time limit of a query program: nvidia-smi takes 2 s on a cold driver, and never returns on a hung one."""

FOLDER = str(Path(__file__).resolve().parent)
"""Working directory of children: the folder of this package, which contains no file of the user's."""

_KILL_WAIT_S = 1.0
"""Time to wait after SIGKILL. A process stuck in a driver does not die; it is left behind."""

_OUTPUT_BYTES = 1 << 20
"""Most bytes read of a program's output, more than any program used here prints."""

_LENGTH_BYTES = 8
_READ_BYTES = 1 << 20

_START = """\
import json, sys
first, folders = json.loads(sys.argv.pop(1))
module = sys.argv.pop(1)
at = next((i for i, path in enumerate(sys.path) if path.endswith("-packages")), len(sys.path))
sys.path[at:at] = [*first, *folders]
import runpy
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""
"""The folders precede the site packages, so that parent and child run the same version of our own code."""


@dataclass(frozen=True, slots=True)
class Output:
    """How a program ended.

    Attributes:
        code: exit code, negative for a signal; None if it did not start or timed out.
        text: standard output, at most 1 MiB.
        errors: standard error, at most 1 MiB.
        timed_out: whether it was killed at the time limit.
    """

    code: int | None
    text: str = ""
    errors: str = ""
    timed_out: bool = False

    @property
    def good(self) -> bool:
        """Whether it exited with 0."""
        return self.code == 0

    @property
    def signal(self) -> str:
        """Name of the signal that killed it, such as SIGSEGV; empty if none did."""
        if self.code is None or self.code >= 0:
            return ""
        number = -self.code
        return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"


MISSING = Output(None)
"""The result for a program that does not exist or cannot be started."""


def python_command(
    module: str, *arguments: str, python: str | Path | None = None, first: Sequence[str | Path] = ()
) -> tuple[str, ...]:
    """Return the command that runs a module of ours (`python -m module arguments…`) in isolation.

    Args:
        module: name of the module.
        arguments: its command line.
        python: the interpreter, by default this process's; any other one finds our packages too.
        first: folders whose packages take precedence over the environment's (a build to be tried).
    """
    folders = json.dumps([[str(folder) for folder in first], _own_folders()])
    return (str(python or sys.executable), "-I", "-c", _START, folders, module, *arguments)


def outside_python(python: str | Path) -> tuple[str, ...]:
    """Return the command prefix to run another package's module (pip): like `-I`, but with the user's site."""
    return (str(python), "-E", "-P")


def environment(base: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return `base` (default: this process's environment) without `PYTHON…` variables."""
    given = os.environ if base is None else base
    return {name: value for name, value in given.items() if not name.startswith("PYTHON")}


def find_program(name: str, *folders: str, path: str | None = None) -> str | None:
    """Find a program: on `path` (default: PATH), then in `folders`; None if it is not there.

    Relative entries of the PATH are skipped, because they refer to the user's folder.
    """
    parts = (os.environ.get("PATH", "") if path is None else path).split(os.pathsep)
    return shutil.which(name, path=os.pathsep.join([*(part for part in parts if Path(part).is_absolute()), *folders]))


def run(
    command: Sequence[str],
    limit_s: float = LIMIT_S,
    variables: Mapping[str, str] | None = None,
    waiting: Callable[[], None] | None = None,
    pass_fds: Sequence[int] = (),
) -> Output:
    """Run a program without input and wait until it ends.

    Output goes to files: a pipe would stay open, and be waited for, as long as any grandchild lives.

    Args:
        command: program and arguments.
        limit_s: seconds after which it is killed.
        variables: the environment, by default this process's; `PYTHON…` variables are removed.
        waiting: called every 0.2 s until the program ends; an exception from it kills the program.
        pass_fds: descriptors that it inherits.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=environment(variables),
                cwd=FOLDER,
                start_new_session=True,
                pass_fds=pass_fds,
            )
        except OSError:
            return MISSING
        try:
            code = _ended(process, limit_s, waiting)
        except BaseException:
            _kill(process)
            raise
        if code is None:
            _kill(process)
        return Output(code, _read(out), _read(err), timed_out=code is None)


def run_on_terminal(command: Sequence[str], terminal: int, folder: str) -> int:
    """Run a program that has the terminal for itself, such as an editor, until it ends; returns its exit code.

    Args:
        command: program and arguments.
        terminal: descriptor of the terminal, which it reads and writes.
        folder: its working directory; not the user's.

    Raises:
        OSError: it cannot be started.
    """
    done = subprocess.run(
        command, stdin=terminal, stdout=terminal, stderr=terminal, cwd=folder, env=environment(), check=False
    )
    return done.returncode


class Worker:
    """A Python child that answers requests: one frame in, one frame out, in order.

    Attributes:
        process: the child; its standard output can be waited on with `selectors`.
    """

    def __init__(self, module: str, *arguments: str) -> None:
        """Start the child; `module` must call `serve`.

        Raises:
            OSError: no process can be started.
        """
        self.process = subprocess.Popen(
            python_command(module, *arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Errors would appear on the user's screen.
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env=environment(),
            cwd=FOLDER,
            # Ctrl-C must reach the parent only, which then ends its workers.
            start_new_session=True,
        )

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when an answer arrives or the worker dies."""
        return _descriptor(self.process.stdout)

    def send(self, request: bytes) -> None:
        """Send a request of at least one byte. The death of a worker is noticed by `receive`."""
        with contextlib.suppress(BrokenPipeError):
            _write_frame(_descriptor(self.process.stdin), request)

    def receive(self) -> bytes | None:
        """Wait for the next answer; None if the worker has died."""
        return _read_frame(self.fileno())

    def close(self) -> None:
        """Kill the worker."""
        _kill(self.process)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


def serve(answer: Callable[[bytes], bytes]) -> None:
    """Answer requests, in a worker, until the input ends, then exit at once, even in the middle of a request.

    Standard output is redirected to standard error, so that nothing else can write between the frames.
    """
    out = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for request in _requests():
        _write_frame(out, answer(request))


def _requests() -> Iterator[bytes]:
    """Yield frames from standard input, read by a thread that exits the process at the end of input."""
    waiting: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        while (request := _read_frame(sys.stdin.fileno())) is not None:
            waiting.put(request)
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    while True:
        yield waiting.get()


def _descriptor(pipe: IO[bytes] | None) -> int:
    assert pipe is not None
    return pipe.fileno()


def _write_frame(descriptor: int, payload: bytes) -> None:
    left = memoryview(len(payload).to_bytes(_LENGTH_BYTES, "big") + payload)
    while left:
        left = left[os.write(descriptor, left) :]


def _read_frame(descriptor: int) -> bytes | None:
    """Return the next frame, or None at the end of input."""
    length = int.from_bytes(_read_exactly(descriptor, _LENGTH_BYTES), "big")
    payload = _read_exactly(descriptor, length)
    return payload if length and len(payload) == length else None


def _read_exactly(descriptor: int, count: int) -> bytes:
    """Read `count` bytes; fewer at the end of input. Unbuffered, because remaining bytes must wake a selector."""
    parts = []
    while count and (part := os.read(descriptor, min(count, _READ_BYTES))):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _own_folders() -> list[str]:
    """Return the folders of our packages and their dependencies outside the interpreter's own."""
    packages = [sys.modules[name] for name in ("laguna_engine", "laguna_tui") if name in sys.modules]
    found = [str(Path(file).resolve().parent.parent) for module in packages if (file := module.__file__)]
    if site.ENABLE_USER_SITE and (user_site := site.getusersitepackages()) in sys.path:
        found.append(user_site)
    return list(dict.fromkeys(found))


def _ended(process: subprocess.Popen[bytes], limit_s: float, waiting: Callable[[], None] | None) -> int | None:
    step = limit_s if waiting is None else 0.2
    spent = 0.0
    while spent < limit_s:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(min(step, limit_s - spent))
        spent += step
        if waiting is not None:
            waiting()
    return None


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the process group, which includes everything the child started."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_KILL_WAIT_S)


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(_OUTPUT_BYTES).decode("utf-8", "replace")


_PR_SET_DUMPABLE = 4
"""`<linux/prctl.h>`."""

_DATA_FIELD = 5
"""Field of `/proc/self/statm`: pages of data and stack."""


def confine(memory: int, seconds: int) -> None:
    """Limit this process: no core file, at most `memory` more bytes, SIGALRM after `seconds` even if the parent dies.

    Memory is limited on Linux only and does not include files mapped for reading.
    """
    if sys.platform == "win32":
        return
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        held = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[_DATA_FIELD]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_DATA, (held + memory, held + memory))
        # A core file that the kernel hands to a program (systemd-coredump, apport) is not subject to that limit.
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)


_PR_SET_PDEATHSIG = 1
"""`<sys/prctl.h>`"""


def signal_on_parent_death(number: int) -> bool:
    """Have signal `number` sent to this process when its parent dies. Returns whether the system supports it.

    The parent is the thread that forked this process. If it is already dead, no signal is sent.
    """
    if sys.platform != "linux":
        return False
    return bool(ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(number), 0, 0, 0) == 0)
