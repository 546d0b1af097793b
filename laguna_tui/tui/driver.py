"""Textual's driver, with the terminal given back before a stop and to whoever has it now.

Textual suspends and resumes from within signal handlers, which may deadlock on the writer's queue, and takes any
SIGCONT for the end of a suspension. Here the loop does both, once for each stop.
"""

import asyncio
import signal
import threading
from typing import Any

from textual.drivers.linux_driver import LinuxDriver

from laguna_tui.terminal import never_stopped, terminal, wait_for_foreground

_LEFT_ON = "\x1b[?1016l\x1b[?2048l"
"""Textual asks whether the terminal can have the mouse in pixels and sizes in the input, and switches them on when the
answer comes. The first is never switched off, the second not if the answer comes while the app is ending."""


class TerminalDriver(LinuxDriver):
    """The screen of a job that a shell can stop and continue."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        before = {number: signal.getsignal(number) for number in (signal.SIGTSTP, signal.SIGCONT)}
        super().__init__(*arguments, **options)
        for number, handler in before.items():
            signal.signal(number, handler)
        self._stops = before[signal.SIGTSTP] is not signal.SIG_IGN
        self._on = False
        self._stopping = False

    def write(self, data: str) -> None:
        """Send it, unless the screen is not ours at the moment: the thread that writes is gone then."""
        if self._on:
            super().write(data)

    def start_application_mode(self) -> None:
        """Take the terminal. Nothing happens where it belongs to another program for good."""
        # A stop in between would leave neither state.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTSTP})
        try:
            if not wait_for_foreground():
                return
            terminal.take()
            self._on = True
            super().start_application_mode()  # type: ignore[no-untyped-call]
            terminal.remember_own()
            self._watch()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def stop_application_mode(self) -> None:
        """Switch everything off; `close` sees to it that it is sent."""
        if not self._on:
            return
        if not terminal.is_own:
            # A shell has set it for itself since: its parent died, or it runs us in the background.
            self.attrs_before = None
        with never_stopped():
            super().stop_application_mode()
            self.write(_LEFT_ON)
        self._on = False

    def close(self) -> None:
        """Wait until everything was sent."""
        super().close()
        if not self._on:
            terminal.give_back()

    def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        if self._stops:
            loop.add_signal_handler(signal.SIGTSTP, self._stop)
        loop.add_signal_handler(signal.SIGCONT, self._continued)

    def _stop(self) -> None:
        """Give the terminal back, stop, and take it again when continued."""
        # The same stop arrives twice when it is sent to the whole job: the parent passes its own on.
        if self._stopping:
            return
        self._stopping = True
        had = self._on
        if had:
            self.suspend_application_mode()
        # The default action does nothing where no shell could continue us; SIGSTOP would stop us for ever.
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        signal.pthread_kill(threading.get_ident(), signal.SIGTSTP)
        self._watch()
        if had:
            self._resume()

    def _continued(self) -> None:
        """Whatever stopped us, the next stop is another one."""
        self._stopping = False
        if self._on and not terminal.is_own:
            # SIGSTOP, which cannot be caught: the parent has given the terminal back meanwhile.
            self.disable_input()
            self.close()
            self._resume()
        else:
            self._app.refresh(layout=True)

    def _resume(self) -> None:
        self.resume_application_mode()
        self._app.refresh(layout=True)
