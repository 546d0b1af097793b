"""Running another program for what it prints, within a limit of time that holds even when the program does not end."""

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeVar

_T = TypeVar("_T")

LIMIT_S = 10.0
"""For a program that only looks: nvidia-smi takes 2 s on a cold driver, and for ever on a hung one."""

_LAST_WAIT_S = 1.0
"""After the kill. A process stuck in a driver does not even die; it is left behind then."""

_LARGEST = 1 << 20
"""Bytes read of what a program printed; none that is asked here has more to say."""


@dataclass(frozen=True, slots=True)
class Output:
    """How a program ended: its exit code, negative for a signal, None when it never started or did not end in time."""

    code: int | None
    text: str = ""
    errors: str = ""
    timed_out: bool = False

    @property
    def good(self) -> bool:
        """It ran and was content."""
        return self.code == 0


MISSING = Output(None)
"""There is no such program."""


def run(
    command: Sequence[str],
    limit_s: float = LIMIT_S,
    environment: Mapping[str, str] | None = None,
    waiting: Callable[[], None] | None = None,
) -> Output:
    """Run `command` in the root folder, without input. `waiting` is called every now and then until it ends.

    Output goes to files: a pipe would stay open, and be waited for, as long as any grandchild lives.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=None if environment is None else dict(environment),
                cwd=os.sep,
                start_new_session=True,
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


def within(limit_s: float, ask: Callable[[], _T]) -> _T | None:
    """What `ask` returns, or None when it takes too long (a network disk that is gone) or cannot say."""
    answers: list[_T] = []

    def work() -> None:
        with contextlib.suppress(OSError):
            answers.append(ask())

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(limit_s)
    return answers[0] if answers else None


def safe_python(python: str | Path) -> tuple[str, ...]:
    """How a Python is started so that it never takes modules from the folder it is started in."""
    return (str(python), "-P")


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
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_LAST_WAIT_S)


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(_LARGEST).decode("utf-8", "replace")
