"""Background commands: each has a thread that reads what it writes while the model does something else."""

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from laguna_tui.sandbox.running_command import POLL_S, CommandNotRun, CommandResult, Execution

_PAUSE_S = 0.3
"""Reading waits until a background command that writes has written nothing for so long."""

_RECENT_CHARS = 32_768
"""Of what a command has written, so much is kept for the user to look at: some screens."""

_JOIN_S = 3.0
"""Time to wait for the end of a background command that is stopped."""


@dataclass(frozen=True, slots=True)
class BackgroundCommand:
    """A background command as it is listed.

    Attributes:
        number: by which it is read and stopped.
        exit_code: None while it runs.
        seconds: how long it ran, or has run.
        unread: whether it wrote something, or ended, since it was last read.
    """

    number: int
    command: str
    exit_code: int | None
    seconds: float
    unread: bool


class BackgroundJob:
    """A background command, and the thread that reads what it writes.

    Attributes:
        stopping: set to have it stopped.
        over: whether it has ended.
        recent: the last of what it has written, raw.
    """

    def __init__(self, command: str, execution: Execution, stopping: threading.Event) -> None:
        self._command = command
        self._execution = execution
        self.stopping = stopping
        self.over = False
        self.recent = ""
        self._changed = threading.Condition()
        self._unread = False
        self._thread = threading.Thread(target=self._run, name="background command", daemon=True)
        self._thread.start()

    def listed(self, number: int) -> BackgroundCommand:
        """What the list of background commands says about it."""
        execution = self._execution
        return BackgroundCommand(number, self._command, execution.exit_code, execution.seconds, self._unread)

    def read(self, wait_s: float, cancelled: Callable[[], bool]) -> CommandResult:
        """What it has written since the last time, after waiting for more."""
        deadline = time.monotonic() + wait_s
        with self._changed:
            while not self.over and time.monotonic() < deadline and not cancelled():
                written = self._unread
                if not self._changed.wait(_PAUSE_S if written else POLL_S) and written:
                    break
            self._unread = False
            return self._execution.result()

    def stop(self) -> bool:
        """Stop it and wait for its end. Returns whether it ran."""
        ran = not self.over
        self.stopping.set()
        self._thread.join(_JOIN_S)
        return ran

    def discard(self) -> None:
        """Remove its file."""
        self._execution.discard()

    def _run(self) -> None:
        try:
            # Where there is no shell, that is its exit code.
            with contextlib.suppress(CommandNotRun):
                while not self._execution.over:
                    if text := self._execution.step():
                        self.recent = (self.recent + text)[-_RECENT_CHARS:]
                        self._tell()
        finally:
            self._execution.close()
            self.over = True
            self._tell()

    def _tell(self) -> None:
        with self._changed:
            self._unread = True
            self._changed.notify_all()
