"""A running command: its output, its end, and how it is stopped."""

import errno
import os
import selectors
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from laguna_tui.sandbox.bubblewrap import SandboxError
from laguna_tui.sandbox.command_output import CommandOutput
from laguna_tui.sandbox.launch import Findings, Prepared
from laguna_tui.sandbox.native.command_tree import CommandTree
from laguna_tui.sandbox.shell_report import ShellEnd, ShellReport

TERM_WAIT_S, KILL_WAIT_S = 0.7, 1.0
"""Time that processes have to end when they are asked to, and when they are killed: a stop takes less than 2 s."""

DRAIN_S = 0.5
"""Time to wait for output after the command has ended: what it left running may hold the pipe open forever."""

TIMED_OUT, CANCELLED = 124, 130
"""Exit codes of what was stopped, as those of `timeout` and of a shell after Ctrl+C."""

POLL_S = 0.05
"""How soon a cancellation or a time limit is noticed."""

_SHOW_S, _SHOWN_CHARS = 0.05, 8192
"""Output is passed on at most this often, and this much of it at a time: no screen can show more."""

_LOST = 137
"""Exit code of a command that killed the program that reports it: the one of a killed command."""

_READ_BYTES = 1 << 16
_SIGNALLED = 128
"""Exit code of a shell whose command was ended by signal 0."""


class CommandNotRun(Exception):
    """A command was not started; the message says why, as the end of a sentence."""


class NeedsApproval(CommandNotRun):
    """It cannot be kept from everything it should be, so the user has to agree; the message says why, as a clause."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What became of a command.

    Attributes:
        stdout: Output and errors as they came, for reading: the head and the tail of what is too long, and of bytes
            that are not text their number.
        exit_code: As a shell says it; 124 and 130 where it was stopped; None while it runs.
        pipe: Exit codes of the commands in the last pipe that it ran, or of the last command; empty if unknown.
        timed_out: Whether it was stopped at its time limit.
        cancelled: Whether it was stopped by the user, or by the model in the background.
        seconds: How long it ran, or has run.
        full_output: File with the raw output, if `stdout` leaves something out; None also if the disk refused.
        truncated: Whether `stdout` leaves something out.
        size: Bytes of the output, and `dropped` those of them that are not in the file.
        left: How many processes it had left running, which were ended, or left alone if it was the user's own.
        findings: What it did to files that git, assistants, editors or shells execute.
        secrets: How many files and folders with secrets in the workspace it could not read as they are.
        git_read_only: Why git refuses to change the workspace's repository, as a clause; empty if it can.
    """

    stdout: str
    exit_code: int | None
    pipe: tuple[int, ...] = ()
    timed_out: bool = False
    cancelled: bool = False
    seconds: float = 0.0
    full_output: Path | None = None
    truncated: bool = False
    size: int = 0
    dropped: int = 0
    left: int = 0
    findings: Findings = field(default_factory=Findings)
    secrets: int = 0
    git_read_only: str = ""


