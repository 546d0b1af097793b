"""Runs a program as a job of a shell on a pseudo terminal and checks what it leaves behind when it stops or ends."""

import errno
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path

TAG = "LAGUNA_JOB"
"""In the environment of the job and of all that it starts."""
ROOT = Path(__file__).parents[2]
PATIENCE_S = 60
_SEQUENCE = re.compile(rb"\x1b\[([?<>=]?)([0-9;]*)([a-zA-Z]|\$p)")
# A sequence of a mode is shorter; one that is cut off where reading ended is kept for the next time.
_LONGEST = 16
# What a terminal that can do everything answers: synchronised output, and sizes in the input.
_ANSWERS = {b"2026": b"\x1b[?2026;2$y", b"2048": b"\x1b[?2048;2$y"}


class Screen:
    """Which modes a terminal is in after what was sent to it.

    Attributes:
        on: the private modes that are set, without those that are set when a terminal starts.
        keys: how many kitty keyboard settings are on the main screen's stack; below 0, somebody else's were removed.
    """

    def __init__(self) -> None:
        self.on: set[int] = set()
        self.off: set[int] = set()
        self.keys = 0
        self._alternate_keys = 0
        self._backoff = b""

    def feed(self, data: bytes) -> bytes:
        """Take what was sent; what the terminal answers."""
        answers = b""
        data = self._backoff + data
        last = data.rfind(b"\x1b")
        cut = last if 0 <= last > len(data) - _LONGEST and not _SEQUENCE.match(data, last) else len(data)
        data, self._backoff = data[:cut], data[cut:]
        for kind, numbers, end in _SEQUENCE.findall(data):
            if kind == b"?" and end in (b"h", b"l"):
                for number in map(int, numbers.split(b";")):
                    self._switch(number, on=end == b"h")
            elif end == b"u" and kind in (b"<", b">"):
                self._push(1 if kind == b">" else -1)
            elif end == b"$p":
                answers += _ANSWERS.get(numbers, b"")
        return answers

    def _switch(self, number: int, *, on: bool) -> None:
        initial = number in (7, 25)
        (self.off if initial else self.on).discard(number)
        if on != initial:
            (self.off if initial else self.on).add(number)
        if number == 1049:
            self._alternate_keys = 0

    def _push(self, step: int) -> None:
        if 1049 in self.on:
            self._alternate_keys = max(0, self._alternate_keys + step)
        else:
            self.keys += step

    @property
    def left_behind(self) -> list[str]:
        """What a shell would find changed."""
        found = [f"?{number}h" for number in sorted(self.on)] + [f"?{number}l" for number in sorted(self.off)]
        return found + ([f"kitty keys {self.keys:+}"] if self.keys else [])


