"""What the app sets in its process: garbage collection, signals that end it, and a key that Textual lacks."""

import asyncio
import contextlib
import gc
import signal
from collections.abc import Callable

from textual.keys import Keys

# Of 75,000 objects of an app without a chat, some 300 a turn die in circles: a full look every 60 turns or so.
_FULL_AFTER_GROWTH = 1.25


class GcTuner:
    """Keeps Python's garbage collector from stopping the screen; one for the process.

    A full collection looks at every object of Textual, the engine and the chat: 50 to 150 ms in which nothing moves and
    the engine's thread waits too. What is alive between two answers will live long, so it is frozen. Cycles that die
    among the frozen objects are not found, so all of them are looked at again once they have grown.
    """

    def __init__(self) -> None:
        self._alive = 0

    def collect_and_freeze(self) -> None:
        """Collect once, now that nobody waits, and leave what is alive out of later collections."""
        full = gc.get_freeze_count() >= self._alive * _FULL_AFTER_GROWTH
        if full:
            gc.unfreeze()
        gc.collect()
        gc.freeze()
        if full:
            self._alive = gc.get_freeze_count()


ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def on_ending_signals(leave: Callable[[int], None]) -> None:
    """Call `leave(128 + n)` on the running loop, once, when signal n asks the app to end.

    Textual restores the terminal only when it is left the ordinary way.
    One that was ignored when we were started (nohup) is ignored still.
    """
    loop = asyncio.get_running_loop()
    numbers = [number for number in ENDING_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]

    def end(number: int) -> None:
        # What is sent to the whole job arrives twice, the second time perhaps while the session is being closed.
        for each in numbers:
            loop.remove_signal_handler(each)
            signal.signal(each, signal.SIG_IGN)
        leave(128 + number)

    for number in numbers:
        try:
            loop.add_signal_handler(number, end, number)
        except (NotImplementedError, RuntimeError, ValueError):
            # Not the main thread, or no unix loop: then the signals are not ours to handle.
            return


#: What textual makes of Shift+Enter in xterm's modifyOtherKeys mode.
SHIFT_ENTER = "shift+\r"


def register_alt_enter() -> None:
    """Let Alt+Enter be a new line in terminals without the kitty keyboard protocol (tmux, GNOME Terminal, xterm).

    They send it as ESC CR. Textual 8 drops the ESC and reports a plain Enter, which would send a half-written message;
    here the sequence becomes Ctrl+J, the key that always means a new line. Without Textual's table, Ctrl+J still works.
    """
    with contextlib.suppress(ImportError):
        from textual._ansi_sequences import ANSI_SEQUENCES_KEYS

        if isinstance(ANSI_SEQUENCES_KEYS, dict):
            ANSI_SEQUENCES_KEYS["\x1b\r"] = (Keys.ControlJ,)