class RunningCommand:
    """A command that was started, its output, and why it was stopped.

    One thread alone calls `step` until it is `over`, and `close` in any case; any thread may ask for the result.
    """

    def __init__(
        self,
        prepared: Prepared,
        output: CommandOutput,
        timeout_s: float | None = None,
        cancelled: Callable[[], bool] = lambda: False,
        *,
        leave: bool = False,
        is_bash: bool = False,
    ) -> None:
        """Start it.

        Args:
            prepared: The command; it is cleaned up by `close`.
            timeout_s: Seconds after which it is stopped; None for no limit.
            cancelled: Asked many times a second.
            leave: When it ends by itself, leave what it has started running.
            is_bash: It is a command for bash, which then reports how it ended.

        Raises:
            CommandNotRun: It cannot be started.
        """
        self._prepared, self._output = prepared, output
        self._timeout_s, self._cancelled = timeout_s, cancelled
        self._end = ShellEnd()
        self._report: ShellReport | None = None
        try:
            self._tree = self._start(leave=leave, is_bash=is_bash)
        except (OSError, ValueError, SandboxError) as error:
            prepared.cleanup()
            self._read_report()
            raise CommandNotRun(_why(error)) from error
        self._ready = selectors.DefaultSelector()
        self._ready.register(self._tree.output, selectors.EVENT_READ)
        self._ready.register(self._tree.status, selectors.EVENT_READ)
        self._reading, self._watched = True, False
        self._kill_at: float | None = None
        self._drained_at: float | None = None
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self._seconds: float | None = None
        self._stopped: int | None = None
        self._exit_code: int | None = None
        self._findings = Findings()
        self._truncated = False

    @property
    def over(self) -> bool:
        """Whether it has ended, and its output was read."""
        return self._drained_at is not None and (not self._reading or time.monotonic() >= self._drained_at)

    @property
    def seconds(self) -> float:
        """How long it ran, or has run."""
        return time.monotonic() - self._started if self._seconds is None else self._seconds

    @property
    def exit_code(self) -> int | None:
        """As `CommandResult.exit_code`; None before `close`."""
        return self._exit_code

    def step(self) -> str:
        """Wait a moment for what it writes next, raw; stop it when it is time to.

        Raises:
            CommandNotRun: There is no shell.
        """
        data = self._read()
        with self._lock:
            text = self._output.feed(data) if data else ""
        if self._stopped is None:
            if self._timeout_s is not None and self.seconds > self._timeout_s:
                self._stopped = TIMED_OUT
            elif self._cancelled():
                self._stopped = CANCELLED
            if self._stopped is not None:
                self._tree.terminate()
                self._kill_at = time.monotonic() + TERM_WAIT_S
        return text

    def close(self) -> None:
        """End what is left of it; its file stays until it is known whether it is needed."""
        self._ready.close()
        self._tree.close()
        self._read_report()
        findings = self._prepared.cleanup()
        with self._lock:
            self._output.feed(b"")
            self._findings = findings
            self._seconds = self.seconds
            code = _LOST if self._tree.code is None else self._tree.code
            self._exit_code = self._stopped or (code if code >= 0 else _SIGNALLED - code)

    def result(self) -> CommandResult:
        """Return what it has written since the last time, and how it ended if it has."""
        with self._lock:
            output, prepared = self._output, self._prepared
            text, cut = output.take()
            self._truncated |= cut
            ended = self._exit_code is not None
            keep = self._truncated or output.left_out
            return CommandResult(
                text,
                self._exit_code,
                pipe=() if self._stopped else self._end.pipe,
                timed_out=self._stopped == TIMED_OUT,
                cancelled=self._stopped == CANCELLED,
                seconds=self.seconds,
                full_output=output.close(keep=keep) if ended else output.path if keep else None,
                truncated=cut,
                size=output.size,
                dropped=output.dropped,
                left=max(self._tree.left, self._end.others if prepared.mounts else 0),
                findings=self._findings,
                secrets=prepared.secrets,
                git_read_only=prepared.git_read_only,
            )

    def discard(self) -> None:
        """Remove its file."""
        with self._lock:
            self._output.close(keep=False)

    def _start(self, *, leave: bool, is_bash: bool) -> CommandTree:
        if not is_bash:
            return self._prepared.start(leave=leave)
        report = self._report = ShellReport()
        self._prepared.env.update(report.variables)
        return self._prepared.start(inherited=report.inherited, leave=leave)

    def _read(self) -> bytes:
        """Wait a moment for output, or for the end; return the next bytes, often none."""
        now = time.monotonic()
        limits = [limit - now for limit in (self._kill_at, self._drained_at) if limit is not None]
        data = b""
        for key, _ in self._ready.select(max(0.0, min([POLL_S, *limits]))):
            if key.fd == self._tree.status:
                self._read_status()
            elif not (data := os.read(self._tree.output, _READ_BYTES)):
                self._ready.unregister(self._tree.output)
                self._reading = False
        if self._kill_at is not None and time.monotonic() >= self._kill_at:
            self._tree.kill()
            self._kill_at = None
            # Also where the command has stopped the program that is to end it.
            self._drained_by(time.monotonic() + KILL_WAIT_S)
        return data

    def _read_status(self) -> None:
        tree = self._tree
        tree.read_status()
        if tree.problem is not None:
            raise CommandNotRun(f"the shell cannot be started ({os.strerror(tree.problem)})")
        if tree.pid is not None and not self._watched:
            self._watched = True
            self._prepared.watch(tree.pid)
        if tree.gone:
            self._ready.unregister(tree.status)
        if tree.gone or tree.code is not None:
            self._drained_by(time.monotonic() + DRAIN_S)

    def _drained_by(self, moment: float) -> None:
        self._drained_at = moment if self._drained_at is None else min(moment, self._drained_at)

    def _read_report(self) -> None:
        if self._report is not None:
            self._end = self._report.close()
            self._report = None


class LiveText:
    """What a command writes, passed on at most some times a second, and of a flood the last part only."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._text = ""
        self._skipped = 0
        self._shown_at = 0.0

    def add(self, text: str) -> None:
        """Take what comes next, which may be nothing; pass on what has waited."""
        self._text += text
        if (over := len(self._text) - _SHOWN_CHARS) > 0:
            self._skipped += over
            self._text = self._text[over:]
        if time.monotonic() - self._shown_at >= _SHOW_S:
            self.close()

    def close(self) -> None:
        """Pass on what has waited."""
        if self._text:
            skipped = f"\n… {self._skipped:,} characters not shown …\n" if self._skipped else ""
            self._show(skipped + self._text)
            self._text, self._skipped, self._shown_at = "", 0, time.monotonic()


def _why(error: OSError | ValueError | SandboxError) -> str:
    if isinstance(error, SandboxError):
        return f"the sandbox cannot be made ({error})"
    if isinstance(error, ValueError):
        return "it contains a character that no command can contain"
    match error.errno:
        case errno.E2BIG:
            return "it is too long; write it to a file and run that"
        case errno.ENOENT | errno.ENOTDIR:
            return "its folder no longer exists"
        case _:
            return f"no process can be started ({error.strerror})"
