"""The thread of one engine, on which all native calls run as queued jobs.

If llama.cpp aborts, the thread is blocked permanently; waiting and later calls raise NativeAbort.
"""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from laguna_engine.errors import EngineClosed, NativeAbort
from laguna_engine.native import abort

T = TypeVar("T")
Job = Callable[[], None]


class EngineWorker:
    """A daemon thread with a job queue. Its methods may be called from any other thread."""

    def __init__(self) -> None:
        abort.install()
        self._watch = abort.AbortWatch()
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._stopped = False
        self._ended = threading.Event()
        # Reentrant, because the garbage collector may stop the thread of a dropped engine at any point.
        self._lock = threading.RLock()
        # The thread does not reference this object, so that a dropped engine can be collected, which ends the thread.
        arguments = (self._jobs, self._watch, self._ended)
        self._thread = threading.Thread(target=_serve, args=arguments, name="laguna-engine", daemon=True)
        self._thread.start()

    def call(self, function: Callable[[], T]) -> T:
        """Run `function` on the thread and wait; returns its result or raises its error, or NativeAbort."""
        done = threading.Event()
        outcome: Future[T] = Future()

        def job() -> None:
            try:
                outcome.set_result(function())
            except BaseException as error:
                outcome.set_exception(error)
            done.set()

        self._put(job)
        self._watch.wait(done)
        return outcome.result()

    def post(self, job: Job, lost: Callable[[NativeAbort], None]) -> None:
        """Queue `job`, which must not raise; `lost` is called if llama.cpp aborts before it is done."""

        def on_abort() -> None:
            error = self.failure()
            if error is not None:
                lost(error)

        def watched() -> None:
            job()
            self._watch.forget(on_abort)

        self._watch.listen(on_abort)
        try:
            self._put(watched)
        except BaseException:
            self._watch.forget(on_abort)
            raise

    def failure(self) -> NativeAbort | None:
        """Return the NativeAbort that calls raise after an abort, else None."""
        try:
            self._watch.check()
        except NativeAbort as error:
            return error
        return None

    def stop(self, last: Job) -> None:
        """Run `last`, end the thread and wait for both. Idempotent; an aborted thread is left alone."""
        with self._lock:
            if self._stopped:
                return
            self._stopped = True
            self._jobs.put(last)
            self._jobs.put(None)
        # An engine may be collected on its own thread, which cannot wait for itself.
        if self.failure() is None and threading.current_thread() is not self._thread:
            self._watch.wait(self._ended)

    def _put(self, job: Job) -> None:
        with self._lock:
            if self._stopped:
                raise EngineClosed("the engine is closed; open the model again")
            self._watch.check()
            self._jobs.put(job)


def _serve(jobs: queue.SimpleQueue[Job | None], watch: abort.AbortWatch, ended: threading.Event) -> None:
    try:
        while (job := jobs.get()) is not None:
            with watch.guard():
                job()
            # Dropped before the next wait: a finished job may hold the last reference to an engine.
            del job
    finally:
        ended.set()
