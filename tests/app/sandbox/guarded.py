"""Code run on a guarded thread of its own, for tests of what a failed assertion of ggml leaves."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from laguna_engine.native.abort import AbortWatch, install

T = TypeVar("T")


def run_guarded(function: Callable[[], T], watch: AbortWatch | None = None) -> T:
    """Run `function` on a new daemon thread; returns its result or raises its error, or NativeAbort on an abort."""
    install()
    watch = watch or AbortWatch()
    done = threading.Event()
    outcome: Future[T] = Future()

    def body() -> None:
        with watch.guard():
            try:
                outcome.set_result(function())
            except BaseException as error:
                outcome.set_exception(error)
        done.set()

    threading.Thread(target=body, name="laguna-guarded", daemon=True).start()
    watch.wait(done)
    return outcome.result()
