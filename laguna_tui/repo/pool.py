"""Parsing many files in worker processes; few files here, because starting a worker takes longer than parsing them.

Results come in any order. A file that ends its worker process (a fault in a grammar) costs only itself: it comes back
as None in `Outcome.parsed`, and `refused` is set. When no worker can be started at all, no file is to blame.
"""

import faulthandler
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing import resource_tracker
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import NamedTuple

from laguna_tui.errors import UserError
from laguna_tui.repo.parsing import Parsed, Task, parse_file

# Below so many files, one process is faster than two that have to start first.
ALONE_FILES = 64
# A longer file could be one that takes a grammar minutes; a worker can be ended, this process cannot.
HERE_BYTES = 64 * 1024
# A file takes less than a second; whichever takes so long is given up, and its worker with it.
_STUCK_S = 20.0
_BATCH_FILES = 24
# Enough to keep every worker busy; more would hold the results of a large folder in memory.
_BATCHES_PER_WORKER = 3
# The disk and the one writer do not keep up with more.
_MAX_WORKERS = 8
# Between two looks at whether the user stopped.
_POLL_S = 0.1
_NICE = 5
NO_WORKERS = "no process can be started to read the files with; free some memory, or allow more processes (ulimit -u)"
# In a worker: set once nobody wants its results any more.
_ended: Event | None = None


class Outcome(NamedTuple):
    """What became of one task: `parsed` is None when the file is gone, or when `refused`."""

    task: Task
    parsed: Parsed | None
    refused: bool = False


def worker_count(files: int) -> int:
    """How many processes to parse with; 0 means in this one."""
    if files < ALONE_FILES:
        return 0
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(_MAX_WORKERS, cores))


def parse_all(
    root: Path, tasks: Sequence[Task], should_stop: Callable[[], bool], workers: int | None = None
) -> Iterator[Outcome]:
    """Every task's outcome, until the user stops.

    Args:
        workers: how many processes; None chooses by the number of tasks.

    Raises:
        UserError: no worker can be started.
    """
    count = worker_count(len(tasks)) if workers is None else workers
    if count == 0:
        yield from _here(root, [task for task in tasks if task.size <= HERE_BYTES], should_stop)
        tasks = [task for task in tasks if task.size > HERE_BYTES]
        count = 1
    if not tasks:
        return
    batches = [list(tasks[at : at + _BATCH_FILES]) for at in range(0, len(tasks), _BATCH_FILES)]
    broken: list[list[Task]] = []
    yield from _in_processes(root, batches, count, should_stop, broken)
    unstarted: list[list[Task]] = []
    if broken:
        yield from _in_processes(root, [[]], 1, should_stop, unstarted)
    if unstarted:
        raise UserError(NO_WORKERS)
    # One file at a time in one worker: whichever breaks it now is the one at fault.
    for task in (task for batch in broken for task in batch):
        if should_stop():
            return
        failed: list[list[Task]] = []
        yield from _in_processes(root, [[task]], 1, should_stop, failed)
        if failed:
            yield Outcome(task, None, refused=True)


def _here(root: Path, tasks: Sequence[Task], should_stop: Callable[[], bool]) -> Iterator[Outcome]:
    for task in tasks:
        if should_stop():
            return
        yield Outcome(task, parse_file(root, task))


def _in_processes(
    root: Path,
    batches: Sequence[list[Task]],
    workers: int,
    should_stop: Callable[[], bool],
    broken: list[list[Task]],
) -> Iterator[Outcome]:
    """The batches' outcomes; those that were lost with their worker are added to `broken`."""
    # Forked workers would inherit the engine's threads and locks in whatever state they are.
    _start_tracker()
    context = multiprocessing.get_context("spawn")
    ended = context.Event()
    pool = ProcessPoolExecutor(workers, context, _in_worker, (ended,))
    waiting = iter(batches)
    running: dict[Future[list[Parsed | None]], list[Task]] = {}
    try:
        while not should_stop():
            while len(running) < workers * _BATCHES_PER_WORKER and (batch := next(waiting, None)) is not None:
                if not _submitted(pool, root, batch, running):
                    broken.append(batch)
            if not running:
                return
            for future in wait(running, timeout=_POLL_S, return_when=FIRST_COMPLETED).done:
                batch = running.pop(future)
                try:
                    yield from map(Outcome, batch, future.result())
                except BrokenProcessPool:
                    broken.append(batch)
    finally:
        ended.set()
        pool.shutdown(wait=True, cancel_futures=True)


def _start_tracker() -> None:
    """Start what Python keeps beside its worker processes, also where stderr stands for no file.

    A screen puts its own stderr in place, whose number is -1; the tracker is to inherit it, and cannot be started.
    """
    seen = sys.stderr
    # One without a number at all is no trouble.
    with suppress(AttributeError, OSError, ValueError):
        if seen.fileno() < 0:
            sys.stderr = sys.__stderr__
            try:
                resource_tracker.ensure_running()
            finally:
                sys.stderr = seen


def _submitted(
    pool: ProcessPoolExecutor, root: Path, batch: list[Task], running: dict[Future[list[Parsed | None]], list[Task]]
) -> bool:
    try:
        running[pool.submit(_parse_watched, str(root), batch)] = batch
    except BrokenProcessPool:
        return False
    return True


def _parse_watched(root: str, tasks: list[Task]) -> list[Parsed | None]:
    """A batch in a worker, which ends itself when one file takes too long: a grammar can be stopped in no other way."""
    found = []
    with Path(os.devnull).open("w") as nowhere:
        for task in tasks:
            if _ended is not None and _ended.is_set():
                break
            faulthandler.dump_traceback_later(_STUCK_S, exit=True, file=nowhere)
            found.append(parse_file(Path(root), task))
        faulthandler.cancel_dump_traceback_later()
    return found


def _in_worker(ended: Event) -> None:
    """Ctrl-C is for the parent, which then stops its workers; a parent that is gone needs none."""
    global _ended
    _ended = ended
    # Whoever waits for an answer at this machine comes first.
    os.nice(_NICE)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
