"""Process-wide setup: garbage collection, signals that end the app, and threads that do not delay its end."""

import asyncio
import gc
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

# Of the 75,000 objects of an app without a chat, some 300 per turn die in reference cycles: one full collection in
# about 60 turns.
_FULL_AFTER_GROWTH = 1.25


class GcTuner:
    """Keeps Python's garbage collector from blocking the screen; one per process.

    A full collection visits every object of Textual, the engine and the chat: 50 to 150 ms in which the screen and the
    engine's thread stop. Objects alive between two answers are long-lived, so they are frozen. Garbage cycles among
    frozen objects are not found, so everything is unfrozen and collected once the frozen set has grown.
    """

    def __init__(self) -> None:
        self._alive = 0

    def collect_and_freeze(self) -> None:
        """Collect now, while the app is idle, and exclude what is alive from later collections."""
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

    Textual restores the terminal only on a regular exit. A signal that was ignored at the start (nohup) stays ignored.
    """
    loop = asyncio.get_running_loop()
    numbers = [number for number in ENDING_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]

    def end(number: int) -> None:
        # A signal sent to the whole job arrives twice, the second time perhaps while the session is closed.
        for each in numbers:
            loop.remove_signal_handler(each)
            signal.signal(each, signal.SIG_IGN)
        leave(128 + number)

    for number in numbers:
        try:
            loop.add_signal_handler(number, end, number)
        except (NotImplementedError, RuntimeError, ValueError):
            # Not the main thread, or not a Unix loop: the signals are not ours to handle.
            return


class DaemonExecutor(ThreadPoolExecutor):
    """Runs each call on a daemon thread of its own.

    asyncio and Python wait for the threads of a usual executor when the app ends; but a model that is still loading, or
    a slow disk, must not delay quitting.
    """

    def submit(self, call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future = Future[T]()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(call(*args, **kwargs))
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=run, name="laguna-worker", daemon=True).start()
        return future
