"""What the terminal sends, read so that nothing in it ends the app.

Textual's input thread decodes strictly and lets its parser raise: a paste that is not UTF-8, a key beyond Unicode
(`CSI 1114112 u`) or a mouse report after a size of zero ended it, and the app with it.
"""

import os
import selectors
import signal
from codecs import getincrementaldecoder
from collections.abc import Iterable

from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.events import Key
from textual.keys import Keys
from textual.message import Message

# Seconds between looks at whether the app ends, as in Textual's own loop.
_POLL_S = 0.1
_READ_BYTES = 4096


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


class Driver(LinuxDriver):
    """Textual's driver for a terminal, with a reading loop that goes on. Bytes that are not UTF-8 become U+FFFD."""

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
