"""Textual's parser of terminal input, which reports a key only where a user pressed one.

A slow link delivers an escape sequence in pieces. Textual takes an ESC without a successor for the Esc key after 100 ms
and types the rest, and it types replies that it does not know. Here a sequence reaches Textual whole or not at all.
"""

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping

from textual import constants, events
from textual._xterm_parser import XTermParser
from textual.keys import Keys
from textual.message import Message

ESC, PASTE_START, PASTE_END = "\x1b", "\x1b[200~", "\x1b[201~"

REMOTE_ESCAPE_S = 0.5
"""Seconds that a lone ESC waits over SSH and MOSH; elsewhere 0.1 or the value of `ESCDELAY`, as in Textual."""
_APART_S = 0.05
"""Seconds after an ESC; a character that comes later is a key of its own, while Alt sends both at once."""
_UNFINISHED_S = 1.0
"""Seconds without another byte after which a sequence is given up."""
_PASTE_S = 2.0
"""Seconds without another byte after which a paste ends by itself."""
_AFTER_PASTE_S = 0.02
"""Seconds after the end of a paste in which keys count as part of it: one read may end where the paste does."""
_LONGEST = 4096
"""Characters of an unfinished sequence that are stored; the clipboard, which a terminal may report, has more."""
_TEXTUAL_LONGEST = 32
"""Characters of a sequence that Textual reads; a longer one is typed."""

# A reply as a string: OSC (with a number, or the window's title), DCS and APC (kitty's graphics).
_STRING = r"(?:\](?=[\dlL])|P(?=[\d>!@])|_(?=G))[^\x00-\x1f\x7f]*"
_WHOLE = re.compile(
    r"\x1b(?:"
    rf"{_STRING}(?:\x07|\x1b\\)"
    r"|\[\[."  # function keys of the Linux console
    r"|\[M[^\x00-\x1f]{3}"  # the mouse in the encoding of X10
    r"|\[\d+\$"  # keys of rxvt
    r"|\[(?![M\[])[-0-?]*[ -/]*[@-~]"
    r"|O[\d;]*[@-~]"
    r")"
)
_BEGUN = re.compile(rf"\x1b(?:{_STRING}\x1b?|\[(?:\[|M[^\x00-\x1f]{{0,2}}|[-0-?]*[ -/]*)|O[\d;]*|[\]P_])?")
# What terminals report besides keys. Other CSI sequences may be text that begins with a bracket, typed after Esc.
_REPORT = re.compile(r"\x1b(?:\[(?:[IO]|M.{3}|[<=>?]?[-\d;:]+[$&\"']?[A-Za-z~])|[\]P_].*)", re.DOTALL)
_KITTY_FLAGS = re.compile(r"\x1b\[\?(\d+)u")
_KITTY_DISAMBIGUATE = 1
# Ctrl+C, also as the kitty protocol reports it, with and without Caps Lock and Num Lock.
_INTERRUPT = re.compile(r"\x03|\x1b\[99(?::\d*)*;(?:5|69|133|197)u")


def escape_delay(environment: Mapping[str, str] = os.environ) -> float:
    """Return for how many seconds a lone ESC may still be the beginning of a sequence."""
    remote = any(name in ("SSH_CONNECTION", "SSH_TTY") or name.startswith("MOSH_") for name in environment)
    return REMOTE_ESCAPE_S if remote and "ESCDELAY" not in environment else constants.ESCAPE_DELAY


