"""Background commands: each has a thread that reads what it writes while the model does something else."""

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from laguna_tui.sandbox.running_command import POLL_S, CommandNotRun, CommandResult, RunningCommand

_PAUSE_S = 0.3
"""A read ends when a background command has paused its output for this time."""

_RECENT_CHARS = 32_768
"""How much of a command's latest output is kept for the user to view: some screens."""

_JOIN_S = 3.0
"""Time to wait for the end of a background command that is stopped."""


@dataclass(frozen=True, slots=True)
class BackgroundCommand:
    """A background command as it is listed.

    Attributes:
        number: By which it is read and stopped.
        exit_code: None while it runs.
        seconds: How long it ran, or has run.
        unread: Whether it wrote something, or ended, since it was last read.
    """

    number: int
    command: str
    exit_code: int | None
    seconds: float
    unread: bool


class BackgroundJob:
    """A background command, and the thread that reads what it writes.

    Attributes:
        stopping: Set to have it stopped.
        over: Whether it has ended.
        recent: The last of what it has written, raw.
    """

    def __init__(self, command: str, running: RunningCommand, stopping: threading.Event) -> None:
        self._command = command
        self._running = running
        self.stopping = stopping
        self.over = False
        self.recent = ""
        self._changed = threading.Condition()
        self._unread = False
        self._thread = threading.Thread(target=self._run, name="background command", daemon=True)
        self._thread.start()

    def listed(self, number: int) -> BackgroundCommand:
        """Return its entry in the list of background commands."""
        return BackgroundCommand(number, self._command, self._running.exit_code, self._running.seconds, self._unread)

    def read(self, wait_s: float, cancelled: Callable[[], bool]) -> CommandResult:
        """Wait for more output; return what it has written since the last time."""
        deadline = time.monotonic() + wait_s
        with self._changed:
            while not self.over and time.monotonic() < deadline and not cancelled():
                written = self._unread
                if not self._changed.wait(_PAUSE_S if written else POLL_S) and written:
                    break
            self._unread = False
            return self._running.result()

    def stop(self) -> bool:
        """Stop it and wait for its end. Returns whether it ran."""
        ran = not self.over
        self.stopping.set()
        self._thread.join(_JOIN_S)
        return ran

    def discard(self) -> None:
        self._running.discard()

    def _run(self) -> None:
        try:
            # Where there is no shell, that is its exit code.
            with contextlib.suppress(CommandNotRun):
                while not self._running.over:
                    if text := self._running.step():
                        self.recent = (self.recent + text)[-_RECENT_CHARS:]
                        self._notify()
        finally:
            self._running.close()
            self.over = True
            self._notify()

    def _notify(self) -> None:
        with self._changed:
            self._unread = True
            self._changed.notify_all()
