"""Ending well on signals: textual restores the terminal only when it is left the ordinary way."""

import asyncio
import signal
from collections.abc import Callable

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def on_ending_signals(leave: Callable[[int], None]) -> None:
    """Call `leave(128 + n)` on the running loop, once, when signal n asks the app to end.

    One that was ignored when we were started (nohup) is ignored still.
    """
    loop = asyncio.get_running_loop()
    numbers = [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]

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