class TerminalParser(XTermParser):
    """Passes whole sequences to Textual, and drops those that it does not know and those that never end.

    Where the terminal confirms the kitty keyboard protocol (reply to `CSI ? u`), a lone ESC is never a key.
    """

    def __init__(
        self, debug: bool = False, *, delay: float | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(debug)
        self._delay = escape_delay() if delay is None else delay
        self._clock = clock
        self._kitty = False
        # The beginning of a sequence or of a paste's end, and when the last byte was read.
        self._buffer, self._read_at = "", 0.0
        # Whether ESC was followed by a pause, and whether it was reported as the Esc key then.
        self._apart = self._reported = False
        self._paste: list[str] | None = None
        self._paste_until = -1.0

    def feed(self, data: str) -> Iterable[Message]:
        """Yield what was read, with keys as text of the paste where they follow its end at once.

        A pasted text that contains the end of a paste would press keys otherwise.
        """
        now = self._clock()
        alone = self._buffer == ESC
        self._apart = self._apart or (alone and now - self._read_at > _APART_S)
        self._read_at = now
        self._buffer += data
        late: list[str] = []
        for message in self._messages(alone):
            if isinstance(message, events.Key) and now <= self._paste_until and message.key != "ctrl+c":
                late.append(message.character or "")
            else:
                yield message
        if text := "".join(each for each in late if each.isprintable() or each in "\r\n\t"):
            yield events.Paste(text)

    def tick(self) -> Iterable[Message]:
        waited = self._clock() - self._read_at
        if self._paste is not None:
            if waited >= _PASTE_S:
                yield self._end_paste(self._take())
        elif self._buffer == ESC and not self._reported and not self._kitty:
            if waited > self._delay:
                self._reported = True
                yield _escape()
        elif self._buffer and waited >= _UNFINISHED_S:
            if self._buffer == ESC:
                # With the protocol there would be none.
                self._kitty = False
            by_hand = self._apart and len(self._buffer) == 2
            yield from self._typed(self._buffer) if by_hand else ()
            self._take()

    def _take(self, length: int | None = None) -> str:
        """Remove this many characters from the buffer, all by default, and return them."""
        taken, self._buffer = self._buffer[:length], self._buffer[len(self._buffer) if length is None else length :]
        self._apart = self._reported = False
        return taken

    def _messages(self, alone: bool) -> Iterator[Message]:
        """Yield what the buffer means, and leave the beginning of a sequence in it.

        Args:
            alone: whether only ESC had come before this read.
        """
        while self._buffer:
            if self._paste is not None:
                yield from self._pasted()
                if self._paste is not None:
                    return
            elif text := self._buffer.partition(ESC)[0]:
                self._take(len(text))
                yield from super().feed(text)
            elif whole := _WHOLE.match(self._buffer):
                yield from self._meaning(whole[0], alone)
            elif _BEGUN.fullmatch(self._buffer):
                if len(self._buffer) > _LONGEST:
                    # Its beginning says what it is, and its last character may begin its end.
                    self._buffer = self._buffer[:_TEXTUAL_LONGEST] + self._buffer[-1]
                return
            else:
                yield from self._broken()
            alone = False

    def _meaning(self, sequence: str, alone: bool) -> Iterator[Message]:
        if sequence == PASTE_START:
            self._paste = []
        elif flags := _KITTY_FLAGS.fullmatch(sequence):
            self._kitty = bool(int(flags[1]) & _KITTY_DISAMBIGUATE) and not constants.DISABLE_KITTY_KEY
        else:
            known = self._known(sequence)
            if self._apart and not _REPORT.fullmatch(sequence) and not (alone and known):
                yield from self._typed(sequence)
            else:
                yield from known
        self._take(len(sequence))

    def _broken(self) -> Iterator[Message]:
        """Yield what the beginning of the buffer means, which is not a sequence."""
        begun = _BEGUN.match(self._buffer)
        prefix = begun[0] if begun else ESC
        following = self._buffer[len(prefix)]
        if len(prefix) > 1 and prefix.endswith(ESC) and following != ESC:
            # Not the end of the string, but the beginning of another sequence.
            prefix, following = prefix[:-1], ESC
        by_hand = self._apart and (len(prefix) <= 2 or following.isprintable())
        if by_hand or prefix == following == ESC:
            yield from self._typed(prefix)
        elif prefix == ESC or (prefix[1:] in ("O", "]", "P", "_") and following.isprintable()):
            prefix = self._buffer[:2]
            yield from self._known(prefix) or self._keys(prefix[1], alt=True)
        self._take(len(prefix))

    def _typed(self, sequence: str) -> Iterator[Message]:
        """Yield Esc, unless it was reported, and what was typed after it."""
        if not self._reported and not self._kitty:
            yield _escape()
        if text := sequence[1:]:
            yield from super().feed(text)

    def _known(self, sequence: str) -> list[Message]:
        """Return what a whole sequence means to Textual: nothing if it does not know it."""
        if len(sequence) > _TEXTUAL_LONGEST:
            return self._keys(sequence)
        messages = list(super().feed(sequence))
        if self._awaiting.timeout is None:
            return messages
        # It waits for more of the sequence.
        self._gen = self.parse(self._tokens.append)
        self._awaiting = next(self._gen)
        return []

    def _keys(self, sequence: str, *, alt: bool = False) -> list[Message]:
        return [key for key in self._sequence_to_key_events(sequence, alt) if key.key != Keys.Ignore]

    def _pasted(self) -> Iterator[Message]:
        """Collect a paste. Ctrl+C in it is a key, so that a paste whose end was lost can be interrupted."""
        assert self._paste is not None
        text, end, rest = self._take().partition(PASTE_END)
        if not end:
            length = next((n for n in range(len(PASTE_END), 0, -1) if text.endswith(PASTE_END[:n])), 0)
            text, rest = text[: len(text) - length], text[len(text) - length :]
        self._buffer = rest
        text, interrupts = _INTERRUPT.subn("", text)
        if interrupts:
            yield events.Key("ctrl+c", "\x03")
        if end:
            yield self._end_paste(text)
        else:
            self._paste.append(text)

    def _end_paste(self, text: str) -> events.Paste:
        pasted = "".join((*(self._paste or ()), text))
        self._paste = None
        self._paste_until = self._read_at + _AFTER_PASTE_S
        return events.Paste(pasted.replace("\0", ""))

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[events.Key]:
        if sequence == "\x1b\r":
            # Alt+Enter where there is no kitty protocol. Textual drops the ESC, and Enter would send half a message.
            return [events.Key(Keys.ControlJ.value, None)]
        try:
            keys = list(super()._sequence_to_key_events(sequence, alt))
            # A lone surrogate is a character to Python, but cannot be written to a terminal.
            "".join(key.character or "" for key in keys).encode()
        except (ValueError, OverflowError):
            return [events.Key(Keys.Ignore, sequence)]
        return keys

    def parse_mouse_code(self, code: str) -> Message | None:
        try:
            return super().parse_mouse_code(code)
        except ZeroDivisionError:  # a size of no pixels
            return None


def _escape() -> events.Key:
    return events.Key(Keys.Escape.value, ESC)