class Job:
    """The job, the terminal it runs on, and everything it wrote there.

    Attributes:
        pid: of the program that was started, the leader of the job's group.
        written: since the start, or since the last `forget`.
        inside: the job's side of the terminal.
    """

    def __init__(
        self,
        *command: str,
        environment: dict[str, str] | None = None,
        background: bool = False,
        shell: bool = True,
    ) -> None:
        """Start it; without a shell, it is what a terminal window runs."""
        self._terminal, inside = pty.openpty()
        self.inside = inside
        orders, self._orders = os.pipe()
        self._reports, reports = os.pipe()
        termios.tcsetwinsize(inside, (24, 80))
        self.before = termios.tcgetattr(inside)
        variables = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", **(environment or {})}
        variables.pop("NO_COLOR", None)
        variables["LAGUNA_BACKGROUND"] = "1" if background else ""
        around = [sys.executable, "-m", "tests.tui.job_shell", str(orders), str(reports)] if shell else []
        self.shell = subprocess.Popen(
            [sys.executable, "-c", _CONTROLLING, *around, *command],
            cwd=ROOT,
            env=variables,
            stdin=inside,
            stdout=inside,
            stderr=inside,
            pass_fds=(orders, reports),
            start_new_session=True,
        )
        os.close(orders)
        os.close(reports)
        self.screen = Screen()
        self.written = b""
        self._lines = b""
        self._hung_up = False
        self.pid = self.expect("started") if shell else self.shell.pid

    def wait_for(self, text: bytes) -> None:
        self.until(lambda: text in self.written, f"{text!r} in {self.written[-2000:]!r}")

    def expect(self, event: str) -> int:
        """Wait for the shell's next report, which must be this one; its number."""
        self.until(lambda: b"\n" in self._lines, f"{event} after {self.written[-2000:]!r}")
        line, _, self._lines = self._lines.partition(b"\n")
        found, number = json.loads(line)
        assert found == event, f"{found} {number} instead of {event}; {self.written[-1500:]!r}"
        return int(number)

    def until(self, done: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not done():
            assert time.monotonic() < deadline, f"waited for {what}"
            self._read(0.02)

    def _read(self, seconds: float) -> bool:
        """Read once what comes within these seconds; whether anything did."""
        watched = [self._reports] if self._hung_up else [self._terminal, self._reports]
        found = select.select(watched, [], [], seconds)[0]
        for ready in found:
            try:
                data = os.read(ready, 65536)
            except OSError as error:
                assert error.errno == errno.EIO
                continue
            if ready == self._reports:
                self._lines += data
            else:
                self.written += data
                os.write(self._terminal, self.screen.feed(data))
        return bool(found)

    def read_what_is_there(self) -> None:
        """All of it: a terminal gives a few KB at a time. One without the other end is always ready, and empty."""
        before = -1
        while self._read(0.05) and len(self.written) != before:
            before = len(self.written)

    def forget(self) -> None:
        self.written = b""

    def type(self, keys: bytes) -> None:
        """Type once the app reads keys: before that, the terminal itself would take Ctrl-Q, which resumes output."""
        self.until(lambda: not termios.tcgetattr(self._terminal)[3] & termios.ICANON, "an app that reads keys")
        os.write(self._terminal, keys)

    def send(self, data: bytes) -> None:
        """Type to a program that leaves the terminal's settings as they are."""
        os.write(self._terminal, data)

    def hang_up(self) -> None:
        """Close the terminal, as its window does."""
        self._hung_up = True
        os.close(self._terminal)
        os.close(self.inside)

    def go_on(self) -> None:
        """As the shell's `fg`."""
        os.write(self._orders, b"\n")

    @property
    def child(self) -> int:
        """The process that the started one has forked."""
        return int(Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()[0])

    def processes(self) -> list[int]:
        """What is alive of all that was started inside the job."""
        tag = f"{TAG}={self.shell.pid}".encode()
        found = [process for process in _numbers() if tag in _read_file(process, "environ").split(b"\0")]
        return found if self.pid == self.shell.pid else [process for process in found if process != self.shell.pid]

    def wait_until_none_is_left(self) -> None:
        self.until(lambda: not self.processes(), f"the end of {[(p, self._what(p)) for p in self.processes()]}")
        self.read_what_is_there()

    def _what(self, process: int) -> bytes:
        return _read_file(process, "cmdline")[:200]

    @property
    def left_behind(self) -> list[str]:
        """What the job has left of itself on the terminal."""
        same = termios.tcgetattr(self._terminal) == self.before
        return self.screen.left_behind + ([] if same else ["settings"])

    def close(self) -> None:
        for process in self.processes():
            _kill(process)
        _kill(self.shell.pid)
        self.shell.wait()
        terminal = () if self._hung_up else (self._terminal, self.inside)
        for descriptor in (*terminal, self._orders, self._reports):
            os.close(descriptor)

    def __enter__(self) -> "Job":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_CONTROLLING = f"""
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.environ.setdefault("{TAG}", str(os.getpid()))
os.execvp(sys.argv[1], sys.argv[1:])
"""


def _numbers() -> Sequence[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]  # noqa: PTH208


def _read_file(process: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{process}/{name}").read_bytes()
    except OSError:
        return b""


def _kill(process: int) -> None:
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return
