"""The user's terminal as it was found, and how it is restored by whichever process is left to do it.

The mark says whether the app has the screen. The app's process and its parent share it; it is set before the first
sequence is sent and cleared after the last one, so that one process knows if the other is killed at any moment.
"""

import contextlib
import mmap
import os
import select
import signal
import termios
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

# Everything a full-screen program may have switched on, switched off.
# Synchronised output, mouse (1000, 1002, 1003, 1006, 1015, 1016), focus, bracketed paste, in-band resize, line wrap
# (switched on again), kitty keys, colours, the alternate screen, the cursor. Not sent without need: who leaves the
# alternate screen twice puts the cursor back over what was written since, and the kitty keys that are switched off the
# second time are those of the program that started us.
RESTORE = (
    "\x1b[?2026l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1004l\x1b[?2004l"
    "\x1b[?1016l\x1b[?2048l\x1b[?7h\x1b[<u\x1b[0m\x1b[?1049l\x1b[?25h"
)
# Standard input, and standard error: textual draws there.
_KEYS, _SCREEN = 0, 2
# Where `tcgetattr` has ICANON, and the special characters.
_LOCAL_FLAGS, _CHARACTERS = 3, 6


class Terminal:
    """The terminal of this process and of its parent or child."""

    def __init__(self) -> None:
        self._mark = mmap.mmap(-1, 1)
        self._found: list[Any] | None = None
        self._own: list[Any] | None = None

    @property
    def taken(self) -> bool:
        """Whether the app has the screen."""
        return self._mark[0] != 0

    def take(self) -> None:
        """Note that the app is about to switch something on."""
        self._mark[0] = 1

    def give_back(self) -> None:
        """Note that the app has switched everything off again, and sent the last byte of that."""
        self._mark[0] = 0

    def remember(self) -> None:
        """Remember the present settings, which `restore` sets again."""
        self._found = _settings()

    def remember_again(self) -> None:
        """Remember the settings after a stop, in which the user may have changed them. The app may be back already."""
        now = _settings()
        # Without ICANON they are the settings of the app or of a shell's line editor.
        if now is not None and now[_LOCAL_FLAGS] & termios.ICANON:
            self._found = now

    def remember_own(self) -> None:
        """Remember the present settings as the app's own."""
        self._own = _settings()

    @property
    def is_own(self) -> bool:
        """Whether the terminal is still set as the app set it, so that the app may restore it."""
        return self._own is not None and self._own == _settings()

    def restore(self) -> None:
        """Restore the terminal if the app did not. What was typed for the app does not reach the shell."""
        changed = self._found is not None and self._found != _settings()
        # In the background it is another program's by now.
        ours = _in_foreground() or self.is_own
        if not self.taken and not (changed and ours):
            return
        with contextlib.suppress(OSError, termios.error), never_stopped():
            os.write(_SCREEN, RESTORE.encode())
            if self._found is not None and ours:
                termios.tcsetattr(_KEYS, termios.TCSAFLUSH, self._found)
        self.give_back()


terminal = Terminal()


def run_in_foreground(command: Sequence[str], folder: Path) -> int:
    """Run a program in the foreground until it ends; the app must have left the screen. Returns its exit code.

    The program is a job of its own, so that Ctrl+C reaches it alone. It cannot be stopped with Ctrl+Z: there is no
    shell to continue it.

    Raises:
        OSError: it cannot be started.
    """
    ours, defaults = os.getpgrp(), signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
    # A child can be put into another folder by a program of its own only.
    words = ("/bin/sh", "-c", 'cd -- "$0" && exec "$@"', str(folder), *command)
    with never_stopped():
        child = os.posix_spawn("/bin/sh", words, os.environ, setpgroup=0, setsigmask=(), setsigdef=defaults)
        try:
            while True:
                with contextlib.suppress(OSError):
                    os.tcsetpgrp(_KEYS, child)
                _, status = os.waitpid(child, os.WUNTRACED)
                if not os.WIFSTOPPED(status):
                    return os.waitstatus_to_exitcode(status)
                # Stopped by Ctrl+Z, or because it asked for the terminal before it had it.
                with contextlib.suppress(OSError):
                    os.tcsetpgrp(_KEYS, child)
                os.killpg(child, signal.SIGCONT)
        finally:
            with contextlib.suppress(OSError):
                os.tcsetpgrp(_KEYS, ours)


class SingleKeys:
    """Reads keys one by one, without the app; what was typed before is dropped. See `single_keys`."""

    def __init__(self) -> None:
        self._found: list[Any] | None = None

    @property
    def ours(self) -> bool:
        """Whether this job has the terminal."""
        return _in_foreground()

    def begin(self) -> None:
        """Read every key at once and show none of them; keys that send signals still do."""
        self._found = found = _settings()
        if found is not None and self.ours:
            wanted = [*found[:_CHARACTERS], list(found[_CHARACTERS])]
            wanted[_LOCAL_FLAGS] &= ~(termios.ICANON | termios.ECHO)
            wanted[_CHARACTERS][termios.VMIN], wanted[_CHARACTERS][termios.VTIME] = 1, 0
            self._set(wanted)

    def end(self) -> None:
        """Set the terminal as it was, and drop what was typed and not read."""
        if self._found is not None and self.ours:
            self._set(self._found)

    def _set(self, wanted: list[Any]) -> None:
        with contextlib.suppress(termios.error), never_stopped():
            termios.tcsetattr(_KEYS, termios.TCSAFLUSH, wanted)

    @contextlib.contextmanager
    def away(self) -> Iterator[None]:
        """Restore the terminal meanwhile, so that the user may change its settings."""
        self.end()
        yield
        self.begin()

    def read(self, seconds: float) -> bytes | None:
        """Return what is typed within these seconds, a key or a terminal's report; None if the terminal is gone."""
        try:
            if not select.select([_KEYS], [], [], seconds)[0]:
                return b""
            return os.read(_KEYS, 64) or None
        except OSError:
            return None


@contextlib.contextmanager
def single_keys() -> Iterator[SingleKeys]:
    """Read single keys from a terminal that the app does not use."""
    keys = SingleKeys()
    keys.begin()
    try:
        yield keys
    finally:
        keys.end()


def wait_for_foreground() -> bool:
    """Wait until this job has the terminal: in the background the kernel stops it here, until `fg`.

    Returns:
        Whether there is a shell that can continue it.
    """
    try:
        # Waits for what was sent, which takes no time, and is refused in the background like a change of settings.
        termios.tcdrain(_KEYS)
    except termios.error:
        return False
    return True


@contextlib.contextmanager
def never_stopped() -> Iterator[None]:
    """Let this thread write to the terminal and set it even in the background."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _settings() -> list[Any] | None:
    """`tcgetattr`; None when the terminal is gone."""
    try:
        return termios.tcgetattr(_KEYS)
    except termios.error:
        return None


def _in_foreground() -> bool:
    try:
        return os.tcgetpgrp(_KEYS) == os.getpgrp()
    except OSError:
        return False
