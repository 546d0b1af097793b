"""Textual's driver, with input that cannot end the app, and the terminal given back to the shell when the app stops.

Textual's input thread decodes strictly and lets its parser raise: a paste that is not UTF-8, a key beyond Unicode
(`CSI 1114112 u`) or a mouse report after a size of zero ended it, and the app with it.

Textual suspends and resumes from within signal handlers, which may deadlock on the writer's queue, and takes any
SIGCONT for the end of a suspension. Here the loop does both, once for each stop.
"""

import asyncio
import os
import selectors
import signal
import threading
from codecs import getincrementaldecoder
from collections.abc import Iterable
from typing import Any

from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.events import Key
from textual.keys import Keys
from textual.message import Message

from laguna_tui.base.terminal import never_stopped, terminal, wait_for_foreground

# Seconds between looks at whether the app ends, as in Textual's own loop.
_POLL_S = 0.1
_READ_BYTES = 4096
_LEFT_ON = "\x1b[?1016l\x1b[?2048l"
"""Textual asks whether the terminal can have the mouse in pixels and sizes in the input, and switches them on when the
answer comes. The first is never switched off, the second not if the answer comes while the app is ending."""


class _Parser(XTermParser):
    """Ignores sequences that stand for nothing."""

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[Key]:
        try:
            keys = list(super()._sequence_to_key_events(sequence, alt))
            # A lone surrogate is a character to Python, but cannot be written to a terminal.
            "".join(key.character or "" for key in keys).encode()
        except (ValueError, OverflowError):
            # No keys at all would mean that the sequence goes on with what is typed next.
            return [Key(Keys.Ignore, sequence)]
        return keys

    def parse_mouse_code(self, code: str) -> Message | None:
        try:
            return super().parse_mouse_code(code)
        except ZeroDivisionError:
            return None


class TerminalDriver(LinuxDriver):
    """The screen of a job that a shell can stop and continue. Bytes that are not UTF-8 are read as U+FFFD."""

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

    def run_input_thread(self) -> None:
        parser = _Parser(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                if selector.select(_POLL_S):
                    data = self._read()
                    if not data:
                        return
                    self._post(parser.feed(text) if (text := decode(data)) else ())
                self._post(parser.tick())

    def _read(self) -> bytes:
        """What was typed; nothing when the terminal is gone, which the app is told as a hangup."""
        try:
            data = os.read(self.fileno, _READ_BYTES)
        except OSError:
            data = b""
        if not data and not self.exit_event.is_set():
            os.kill(os.getpid(), signal.SIGHUP)
        return data

    def _post(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self.process_message(message)

    def _run_input_thread(self) -> None:
        try:
            self.run_input_thread()
        except Exception as error:
            self._app.call_later(self._app._handle_exception, error)
