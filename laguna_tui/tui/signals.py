"""Ending well on SIGTERM and SIGHUP: textual restores the terminal only when it is left the ordinary way."""

import asyncio
import signal
from collections.abc import Callable

ENDING = ("SIGTERM", "SIGHUP")


def on_ending_signals(leave: Callable[[int], None]) -> None:
    """Call `leave(128 + n)` on the running loop when signal n asks the app to end. Windows has neither."""
    loop = asyncio.get_running_loop()
    for name in ENDING:
        number = getattr(signal, name, None)
        if number is not None:
            try:
                loop.add_signal_handler(number, leave, 128 + number)
            except (NotImplementedError, RuntimeError, ValueError):
                # Not the main thread, or no unix loop: then the signals are not ours to handle.
                return
