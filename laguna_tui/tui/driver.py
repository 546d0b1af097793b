"""Textual's driver with input that cannot end the app, and job control that gives the terminal back to the shell.

Textual's input thread decodes strictly and lets its parser raise: a paste that is not UTF-8, a key beyond Unicode
(`CSI 1114112 u`) or a mouse report after a size of zero ended it, and the app with it.

Textual suspends and resumes inside signal handlers, which may deadlock on the writer's queue, and treats any SIGCONT as
the end of a suspension. Here the event loop does both, once per stop.
"""

import asyncio
import contextlib
import os
import selectors
import signal
import threading
from codecs import getincrementaldecoder
from collections.abc import Iterable
from typing import Any, TextIO

from textual import constants
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from laguna_tui.base.terminal import never_stopped, terminal, wait_for_foreground
from laguna_tui.tui.terminal_parser import TerminalParser
from laguna_tui.tui.typed_text import join_keys

# Seconds between checks whether the app ends, as in Textual's own loop.
_POLL_S = 0.1
_READ_BYTES = 4096
_QUERY_KITTY = "\x1b[?u"
# Presses, releases, dragging and the wheel, in the encodings that Textual asks for. Textual's mode 1003 also reports
# every move without a button, which only hovering would need, and floods a slow link.
_MOUSE_MODES = (1000, 1002, 1015, 1006)
_LEFT_ON = "\x1b[?1016l\x1b[?2048l"
"""Textual queries pixel mouse reports and in-band resize and enables them when the answer arrives. It never disables
the former, and the latter not if the answer arrives while the app exits."""


class TerminalClosed(Message):
    """Posted to the app when the terminal is gone."""


class _Screen:
    """Standard error, which takes everything once its terminal is gone.

    Textual's writer thread would end on the error, and the app would wait for ever for room in its queue.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.fileno = stream.fileno

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self._stream.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.flush()


class TerminalDriver(LinuxDriver):
    """A Linux driver that a shell can stop and continue. Bytes that are not UTF-8 are read as U+FFFD."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        before = {number: signal.getsignal(number) for number in (signal.SIGTSTP, signal.SIGCONT)}
        super().__init__(*arguments, **options)
        assert self._file is not None
        self._file = _Screen(self._file)  # type: ignore[assignment]
        for number, handler in before.items():
            signal.signal(number, handler)
        self._can_stop = before[signal.SIGTSTP] is not signal.SIG_IGN
        self._active = False
        self._stopping = False

    def write(self, data: str) -> None:
        """Write `data`, unless the terminal is not ours now: the writer thread is gone then."""
        if self._active:
            super().write(data)

    def _enable_mouse_support(self) -> None:
        self._switch_mouse("h")

    def _disable_mouse_support(self) -> None:
        self._switch_mouse("l")

    def _switch_mouse(self, switch: str) -> None:
        if self._mouse:
            self.write("".join(f"\x1b[?{mode}{switch}" for mode in _MOUSE_MODES))

    def start_application_mode(self) -> None:
        """Take the terminal; the app ends if it is gone, or belongs to another program permanently."""
        # A stop in between would leave the terminal in neither state.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTSTP})
        try:
            if not wait_for_foreground():
                self._active = False
                self.process_message(TerminalClosed())
                return
            terminal.take()
            self._active = True
            super().start_application_mode()  # type: ignore[no-untyped-call]
            if self.input_tty and not constants.DISABLE_KITTY_KEY:
                self.write(_QUERY_KITTY)
            terminal.remember_own()
            self._watch()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def stop_application_mode(self) -> None:
        """Disable everything; `close` waits until it is written."""
        if not self._active:
            return
        if not terminal.is_own:
            # A shell has changed it meanwhile: our parent died, or the shell runs us in the background.
            self.attrs_before = None
        with never_stopped():
            super().stop_application_mode()
            self.write(_LEFT_ON)
        self._active = False

    def close(self) -> None:
        """Wait until everything is written."""
        super().close()
        if not self._active:
            terminal.give_back()

    def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        if self._can_stop:
            loop.add_signal_handler(signal.SIGTSTP, self._stop)
        loop.add_signal_handler(signal.SIGCONT, self._continued)

    def _stop(self) -> None:
        """Give the terminal back, stop, and take it again on SIGCONT."""
        # A stop that is sent to the whole job arrives twice, because the parent forwards its own.
        if self._stopping:
            return
        self._stopping = True
        was_active = self._active
        if was_active:
            self.suspend_application_mode()
        # The default action does nothing if no shell could continue us; SIGSTOP would stop us forever.
        # Sent before the action is changed: if the parent's stop comes in between, SIGCONT discards ours, and nothing
        # stops twice.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTSTP})
        signal.pthread_kill(threading.get_ident(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self._watch()
        if was_active:
            self._resume()

    def _continued(self) -> None:
        """Take the terminal again after a SIGCONT."""
        self._stopping = False
        if self._active and not terminal.is_own:
            # After SIGSTOP, which cannot be caught; the parent has given the terminal back.
            self.disable_input()
            self.close()
            self._resume()
        else:
            self._app.refresh(layout=True)

    def _resume(self) -> None:
        self.resume_application_mode()
        self._app.refresh(layout=True)

    def run_input_thread(self) -> None:
        parser = TerminalParser(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                if selector.select(_POLL_S):
                    data = self._read()
                    if not data:
                        return
                    self._post(join_keys(parser.feed(text)) if (text := decode(data)) else ())
                self._post(parser.tick())

    def _read(self) -> bytes:
        """Read input; empty if the terminal is gone, which is then reported to the app: SIGHUP may be ignored."""
        try:
            data = os.read(self.fileno, _READ_BYTES)
        except OSError:
            data = b""
        if not data and not self.exit_event.is_set():
            self.process_message(TerminalClosed())
        return data

    def _post(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self.process_message(message)

    def _run_input_thread(self) -> None:
        try:
            self.run_input_thread()
        except Exception as error:
            self._app.call_later(self._app._handle_exception, error)
